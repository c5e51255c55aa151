// A page that imports `emend` and then `emend/inline`, as an app does whose components import either.

import { Agent } from "emend";
import { Agent as InlineAgent } from "emend/inline";
import { scriptedModel } from "./scripted.mjs";
import { renameColour } from "./task.mjs";

globalThis.start = async () => ({
  ...(await renameColour(Agent, { model: scriptedModel() })),
  same: Agent === InlineAgent,
});
