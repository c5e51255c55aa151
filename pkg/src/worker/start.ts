/** Starts the worker of an agent, in browsers and in Node, and hides their differences. */

import { ConfigError, EmendError, PanicError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { invalid } from "../validate.js";
import { isBegun } from "./protocol.js";

/** A worker of a browser, or of `node:worker_threads`. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  terminate(): unknown;
}

interface Listeners {
  message(message: unknown): void;
  /** The worker has stopped, or has never begun. */
  failed(error: EmendError): void;
}

interface WebWorker extends WorkerLike {
  addEventListener(type: string, listener: (event: { data?: unknown; message?: string }) => void): void;
}
interface NodeWorker extends WorkerLike {
  on(type: string, listener: (value: unknown) => void): void;
  readonly threadId: number;
  ref(): void;
  unref(): void;
}

const START_TIMEOUT_MS = 30_000;

/** The largest time of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Starts the package's own worker. */
export function startWorker(): WorkerLike {
  try {
    if (typeof Worker !== "undefined")
      return new Worker(new URL("../worker-host.js", import.meta.url), { type: "module" });
    const threads = globalThis.process?.getBuiltinModule?.("node:worker_threads");
    if (threads !== undefined)
      return new threads.Worker(new URL("../worker-host.js", import.meta.url), inheritable(process.execArgv));
  } catch (cause) {
    throw notStarted(messageOf(cause), { cause });
  }
  throw new EmendError("unsupported", "there are no workers here");
}

/** A worker has the flags of its process. One of them, for a script of the command line, makes a worker fail. */
function inheritable(flags: readonly string[]): { execArgv?: string[] } {
  return flags.some((flag) => flag.startsWith("--input-type")) ? { execArgv: [] } : {};
}

/** Returns the time in which the script of a worker must answer, in milliseconds. */
export function startTimeout(given: unknown = START_TIMEOUT_MS): number {
  if (typeof given === "number" && given > 0) return given;
  throw new ConfigError("configuration", "`startTimeoutMs` must be a number above 0");
}

/** Listens to a worker. Returns the function to call when its agent is there, or cannot be there. */
export function listen(worker: WorkerLike, timeoutMs: number, { message, failed }: Listeners): () => void {
  let isOpen = false;
  const stopped = (why: string): void => {
    clearTimeout(timer);
    if (isOpen) failed(new PanicError("internal", `the worker of the agent has stopped: ${why}`));
    else failed(notStarted(why));
  };
  const received = (data: unknown): void => {
    if (isBegun(data)) clearTimeout(timer);
    else message(data);
  };
  const unreadable = (): void => stopped("one of its messages cannot be read");
  if (!hasListeners(worker)) throw invalid("`worker` must be a worker or a function that returns one");
  if ("addEventListener" in worker) {
    const web = worker as WebWorker;
    web.addEventListener("message", ({ data }) => received(data));
    web.addEventListener("messageerror", unreadable);
    // A later exception does not stop a worker of a browser.
    web.addEventListener("error", (event) => !isOpen && stopped(event.message ?? "its script fails"));
  } else {
    const node = worker as NodeWorker;
    node.on("message", received);
    node.on("messageerror", unreadable);
    node.on("error", (error) => stopped(messageOf(error)));
    node.on("exit", (code) => stopped(`it has ended with code ${code}`));
  }
  const timer =
    timeoutMs > TIMER_MAX_MS
      ? undefined
      : setTimeout(() => {
          stopped(`its script has not answered within ${timeoutMs} ms; it must import \`emend/worker-host\``);
        }, timeoutMs);
  // A worker that has ended has no more events.
  if ((worker as Partial<NodeWorker>).threadId === -1) queueMicrotask(() => stopped("it has ended already"));
  return () => {
    isOpen = true;
    clearTimeout(timer);
  };
}

/** Keeps a process of Node alive while it waits for a worker, and only then. */
export class Waiting {
  #worker: Partial<NodeWorker>;
  #count = 0;

  constructor(worker: WorkerLike) {
    this.#worker = worker as Partial<NodeWorker>;
  }

  /** Returns the result of `work`, for which the process stays alive. */
  async for<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count === 0) this.#worker.ref?.();
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#worker.unref?.();
    }
  }

  /** Leaves the worker as it is: the process stays alive until the worker has ended. */
  end(): void {
    this.#worker = {};
  }
}

function hasListeners(worker: unknown): boolean {
  const { postMessage, addEventListener, on } = Object(worker) as Record<string, unknown>;
  return typeof postMessage === "function" && [addEventListener, on].some((each) => typeof each === "function");
}

function notStarted(why: string, details?: { cause: unknown }): EmendError {
  return new EmendError("load_failed", `the worker of the agent cannot be started: ${why}`, details);
}
