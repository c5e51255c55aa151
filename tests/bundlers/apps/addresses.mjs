// A page for bundlers that do not copy the files of `new URL(…, import.meta.url)`: it names the addresses of the modules.

import { Agent, init } from "emend";
import core from "emend/core.wasm";
import { load } from "emend/edit";
import editModule from "emend/edit.wasm";
import offline from "emend/offline.wasm";
import regex from "emend/regex.wasm";
import { renameColour } from "./task.mjs";

const address = (name) => new URL(name, import.meta.url);

globalThis.start = async () => {
  await init({ wasm: address(core), regex: address(regex) });
  const edit = await load({ wasm: address(editModule) });
  const outcome = await renameColour(Agent, { model: { provider: "offline", wasm: address(offline) } });
  return { ...outcome, diff: edit.diff(outcome.before, outcome.accepted).length };
};
