// A program with the core in its script. Its model is a part of it, too, so that it loads nothing.

import { Agent } from "emend/inline";
import { scriptedModel } from "./scripted.mjs";
import { renameColour } from "./task.mjs";

globalThis.start = () => renameColour(Agent, { model: scriptedModel() });
