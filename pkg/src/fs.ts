/**
 * `emend/fs`: ready-made environments for `Agent.create({ environment })` that run everywhere. They contain no wasm, and
 * importing them does nothing. `nodeFs` is in `emend/node`.
 */

export { directoryFs, opfsFs } from "./fs/directory.js";
export { memoryFs } from "./fs/memory.js";
export type * from "./fs/types.js";
