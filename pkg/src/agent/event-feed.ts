/** A subscription to a session's events, independent of the code that reads the run. */

import type { RunHandle } from "../core.js";
import type { EmendError } from "../errors.js";
import type { Driver, WasmInstance } from "../wasm/instance.js";
import type { AgentEvent } from "./types.js";

/**
 * The events of a session after a cursor, also between runs. A subscription neither delays a run nor drives it: a run
 * advances only while its own events or its result are awaited.
 */
export class EventFeed implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #wasm: WasmInstance;
  readonly #handle: RunHandle;
  readonly #drivers: Set<Driver>;
  readonly #readers: {
    resolve(result: IteratorResult<AgentEvent, undefined>): void;
    reject(error: EmendError): void;
  }[] = [];
  #ended = false;
  #failure: EmendError | undefined;

  /** @internal */
  constructor(wasm: WasmInstance, open: () => RunHandle, drivers: Set<Driver>) {
    this.#wasm = wasm;
    this.#drivers = drivers;
    this.#handle = wasm.call(open);
    drivers.add(this.#driver);
    wasm.drive(
      wasm.call(() => this.#handle.id),
      this.#driver,
    );
  }

  readonly #driver: Driver = {
    step: () => this.#advance(),
    fail: (error) => this.#end(error),
  };

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<AgentEvent, undefined>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#advance();
    });
  }

  /** Ends the subscription. The session no longer keeps events for it. */
  return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #advance(): void {
    try {
      while (!this.#ended && this.#readers.length > 0) {
        const text = this.#wasm.call(() => this.#handle.poll());
        if (text === undefined) return;
        if (text === "") this.#end();
        else this.#readers.shift()!.resolve({ done: false, value: JSON.parse(text) as AgentEvent });
      }
    } catch (error) {
      this.#end(error as EmendError);
    }
    if (this.#ended) this.#endReads();
  }

  #end(failure?: EmendError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#drivers.delete(this.#driver);
    if (!this.#wasm.isDead) {
      this.#wasm.forget(this.#wasm.call(() => this.#handle.id));
      this.#wasm.call(() => this.#handle.free());
    }
    this.#endReads();
  }

  /** Ends all waiting reads. A failure is reported to the first of them only. */
  #endReads(): void {
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure === undefined) reader.resolve({ done: true, value: undefined });
      else reader.reject(failure);
    }
  }
}
