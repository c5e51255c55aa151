/** The wasm module of `emend/llm`, with the client: its glue, its address and its loader. */

import * as glue from "../llm-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the module of `emend/llm`", option: "await load({ wasm })", file: "emend/llm.wasm" };

// Bundlers recognise exactly this expression and copy the file.
export const llmModule = new LazyModule(glue, NAME, () => new URL("../llm-core_bg.wasm", import.meta.url));
