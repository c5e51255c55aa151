/** Loads the core, which has the agent. */

import * as glue from "./core.js";
import { coreUrl } from "./core-url.js";
import { Loader } from "./loader.js";

export { glue };

export const core = new Loader(glue, coreUrl);
