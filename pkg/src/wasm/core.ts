/** The wasm module of the agent: its glue, its address and its loader. */

import * as glue from "../core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the core", option: "await init({ wasm })", file: "emend/core.wasm" };

// Bundlers recognise exactly this expression and copy the file.
export const coreModule = new LazyModule(glue, NAME, () => new URL("../core_bg.wasm", import.meta.url));
