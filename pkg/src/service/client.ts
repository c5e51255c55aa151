/** A typed client of the review service, over any `fetch`: a server's, or that of a service in this program. */

import { CallerSignal } from "../caller-signal.js";
import { AbortError, isEmendError } from "../errors.js";
import { invalid, optionsOf, requireId, requireText, shown } from "../validate.js";
import { OPERATIONS, type Operations } from "./bodies.js";
import { errorOf, errorOfReply } from "./codes.js";
import { type SseEvent, sseEvents } from "./sse.js";
import type { AttachedEvent, RequestOptions, ServiceReading } from "./types.js";

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** Sends requests: the global `fetch`, or the `fetch` of a service in this program. Default: the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Address of the server, without `/api`. Default: the page's own, or any for a service in this program. */
  baseUrl?: string | URL | undefined;
  /** The server's token. */
  token?: string | undefined;
}

/** The events that a client wants. */
export interface StreamOptions extends RequestOptions {
  /** Events of one job only; the events end with the job. Default: those of all sessions. */
  job?: string | undefined;
  /** Number of the last event that the client has: a `cursor` with `job`, else a `seq`. Default 0. */
  after?: number | undefined;
}

/** Arguments of {@link ServiceClient.call}: the input may be left out if all its fields may. */
export type CallArguments<N extends keyof Operations> =
  Record<never, never> extends Operations[N]["input"]
    ? [input?: Operations[N]["input"], options?: RequestOptions]
    : [input: Operations[N]["input"], options?: RequestOptions];

/** Number of failed attempts to open a stream after which the client gives up. */
const ATTEMPTS_MAX = 6;

/** Delay before the second attempt, in milliseconds. It doubles with each attempt. */
const RETRY_MS = 250;

/** Time without any message, in milliseconds, after which a stream counts as lost. Servers send heartbeats. */
const SILENCE_MS = 45_000;

