/**
 * Calls the caller's `fetch` for a wasm module.
 *
 * No code of the caller may run inside wasm: an exception there is a panic, and a call of the module enters it twice. So
 * the function, the listeners of its signal and the accessors of its response run when the module has returned, and the
 * module gets plain copies.
 */

import { bytesOf } from "./bytes.js";
import { fieldOf, textOf } from "./exceptions.js";

type Fetch = (url: string, options: RequestInit) => unknown;

/** The part of a response that the module reads. */
interface Reply {
  type: unknown;
  status: number;
  headers: Headers;
  body: { getReader(): Pick<ReadableStreamDefaultReader<Uint8Array>, "read"> } | null;
}

/** Returns the function that a module calls instead of `send`. It rejects with the reason as text. */
export function callerFetch(send: Fetch): (url: string, options: RequestInit) => Promise<Reply> {
  return async (url, options) => {
    const abort = new AbortController();
    let reader: ReadableStreamDefaultReader | undefined;
    const stop = (): void => {
      abort.abort(options.signal?.reason);
      Promise.resolve(reader?.cancel(abort.signal.reason)).catch(() => {});
    };
    options.signal?.addEventListener("abort", () => queueMicrotask(() => attempt(stop)));
    // Runs after the module has returned.
    await undefined;
    try {
      const response: unknown = await send(url, { ...options, signal: abort.signal });
      const { body, ...head } = headOf(response);
      reader = body === null ? undefined : readerOf(body);
      return { ...head, body: reader === undefined ? null : bodyOf(reader) };
    } catch (thrown) {
      throw reasonOf(thrown);
    }
  };
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The caller's stream fails to be cancelled. Nobody reads it any more.
  }
}

/** Checks a response and copies its head. */
function headOf(response: unknown): Omit<Reply, "body"> & { body: object | null } {
  const { type, status, headers, body = null } = Object(response) as Partial<Response>;
  if (!Number.isInteger(status) || (status as number) < 0 || (status as number) > 999) {
    throw new TypeError("`fetch` must return a Response; its result has no `status`");
  }
  if (body !== null && typeof (body as Partial<ReadableStream>).getReader !== "function") {
    throw new TypeError("the `body` of the response that `fetch` returned must be null or a ReadableStream");
  }
  return { type, status: status as number, headers: new Headers(headers ?? {}), body };
}

function readerOf(body: object): ReadableStreamDefaultReader {
  const reader = (body as ReadableStream).getReader();
  if (typeof (Object(reader) as { read?: unknown }).read !== "function") {
    throw new TypeError("the `getReader` of the response's body returned no reader");
  }
  return reader;
}

/** Returns a body for the module, which reads it one chunk after the other. */
function bodyOf(reader: ReadableStreamDefaultReader): Reply["body"] {
  const read = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    // A stream may run the caller's code to get the next chunk.
    await undefined;
    try {
      const { done, value } = Object(await reader.read()) as ReadableStreamReadResult<unknown>;
      if (done) return { done: true, value: undefined };
      const bytes = bytesOf(value);
      if (bytes === undefined) throw new TypeError("the response's body gave a chunk that is not a Uint8Array");
      return { done: false, value: bytes };
    } catch (thrown) {
      throw reasonOf(thrown);
    }
  };
  return { getReader: () => ({ read }) };
}

/** Maximum number of causes that are followed. */
const CAUSES_MAX = 4;

/** Returns the messages of an exception and its causes. Node reports the actual reason in a cause. */
function reasonOf(thrown: unknown): string {
  const reasons = new Set<string>();
  let current = thrown;
  for (let n = 0; n < CAUSES_MAX && current !== undefined && current !== null; n++) {
    const text = typeof current === "string" ? current : (textOf(current, "message") ?? textOf(current, "code"));
    if (text) reasons.add(text);
    current = fieldOf(current, "cause");
  }
  return [...reasons].join(": ") || "the host gave no reason";
}
