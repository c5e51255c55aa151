/** Requests and replies in the form of `fetch`. */

import type { EventFeed } from "../agent/event-feed.js";
import type { Reading, Reply } from "./service-bridge.js";
import { sseText } from "./sse.js";

/** Address against which relative addresses are resolved. Nothing is sent there. */
const BASE = "http://emend.invalid";

/** Time between two heartbeats of a stream, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/** A request as the core takes it. */
export interface ServiceRequest {
  method: string;
  path: string;
  query: string;
  /** `undefined` without a body. */
  body?: unknown;
  /** Number of the last event of a client that reconnects. */
  lastEventId?: string | undefined;
}

/**
 * Reads a request.
 *
 * @throws {Response} the reply to a malformed request.
 */
export async function readRequest(
  input: Request | URL | string,
  init: RequestInit | undefined,
): Promise<{ request: ServiceRequest; signal: AbortSignal }> {
  const isText = typeof input === "string" || input instanceof URL;
  const given = new Request(isText ? new URL(String(input), BASE) : input, init);
  const { pathname, search } = new URL(given.url);
  const text = await given.text();
  const request = {
    method: given.method,
    path: decodedPath(pathname),
    query: search.slice(1),
    body: text === "" ? undefined : parsedBody(text, given.headers.get("content-type")),
    lastEventId: given.headers.get("last-event-id") ?? undefined,
  };
  return { request, signal: given.signal };
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw failedReply(404, "not_found", "the path is not valid");
  }
}

function parsedBody(text: string, type: string | null): unknown {
  if (type?.split(";")[0]?.trim().toLowerCase() !== "application/json") {
    const message = "the body is JSON; send the header Content-Type: application/json";
    throw failedReply(415, "invalid_argument", message);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw failedReply(400, "invalid_argument", `the body is not JSON: ${(cause as Error).message}`);
  }
}

function failedReply(status: number, code: string, message: string): Response {
  return jsonReply({ status, body: JSON.stringify({ ok: false, error: { code, message, suggestions: [] } }) });
}

/** Returns a reply with a JSON text. */
export function jsonReply({ status, body, allow }: Reply): Response {
  if (status === 204) return new Response(null, { status });
  const headers = { "cache-control": "no-store", "content-type": "application/json", ...(allow && { allow }) };
  return new Response(body, { status, headers });
}

/** Returns a reply that streams events: first `attached`, then those of the feed. */
export function streamReply(attached: unknown, feed: EventFeed<Reading>, signal: AbortSignal): Response {
  const encoder = new TextEncoder();
  let [last, timer]: [number, ReturnType<typeof setInterval> | undefined] = [0, undefined];
  let abort = (): void => {};
  const end = (): void => {
    clearInterval(timer);
    signal.removeEventListener("abort", abort);
    void feed.return();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string): void => controller.enqueue(encoder.encode(text));
      abort = () => {
        end();
        controller.error(signal.reason);
      };
      signal.addEventListener("abort", abort);
      send(`retry: 1000\n${sseText(null, JSON.stringify(attached))}`);
      timer = setInterval(() => {
        // A client that does not read gets none.
        if ((controller.desiredSize ?? 0) <= 0) return;
        send(sseText(null, JSON.stringify({ type: "heartbeat", ts: new Date().toISOString(), last })));
      }, HEARTBEAT_MS);
      // An open stream does not keep a Node process alive.
      (timer as { unref?: () => void }).unref?.();
    },
    async pull(controller) {
      try {
        const { done, value } = await feed.next();
        if (signal.aborted) return;
        if (done) {
          end();
          controller.close();
          return;
        }
        last = value.id ?? last;
        controller.enqueue(encoder.encode(sseText(value.id, value.data)));
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: end,
  });
  const headers = { "cache-control": "no-store, no-transform", "content-type": "text/event-stream" };
  return new Response(body, { status: 200, headers });
}