/** A client of a review service. */
export class ServiceClient {
  readonly #fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @internal */
  constructor(options: ClientOptions) {
    const { fetch: given, baseUrl = "", token } = optionsOf(options, ["fetch", "baseUrl", "token"]);
    if (given !== undefined && typeof given !== "function") throw invalid("`fetch` must be a function");
    this.#fetch = given ?? ((url, init) => globalThis.fetch(url, init));
    this.#base = String(baseUrl).replace(/\/+$/, "");
    if (given === undefined && !hasAddress(this.#base)) {
      throw invalid(
        "`baseUrl` is not the address of a server, e.g. http://127.0.0.1:8080; or give a service's `fetch`",
      );
    }
    // The error of `fetch` would show the token.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(requireText("`token`", token))) {
      throw invalid("`token` has characters that a header cannot carry, e.g. a line break at its end");
    }
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /**
   * Carries out an operation by its name in the OpenAPI document.
   *
   * @throws {EmendError} of the class that belongs to the code of a failed request, or with code `network`.
   * @throws {AbortError} if the signal fires.
   */
  async call<N extends keyof Operations>(operation: N, ...rest: CallArguments<N>): Promise<Operations[N]["reply"]> {
    const [input = {}, options] = rest;
    if (!Object.hasOwn(OPERATIONS, operation)) throw invalid(`there is no operation ${JSON.stringify(operation)}`);
    const [method = "", template = ""] = OPERATIONS[operation].split(" ");
    const { body, ...parameters } = input as Record<string, unknown>;
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = requireText(`\`${name}\``, parameters[name]);
      delete parameters[name];
      return encodeURIComponent(value);
    });
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
    const search = query.size === 0 ? "" : `?${query}`;
    return this.request(method, path + search, body, options);
  }

  /**
   * Sends a request and returns the body of the reply.
   *
   * @throws {EmendError} as {@link call} does.
   */
  async request<T = unknown>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    const { signal } = optionsOf(options, ["signal"]);
    const headers = { ...this.#headers, ...(body !== undefined && { "content-type": "application/json" }) };
    const init: RequestInit = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await this.#send(path, init, signal);
    const text = await response.text().catch((cause: unknown) => {
      throw failed(cause, signal);
    });
    const parsed = parsedOrText(text);
    if (!response.ok || typeof parsed === "string") throw errorOfReply(response.status, parsed);
    return parsed as T;
  }

  /**
   * Returns the events of a job, or of all sessions, after a number, past and future; first the open questions and
   * approval requests (`attached`). If the connection is lost, the client reconnects after the last event and misses
   * nothing. An item `resync_required` says that events are no longer kept: read the state again.
   *
   * @throws {EmendError} with code `not_found` if there is no such job, `network` if the server cannot be reached.
   * @throws {AbortError} if the signal fires.
   */
  async *events(options: StreamOptions = {}): AsyncGenerator<AttachedEvent | ServiceReading, void> {
    const { job, after = 0, signal } = optionsOf(options, ["job", "after", "signal"]);
    let last = requireId("`after`", after);
    const path = job === undefined ? "/api/agent/stream" : `/api/agent/jobs/${encodeURIComponent(job)}/events/stream`;
    let [attempts, isFirst] = [0, true];
    for (;;) {
      try {
        const response = await this.#open(path, last, isFirst, signal);
        if (response === undefined) return;
        isFirst = false;
        let isEmpty = true;
        for await (const { id, data } of withinTime(sseEvents(response))) {
          const message = messageOf(data);
          [attempts, isEmpty] = [0, false];
          if (id !== undefined) last = Number(id);
          if (message.type === "error") throw errorOfReply(500, message);
          if (message.type !== "heartbeat") yield message as AttachedEvent | ServiceReading;
        }
        if (isEmpty) throw errorOf("network", "the stream ended before its first event", { retryable: true });
      } catch (thrown) {
        if (isEmendError(thrown, "closed")) return;
        const error = failed(thrown, signal);
        attempts += 1;
        if (error.code !== "network" || !error.retryable || attempts >= ATTEMPTS_MAX) throw error;
      }
      await pause(RETRY_MS * 2 ** attempts, signal);
    }
  }

  /** Opens a stream. Returns nothing if the client has its last event. */
  async #open(
    path: string,
    last: number,
    isFirst: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    // The header says that the client reconnects.
    const headers = { ...this.#headers, accept: "text/event-stream", ...(!isFirst && { "last-event-id": `${last}` }) };
    const response = await this.#send(isFirst ? `${path}?after=${last}` : path, { headers }, signal);
    if (response.status === 204) return undefined;
    const type = response.headers.get("content-type") ?? "no type";
    if (response.ok && response.body !== null && type.startsWith("text/event-stream")) return response.body;
    const text = await response.text();
    if (!response.ok) throw errorOfReply(response.status, parsedOrText(text));
    throw errorOf("network", `the server answered with ${type}, and not with a stream of events; check its address`);
  }

  async #send(path: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    if (new CallerSignal(signal).aborted) throw failed(signal?.reason, signal);
    try {
      const response = await this.#fetch(this.#base + path, signal === undefined ? init : { ...init, signal });
      if (isResponse(response)) return response;
      throw invalid(`\`fetch\` must return a Response; it returned ${shown(response)}`);
    } catch (thrown) {
      throw failed(thrown, signal);
    }
  }
}

/** Returns a client. It sends nothing before its first call. */
export function createClient(options: ClientOptions = {}): ServiceClient {
  return new ServiceClient(options);
}

/** Returns whether requests to an address can be sent: it is absolute, or there is a page that it is relative to. */
function hasAddress(base: string): boolean {
  return globalThis.location !== undefined || URL.canParse(base);
}

function isResponse(value: unknown): value is Response {
  const { status, text, headers } = Object(value) as Partial<Response>;
  return typeof status === "number" && typeof text === "function" && typeof headers?.get === "function";
}

/** Parses a message of a stream. */
function messageOf(data: string): AttachedEvent | ServiceReading | { type: "heartbeat" | "error" } {
  const message = parsedOrText(data);
  if (typeof message === "object" && message !== null && "type" in message) return message as ServiceReading;
  throw errorOf("network", `the stream has an event that is not of a service: ${shown(data)}`, { retryable: true });
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Returns the error for an exception of `fetch`. */
function failed(thrown: unknown, signal: AbortSignal | undefined): ReturnType<typeof errorOf> {
  if (signal?.aborted) return new AbortError("aborted", "the request was cancelled", { cause: signal.reason });
  if (isEmendError(thrown)) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return errorOf("network", `the service could not be reached: ${reason}`, { cause: thrown, retryable: true });
}

/** Ends with a network error if nothing arrives for a while: a connection may be lost without a sign. */
async function* withinTime(events: AsyncGenerator<SseEvent, void>): AsyncGenerator<SseEvent, void> {
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const silence = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(errorOf("network", "the stream is silent", { retryable: true })), SILENCE_MS);
        (timer as { unref?: () => void }).unref?.();
      });
      const next = events.next();
      const { done, value } = await Promise.race([next, silence]).finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    // A generator that waits for its next value cannot be awaited.
    void events.return().catch(() => {});
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
