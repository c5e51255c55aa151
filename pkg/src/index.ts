/** The package's public names. Importing it does nothing: the core is loaded by {@link Agent.create} or {@link init}. */

export { Agent, type Canvas, type Files } from "./agent.js";
export { fromDirectory, toDirectory } from "./directory.js";
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
export type { EventFeed } from "./event-feed.js";
export type { CustomProvider, Message, ProviderEvent, Request as ModelRequest, Tool, ToolContext } from "./llm-types.js";
export { init } from "./load.js";
export type { Run } from "./run.js";
export { indexedDbStore, memoryStore, type SessionStore } from "./stores.js";
export type * from "./types.js";
export { fromZip, toZip } from "./zip.js";
