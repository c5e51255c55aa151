// A page whose agent is in a worker.

import { WorkerAgent } from "emend/worker";
import { renameColour } from "./task.mjs";

globalThis.start = () => renameColour(WorkerAgent);
