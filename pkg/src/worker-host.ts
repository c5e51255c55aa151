/**
 * `emend/worker-host`: the script of a worker for `emend/worker`. Importing it in a worker is all that is needed.
 *
 * `emend/worker` starts it itself; a build tool that does not find it takes a worker of one line: `import "emend/worker-host"`.
 */

import { Agent, init } from "./index.js";
import { host } from "./worker/host.js";

interface Scope {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
}

const { WorkerGlobalScope } = globalThis as { WorkerGlobalScope?: abstract new () => unknown };
const port = globalThis.process?.getBuiltinModule?.("node:worker_threads")?.parentPort;
if (WorkerGlobalScope !== undefined && globalThis instanceof WorkerGlobalScope) {
  const scope = globalThis as unknown as Scope;
  const receive = host(Agent, init, (message) => scope.postMessage(message));
  scope.addEventListener("message", ({ data }) => receive(data));
} else if (port) {
  port.on(
    "message",
    host(Agent, init, (message) => port.postMessage(message)),
  );
}
