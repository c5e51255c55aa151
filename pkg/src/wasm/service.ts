/** The wasm module of `emend/service`, the agent with the review service: its glue, its address and its loader. */

import * as glue from "../service-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = {
  name: "the module of `emend/service`",
  option: "await createService({ wasm })",
  file: "emend/service.wasm",
};

// Bundlers recognise exactly this expression and copy the file.
export const serviceModule = new LazyModule(glue, NAME, () => new URL("../service-core_bg.wasm", import.meta.url));
