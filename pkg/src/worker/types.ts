/** Public types of an agent in a worker. */

import type { Agent } from "../agent/agent.js";
import type { Canvas } from "../agent/canvas.js";
import type { Files } from "../agent/files.js";
import type { AgentOptions, ForkOptions } from "../agent/options.js";
import type { FilesIn } from "../files/types.js";
import type { WasmSource } from "../wasm/types.js";
import type { WorkerLike } from "./start.js";

/** The methods of an object, with promises of their results. */
export type Async<T> = {
  [Name in keyof T as T[Name] extends (...args: never[]) => unknown ? Name : never]: T[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** The files of an agent in a worker. */
export type WorkerFiles = Async<Files>;

/** The canvas of an agent in a worker. */
export type WorkerCanvas = Async<Canvas>;

/** The methods of an agent that have the same arguments in a worker, and return promises there. */
export type WorkerMethods = Async<
  Omit<Agent, "run" | "events" | "subscribe" | "close" | "files" | "canvas" | "sessionId" | typeof Symbol.dispose>
>;

/** Options of an agent in a worker besides those of `AgentOptions`. */
export interface WorkerOptions {
  /**
   * The worker: a running one, or a function that starts it. It imports `emend/worker-host`. Default: the package starts one.
   * The agent owns it: `close` ends it, and in Node it keeps the process alive only during calls.
   */
  worker?: WorkerLike | (() => WorkerLike) | undefined;
  /**
   * The time in which the script of the worker must answer, in milliseconds. Default 30,000; `Infinity` for no limit. The core
   * and the session are loaded after the answer, without this limit.
   */
  startTimeoutMs?: number | undefined;
  /** The source of the core in the worker. Default: the file of the package. */
  wasm?: Exclude<WasmSource, Response> | undefined;
  /** The source of the regex engine in the worker. Default: the file of the package. */
  regex?: Exclude<WasmSource, Response> | undefined;
}

/** Options of {@link WorkerAgent.create}. Functions run in the page: the worker calls them by messages. */
export interface WorkerAgentOptions extends Omit<AgentOptions, "files" | "telemetry">, WorkerOptions {
  files?: FilesIn | undefined;
}

/** Options of {@link WorkerAgent.fork}. */
export interface WorkerForkOptions extends Omit<ForkOptions, "files" | "telemetry">, WorkerOptions {
  files?: FilesIn | undefined;
}
