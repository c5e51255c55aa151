/** The wasm module of `emend/llm`, with the client: its glue, its address and its loader. */

import * as glue from "../llm-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

// Bundlers recognise exactly this expression and copy the file.
export const llmModule = new LazyModule(glue, () => new URL("../llm-core_bg.wasm", import.meta.url));
