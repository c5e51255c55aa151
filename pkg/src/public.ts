/** The public names of `emend` and `emend/inline`, which differ in the source of the core. */

export { Agent } from "./agent/agent.js";
export type { Canvas } from "./agent/canvas.js";
export type { AgentChange } from "./agent/changes.js";
export type { EventFeed } from "./agent/event-feed.js";
export type { Files } from "./agent/files.js";
export type * from "./agent/options.js";
export type { Run } from "./agent/run.js";
export type * from "./agent/telemetry-types.js";
export type * from "./agent/types.js";
export * from "./errors.js";
export { fromDirectory, toDirectory } from "./files/directory.js";
export type * from "./files/types.js";
export { fromZip, toZip } from "./files/zip.js";
export type {
  CallOptions,
  ExecOptions,
  ExecResult,
  ExecutionEnvironment,
  FileStat,
  FoundFile,
  HostGlobOptions,
  HostGrepOptions,
  HostWriteOptions,
  ListEntry,
  MaybePromise,
} from "./host/environment-types.js";
export type * from "./host/types.js";
export type * from "./llm/schema-types.js";
export { tool } from "./llm/tool.js";
export type {
  CustomProvider,
  Message,
  ProviderEvent,
  Request as ModelRequest,
  Tool,
  ToolContext,
} from "./llm/types.js";
export { indexedDbStore, memoryStore } from "./sessions/stores.js";
export type * from "./sessions/types.js";
export { type CoreInitOptions, init } from "./wasm/init.js";
export type * from "./wasm/types.js";
