/**
 * Records the responses of model providers, and repeats them instead of sending requests.
 *
 * Only successful responses are recorded: failed attempts leave nothing in the conversation. Requests, which carry the
 * key, are not recorded.
 */

import { SCRIPT_URL } from "./answering.js";

/** A response as it is repeated. `whole` is false if the run was stopped before its end. */
export interface RecordedResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly whole: boolean;
  /** The failure of the first model, if the second one gave this response. */
  readonly why?: string;
}

/** A part of a response as it is kept, so that a page that closes in the middle keeps what has come. */
export interface ResponsePart {
  /** Number of the response in the worker. */
  readonly of: number;
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Whether the response has ended, and if it has, completely. */
  readonly end: "open" | "whole" | "cut";
  /** As in a repeated response. */
  readonly why?: string;
}

/** Answers a request to a script of the page. */
type Ask = (init: RequestInit) => Promise<Response>;

/** Number of responses so far. */
let responses = 0;

export class Recorder {
  #repeated: RecordedResponse[] | null = null;
  #exhausted: () => void = () => undefined;
  #record: (part: ResponsePart) => void;
  #asked = 0;

  constructor(
    record: (part: ResponsePart) => void,
    private readonly ask?: Ask,
  ) {
    this.#record = record;
  }

  /** Gives the record to another owner. */
  recordTo(record: (part: ResponsePart) => void): void {
    this.#record = record;
  }

  /** Answers the requests of the next run with `responses`. `exhausted` is called for a request beyond them. */
  repeat(responses: readonly RecordedResponse[], exhausted: () => void): void {
    this.#repeated = [...responses];
    this.#exhausted = exhausted;
  }

  /** Sends requests again. */
  live(): void {
    this.#repeated = null;
  }

  /** Number of requests so far that were answered or wait for their answer. Failed ones are not repeated. */
  get asked(): number {
    return this.#asked;
  }

  /** Why the second model gave the response that is repeated next; "" otherwise. */
  get next(): string {
    return this.#repeated?.[0]?.why ?? "";
  }

  readonly fetch = async (url: string, init: RequestInit, why = ""): Promise<Response> => {
    this.#asked += 1;
    if (this.#repeated) return this.#answer(this.#repeated.shift());
    const sent = this.ask && url === SCRIPT_URL ? this.ask(init) : fetch(url, init);
    const response = await sent.catch((error: unknown) => {
      this.#asked -= 1;
      throw error;
    });
    if (!response.ok) this.#asked -= 1;
    if (!response.ok || !response.body) return response;
    const [read, kept] = response.body.tee();
    void this.#keep(response, kept, why);
    return new Response(read, response);
  };

  async #keep(response: Response, body: ReadableStream<Uint8Array>, why: string): Promise<void> {
    const decoder = new TextDecoder();
    const type = response.headers.get("content-type") ?? "";
    const head = { of: ++responses, status: response.status, type, ...(why !== "" && { why }) };
    const add = (text: string, end: ResponsePart["end"]): void => this.#record({ ...head, body: text, end });
    // Also without text, because the order of the responses is that of their beginnings.
    add("", "open");
    try {
      for (const reader = body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        add(decoder.decode(value, { stream: true }), "open");
      }
      add("", "whole");
    } catch {
      add("", "cut");
    }
  }

  #answer(response: RecordedResponse | undefined): Response {
    if (!response) {
      this.#exhausted();
      // Not an error that is worth a second attempt.
      const error = { type: "error", error: { type: "invalid_request_error", message: "this response was not kept" } };
      return new Response(JSON.stringify(error), { status: 400, headers: { "content-type": "application/json" } });
    }
    const { status, type, body, whole } = response;
    if (whole) return new Response(body, { status, headers: { "content-type": type } });
    // The run was stopped after this text.
    const cut = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode(body)),
      pull: () => this.#exhausted(),
    });
    return new Response(cut, { status, headers: { "content-type": type } });
  }
}
