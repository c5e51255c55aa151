/** Asks the page for the answer of a script. The worker gets it as a response, so that it is recorded like any other. */

/** A part of an answer from the page: one event as JSON, or why there is no answer. */
export type ScriptPart =
  | { readonly line: string }
  | { readonly end: true }
  | { readonly failure: { readonly message: string; readonly retryable: boolean } };

/** Asks the page. The response has an event in each line; its status is 500 if the script failed before the first one. */
export function askScript({ body, signal }: RequestInit): Promise<Response> {
  const { port1: port, port2: ofPage } = new MessageChannel();
  const abort = (): void => port.postMessage("abort");
  signal?.addEventListener("abort", abort, { once: true });
  postMessage({ script: String(body), port: ofPage }, { transfer: [ofPage] });
  return new Promise((resolve) => {
    let stream: ReadableStreamDefaultController<Uint8Array> | null = null;
    const begin = (): ReadableStreamDefaultController<Uint8Array> => {
      if (stream) return stream;
      const readable = new ReadableStream<Uint8Array>({
        start: (controller) => {
          stream = controller;
        },
        cancel: abort,
      });
      resolve(new Response(readable, { headers: { "content-type": "application/x-ndjson" } }));
      return stream!;
    };
    port.onmessage = ({ data }: MessageEvent<ScriptPart>) => {
      if ("line" in data) begin().enqueue(new TextEncoder().encode(`${data.line}\n`));
      else {
        signal?.removeEventListener("abort", abort);
        port.close();
        if ("end" in data) begin().close();
        else if (stream) stream.error(new Error(data.failure.message));
        else resolve(new Response(JSON.stringify(data.failure), { status: 500 }));
      }
    };
  });
}
