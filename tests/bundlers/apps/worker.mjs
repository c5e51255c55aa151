// The worker of `worker-page.mjs`.

import { Agent } from "emend";
import { renameColour } from "./task.mjs";

postMessage(await renameColour(Agent));
