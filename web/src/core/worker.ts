/**
 * The worker of the page: receives operations, answers them in order of their ends, and sends the events of runs.
 *
 * The engine is in this worker, or on a server that the page has joined.
 */
import { isEmendError } from "emend";
import { Core } from "./core.js";
import type { CoreApi, CoreMethod, EventBatch, Failure, FromWorker, ToWorker } from "./protocol.js";
import type { RemoteCore } from "./remote-core.js";

/** The confirmations of the page that are awaited, by the number of the batch. */
const awaited = new Map<number, () => void>();

const sendBatch = (batch: EventBatch): Promise<void> =>
  new Promise((seen) => {
    awaited.set(batch.number, seen);
    send({ batch });
  });

const core = new Core(sendBatch);
let remote: RemoteCore | null = null;

function send(message: FromWorker): void {
  postMessage(message);
}

async function join(url: string, token: string, id: string | null, canvas: boolean): Promise<void> {
  const { RemoteCore: Remote } = await import("./remote-core.js");
  const joined = await Remote.join(url, token, id, canvas, sendBatch);
  remote?.leave();
  remote = joined;
}

async function enter(id: string): Promise<void> {
  const entered = await remote?.entered(id);
  if (!entered) throw new Error("no server is joined");
  remote?.leave();
  remote = entered;
}

async function carryOut(method: CoreMethod, args: readonly unknown[]): Promise<unknown> {
  if (method === "join") return join(...(args as Parameters<CoreApi["join"]>));
  if (method === "enter") return enter(String(args[0]));
  if (method === "open" || method === "restore") {
    remote?.leave();
    remote = null;
  }
  const target = remote !== null && method in remote ? remote : core;
  const operation = (target as unknown as Record<string, (...given: unknown[]) => unknown>)[method];
  return operation?.apply(target, [...args]);
}

addEventListener("message", async ({ data }: MessageEvent<ToWorker>) => {
  if ("seen" in data) {
    awaited.get(data.seen)?.();
    awaited.delete(data.seen);
    return;
  }
  const { id, method, args } = data;
  try {
    send({ id, value: await carryOut(method, args) });
  } catch (error) {
    const isOfServer = method === "join" || method === "enter" || (remote !== null && method in remote);
    const failure = failureOf(error);
    // The network of a model's provider has the same code.
    const isLost = failure.code === "network" && isOfServer;
    send({ id, failure: isLost ? { ...failure, code: "server_unreachable" } : failure });
  }
});

function failureOf(error: unknown): Failure {
  if (isEmendError(error)) {
    return { code: error.code, message: error.message, suggestions: error.suggestions, data: error.data };
  }
  return { code: "unexpected", message: error instanceof Error ? error.message : String(error), suggestions: [] };
}
