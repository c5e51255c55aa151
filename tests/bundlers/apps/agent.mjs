// A page that imports `emend`. It loads nothing until a test calls `start`.

import { Agent } from "emend";
import { renameColour } from "./task.mjs";

globalThis.start = () => renameColour(Agent);
