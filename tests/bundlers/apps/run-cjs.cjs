// A program in Node, as CommonJS.

const { Agent } = require("emend");
const { renameColour } = require("./task.mjs");

renameColour(Agent).then((outcome) => console.log(JSON.stringify(outcome)));
