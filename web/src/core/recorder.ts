/**
 * Records the responses of model providers, and repeats them instead of sending requests.
 *
 * Only successful responses are recorded: failed attempts leave nothing in the conversation. Requests, which carry the
 * key, are not recorded.
 */

/** A response as it is kept. `whole` is false if the run was stopped before its end. */
export interface RecordedResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly whole: boolean;
}

export class Recorder {
  #repeated: RecordedResponse[] | null = null;
  #exhausted: () => void = () => undefined;
  #record: (response: RecordedResponse) => void;

  constructor(record: (response: RecordedResponse) => void) {
    this.#record = record;
  }

  /** Gives the record to another owner. */
  recordTo(record: (response: RecordedResponse) => void): void {
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

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (this.#repeated) return this.#answer(this.#repeated.shift());
    const response = await fetch(url, init);
    if (!response.ok || !response.body) return response;
    const [read, kept] = response.body.tee();
    void this.#keep(response, kept);
    return new Response(read, response);
  };

  async #keep(response: Response, body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    let whole = true;
    try {
      for (const reader = body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
      }
    } catch {
      whole = false;
    }
    const type = response.headers.get("content-type") ?? "";
    this.#record({ status: response.status, type, body: text, whole });
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
