// A program in Node, as an ECMAScript module.

import { Agent } from "emend";
import { renameColour } from "./task.mjs";

console.log(JSON.stringify(await renameColour(Agent)));
