/** The stand-in model behind a `fetch` of its own: what the core asks it never leaves the program. */

import type { OfflineModel } from "./types.js";

/** What the module answers. */
interface Answer {
  status: number;
  type: string;
  chunks: string[];
}

/** Returns what takes the place of `fetch` for the core. It runs nothing of the core's. */
export function offlineFetch({ paceMs, wasm }: OfflineModel): (url: string, options: RequestInit) => Promise<Response> {
  return async (url, { method, body, signal }) => {
    const { glue, offlineModule } = await import("./offline-module.js");
    await offlineModule.load(wasm === undefined ? {} : { wasm });
    const text = offlineModule.live().call(() => glue.answerOffline(method ?? "GET", url, body as Uint8Array));
    const { status, type, chunks } = JSON.parse(text) as Answer;
    const encoder = new TextEncoder();
    const pieces = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) return controller.close();
        if (paceMs) await pause(paceMs, signal);
        // Nobody listens to an answer that was aborted.
        if (!signal?.aborted) controller.enqueue(encoder.encode(chunk));
      },
    });
    return new Response(pieces, { status, headers: { "content-type": type } });
  };
}

/** Waits, but not longer than anyone listens: a timer keeps a Node process alive. */
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
