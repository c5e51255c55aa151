/** The wasm module of `emend/llm`, with the client: its glue, its default source and its loader. */

import { source } from "#wasm/llm.js";
import * as glue from "../llm-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the module of `emend/llm`", option: "await load({ wasm })", file: "emend/llm.wasm" };

export const llmModule = new LazyModule(glue, NAME, source);
