/**
 * The wasm module of the offline model: its glue, its address and its loader.
 *
 * Import it dynamically, on the first request: programs with another model then load nothing of it.
 */

import * as glue from "../offline-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the offline model", option: 'model: { provider: "offline", wasm }', file: "emend/offline.wasm" };

// Bundlers recognise exactly this expression and copy the file.
export const offlineModule = new LazyModule(glue, NAME, () => new URL("../offline-core_bg.wasm", import.meta.url));
