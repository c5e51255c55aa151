/**
 * `emend/service`: the review service in this program. It answers the requests of the HTTP API with the same replies.
 *
 * Importing it loads nothing: {@link createService} loads the wasm module.
 */

export type { Files } from "./agent/files.js";
export * from "./errors.js";
/** Bodies and operations of the HTTP API. */
export type * as api from "./service/bodies.js";
export { createService, type Service } from "./service/service.js";
export type * from "./service/types.js";
export type { InitOptions, WasmSource } from "./wasm/types.js";
