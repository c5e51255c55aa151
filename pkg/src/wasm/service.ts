/** The wasm module of `emend/service`, the agent with the review service: its glue, its default source and its loader. */

import { source } from "#wasm/service.js";
import * as glue from "../service-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = {
  name: "the module of `emend/service`",
  option: "await createService({ wasm })",
  file: "emend/service.wasm",
};

export const serviceModule = new LazyModule(glue, NAME, source);
