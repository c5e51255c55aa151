/** The wasm module of the agent: its glue, its default source and its loader. */

import * as glue from "../core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the core", option: "await init({ wasm })", file: "emend/core.wasm" };

export const coreModule = new LazyModule(glue, NAME);
