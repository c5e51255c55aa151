/** A stream of events from the wasm module, and its result. */

import { CallerSignal } from "../caller-signal.js";
import { AbortError, BusyError, type EmendError } from "../errors.js";
import { asError, type Driver, type Failure, type WasmInstance } from "../wasm/instance.js";

/** The source of a stream in the wasm module. */
export interface StreamSource {
  readonly id: number;
  poll(): string | undefined;
  cancel(): void;
  free(): void;
}

/** Converts the module's items into the events and the result of one kind of stream. */
export interface Reading<E, R> {
  /** Returns the event for an item, or `undefined` if the item is not an event. */
  take(item: { type: string }): E | undefined;
  /** Returns the result. Called after the last item. */
  result(): R;
  /** Called when the stream has ended for any reason. */
  end?(): void;
}

/**
 * A stream of events. Iterate over it, or only await {@link result}. The request is not sent before either.
 *
 * The stream advances only as far as it is read. Leaving the loop early cancels it. A failure is reported after all
 * events before it.
 */
export class AnswerStream<E, R> implements AsyncIterable<E> {
  readonly #wasm: WasmInstance;
  readonly #start: () => StreamSource;
  readonly #reading: Reading<E, R>;
  readonly #drivers: Set<Driver>;
  readonly #signal: CallerSignal;
  readonly #result: Promise<R>;
  #settle!: { resolve: (result: R) => void; reject: (error: unknown) => void };
  #source: StreamSource | undefined;
  #failure: EmendError | undefined;
  #wake: (() => void) | undefined;
  #iterated = false;

  /** @internal */
  constructor(
    wasm: WasmInstance,
    start: () => StreamSource,
    reading: Reading<E, R>,
    drivers: Set<Driver>,
    signal: unknown,
  ) {
    this.#wasm = wasm;
    this.#start = start;
    this.#reading = reading;
    this.#drivers = drivers;
    this.#signal = new CallerSignal(signal);
    this.#result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A failure is reported to the reader. A result that is not awaited is not an unhandled rejection.
    this.#result.catch(() => {});
  }

  /**
   * The result. If no loop iterates yet, reading this property makes the stream advance by itself, and its events can
   * no longer be read.
   */
  get result(): Promise<R> {
    if (!this.#iterated) void this.#drain();
    return this.#result;
  }

  /** Cancels the stream, which ends with an {@link AbortError}. */
  cancel(): void {
    const source = this.#source;
    if (source !== undefined && !this.#wasm.isDead) this.#wasm.call(() => source.cancel());
    this.#wake?.();
  }

  /**
   * Iterates over the events.
   *
   * @throws {EmendError} after the last event, if the call failed or was cancelled.
   * @throws {BusyError} if the events are already being read.
   */
  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    if (this.#iterated) throw new BusyError("busy", "the events of a response can be read only once");
    this.#iterated = true;
    const events = this.#events();
    return {
      next: () => events.next(),
      return: async () => {
        this.cancel();
        await events.return(undefined).catch(() => {});
        this.#settle.reject(new AbortError("aborted", "the request was cancelled"));
        return { done: true, value: undefined };
      },
    };
  }

  async #drain(): Promise<void> {
    try {
      for await (const _ of this);
    } catch {
      // The result rejects with the same error.
    }
  }

  async *#events(): AsyncGenerator<E, undefined> {
    try {
      this.#signal.listen(() => this.cancel());
      for await (const item of this.#items()) {
        const event = this.#reading.take(item);
        if (event !== undefined) yield event;
      }
      this.#settle.resolve(this.#reading.result());
      return undefined;
    } catch (error) {
      const shown = this.#asAbort(error);
      this.#settle.reject(shown);
      throw shown;
    } finally {
      this.#signal.stop();
      this.#reading.end?.();
    }
  }

  async *#items(): AsyncGenerator<{ type: string }> {
    if (this.#signal.aborted) throw new AbortError("aborted", "the request was cancelled");
    const source = this.#wasm.call(this.#start);
    this.#source = source;
    const driver: Driver = {
      step: () => this.#wake?.(),
      fail: (error) => {
        this.#failure = error;
        this.#wake?.();
      },
    };
    this.#drivers.add(driver);
    const id = this.#wasm.call(() => source.id);
    this.#wasm.drive(id, driver);
    try {
      while (true) {
        if (this.#failure !== undefined) throw this.#failure;
        const text = this.#wasm.call(() => source.poll());
        if (text === "") return;
        if (text === undefined) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        const item = JSON.parse(text) as { type: string } | { error: Failure };
        if ("error" in item && !("type" in item)) throw asError(item.error);
        yield item as { type: string };
      }
    } finally {
      this.#drivers.delete(driver);
      this.#wasm.release(source, id);
      this.#source = undefined;
    }
  }

  /** Adds the signal's reason as the cause of an abort. */
  #asAbort(error: unknown): unknown {
    if (!this.#signal.aborted || (error as EmendError).code !== "aborted") return error;
    return new AbortError("aborted", (error as EmendError).message, { cause: this.#signal.reason });
  }
}
