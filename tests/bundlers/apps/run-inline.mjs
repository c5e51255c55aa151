// A program in Node with the core in its script. It prints the outcome and the wasm files that it read.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { scriptedModel } from "./scripted.mjs";
import { renameColour } from "./task.mjs";

const read = [];
const { readFile } = fs.promises;
fs.promises.readFile = (path, ...rest) => {
  if (String(path).endsWith(".wasm")) read.push(String(path));
  return readFile(path, ...rest);
};
syncBuiltinESMExports();
const { Agent } = await import("emend/inline");
const outcome = await renameColour(Agent, { model: scriptedModel() });
const before = [...read];
// The offline model is a file as usual, which also proves that reading is seen.
await renameColour(Agent);
console.log(JSON.stringify({ outcome, before, after: read.length }));
