/** The offline model as a `fetch` function: its requests never leave the program. */

import type { OfflineModel } from "./options.js";

/** The HTTP response of the module, in pieces. */
interface OfflineResponse {
  status: number;
  type: string;
  chunks: string[];
}

/** Returns the function that the core calls instead of `fetch`. It does not call the core. */
export function offlineFetch({ paceMs, wasm }: OfflineModel): (url: string, options: RequestInit) => Promise<Response> {
  return async (url, { method, body, signal }) => {
    const { glue, offlineModule } = await import("../wasm/offline.js");
    await offlineModule.load(wasm === undefined ? {} : { wasm });
    const text = offlineModule.live().call(() => glue.answerOffline(method ?? "GET", url, body as Uint8Array));
    const { status, type, chunks } = JSON.parse(text) as OfflineResponse;
    const encoder = new TextEncoder();
    const pieces = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) return controller.close();
        // The abort that ended the last pause fires no second time.
        if (paceMs && !signal?.aborted) await pause(paceMs, signal);
        // After an abort the stream has no reader.
        if (!signal?.aborted) controller.enqueue(encoder.encode(chunk));
      },
    });
    return new Response(pieces, { status, headers: { "content-type": type } });
  };
}

/** Waits `ms`, or until `signal` fires. A timer that outlives the request would keep a Node process alive. */
function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
