/** Starts the worker of an agent, in browsers and in Node, and hides their differences. */

import { EmendError, PanicError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { invalid } from "../validate.js";

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
}

/** Starts the package's own worker. */
export function startWorker(): WorkerLike {
  if (typeof Worker !== "undefined")
    return new Worker(new URL("../worker-host.js", import.meta.url), { type: "module" });
  const threads = globalThis.process?.getBuiltinModule?.("node:worker_threads");
  if (threads === undefined) throw new EmendError("unsupported", "there are no workers here");
  return new threads.Worker(new URL("../worker-host.js", import.meta.url));
}

/** Listens to a worker. */
export function listen(worker: WorkerLike, { message, failed }: Listeners): void {
  let hasBegun = false;
  const received = (data: unknown): void => {
    hasBegun = true;
    message(data);
  };
  const stopped = (why: string): void => {
    if (hasBegun) failed(new PanicError("internal", `the worker of the agent has stopped: ${why}`));
    else failed(new EmendError("load_failed", `the worker of the agent cannot be started: ${why}`));
  };
  if ("addEventListener" in worker) {
    const web = worker as WebWorker;
    web.addEventListener("message", ({ data }) => received(data));
    // A later exception does not stop a worker of a browser.
    web.addEventListener("error", (event) => !hasBegun && stopped(event.message ?? "its script fails"));
    return;
  }
  if (!("on" in worker)) throw invalid("`worker` must be a worker or a function that returns one");
  const node = worker as NodeWorker;
  node.on("message", received);
  node.on("error", (error) => stopped(messageOf(error)));
  node.on("exit", (code) => stopped(`it has ended with code ${code}`));
}
