// A page that imports `emend` and `emend/edit`.

import { Agent } from "emend";
import { load } from "emend/edit";
import { renameColour } from "./task.mjs";

globalThis.start = async () => {
  const edit = await load();
  const outcome = await renameColour(Agent);
  return { ...outcome, diff: edit.diff(outcome.before, outcome.accepted).length };
};
