/** The worker of the page: receives operations, answers them in order of their ends, and sends the events of runs. */
import { isEmendError } from "emend";
import { Core } from "./core.js";
import type { CoreApi, EventBatch, Failure, FromWorker, ToWorker } from "./protocol.js";

/** The confirmations of the page that are awaited, by the number of the batch. */
const awaited = new Map<number, () => void>();

const core: CoreApi = new Core(
  (batch: EventBatch) =>
    new Promise((seen) => {
      awaited.set(batch.number, seen);
      send({ batch });
    }),
);

function send(message: FromWorker): void {
  postMessage(message);
}

addEventListener("message", async ({ data }: MessageEvent<ToWorker>) => {
  if ("seen" in data) {
    awaited.get(data.seen)?.();
    awaited.delete(data.seen);
    return;
  }
  const { id, method, args } = data;
  try {
    const operation = core[method] as (...given: unknown[]) => Promise<unknown>;
    send({ id, value: await operation.apply(core, [...args]) });
  } catch (error) {
    send({ id, failure: failureOf(error) });
  }
});

function failureOf(error: unknown): Failure {
  if (isEmendError(error)) {
    return { code: error.code, message: error.message, suggestions: error.suggestions, data: error.data };
  }
  return { code: "unexpected", message: error instanceof Error ? error.message : String(error), suggestions: [] };
}
