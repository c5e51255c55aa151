/**
 * The wasm module of the offline model: its glue, its default source and its loader.
 *
 * Import it dynamically, on the first request: programs with another model then load nothing of it.
 */

import { source } from "#wasm/offline.js";
import * as glue from "../offline-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the offline model", option: 'model: { provider: "offline", wasm }', file: "emend/offline.wasm" };

export const offlineModule = new LazyModule(glue, NAME, source);
