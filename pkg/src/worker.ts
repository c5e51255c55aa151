/**
 * `emend/worker`: an agent whose core runs in a worker of the browser or of Node, with the API of `Agent`.
 *
 * It contains no wasm. Importing it starts nothing: {@link WorkerAgent.create} starts the worker.
 */

export * from "./errors.js";
export { WorkerAgent } from "./worker/agent.js";
export type { WorkerRun } from "./worker/run.js";
export type { WorkerLike } from "./worker/start.js";
export type * from "./worker/types.js";
