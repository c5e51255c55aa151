/** The wasm module of the agent: its glue, its address and its loader. */

import * as glue from "../core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

// Bundlers recognise exactly this expression and copy the file.
export const coreModule = new LazyModule(glue, () => new URL("../core_bg.wasm", import.meta.url));
