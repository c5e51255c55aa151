/** The package's public names. Importing it does nothing: the core is loaded by {@link Agent.create} or {@link init}. */

export { Agent, type Canvas, type Files } from "./agent.js";
export {
  AbortError,
  BusyError,
  ClosedError,
  ConfigError,
  ConflictError,
  EmendError,
  type ErrorCode,
  type ErrorDetails,
  isEmendError,
  NotInitializedError,
  PanicError,
  ProviderError,
} from "./errors.js";
export type { CustomProvider, ProviderEvent, Request as ModelRequest } from "./llm-types.js";
export { init } from "./load.js";
export type { Run } from "./run.js";
export type * from "./types.js";
