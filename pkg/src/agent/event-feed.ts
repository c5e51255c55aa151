/** A subscription to a session's events, independent of the code that reads the run. */

import type { RunHandle } from "../core.js";
import { ClosedError, type EmendError } from "../errors.js";
import type { Driver, WasmInstance } from "../wasm/instance.js";
import type { AgentEvent } from "./events.js";

/**
 * The events of a session after a cursor, also between runs. A subscription neither delays a run nor drives it: a run
 * advances only while its own events or its result are awaited. It ends when the agent is closed.
 */
export class EventFeed<T = AgentEvent> implements AsyncIterableIterator<T, undefined> {
  readonly #wasm: WasmInstance;
  readonly #handle: RunHandle;
  readonly #task: number;
  readonly #drivers: Set<Driver>;
  readonly #read: (text: string) => T;
  readonly #readers: {
    resolve(result: IteratorResult<T, undefined>): void;
    reject(error: EmendError): void;
  }[] = [];
  /** The events that were in the log when the agent was closed. */
  readonly #left: T[] = [];
  #ended = false;
  #failure: EmendError | undefined;

  /** @internal */
  constructor(wasm: WasmInstance, open: () => RunHandle, drivers: Set<Driver>, read: (text: string) => T) {
    this.#wasm = wasm;
    this.#drivers = drivers;
    this.#read = read;
    this.#handle = wasm.call(open);
    this.#task = wasm.call(() => this.#handle.id);
    drivers.add(this.#driver);
    wasm.drive(this.#task, this.#driver);
  }

  readonly #driver: Driver = {
    step: () => this.#advance(),
    fail: (error) => {
      // Closing the agent is the regular end of its events: a reader in the background must not fail.
      if (error instanceof ClosedError) this.#takeAll();
      this.#end(error instanceof ClosedError ? undefined : error);
    },
  };

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#advance();
    });
  }

  /** Ends the subscription. The session no longer keeps events for it. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#end();
    this.#left.length = 0;
    return Promise.resolve({ done: true, value: undefined });
  }

  #advance(): void {
    try {
      while (!this.#ended && this.#readers.length > 0) {
        const event = this.#poll();
        if (event === undefined) return;
        if (event === null) this.#end();
        else this.#readers.shift()!.resolve({ done: false, value: event });
      }
    } catch (error) {
      this.#end(error as EmendError);
    }
    if (this.#ended) this.#endReads();
  }

  /** Returns the next event, `null` at the end, or `undefined` while there is none. */
  #poll(): T | null | undefined {
    const text = this.#wasm.call(() => this.#handle.poll());
    return text === undefined ? undefined : text === "" ? null : this.#read(text);
  }

  /** Takes the events that the log still has. */
  #takeAll(): void {
    try {
      for (let event = this.#poll(); event; event = this.#poll()) this.#left.push(event);
    } catch {
      // After a panic there are none.
    }
  }

  #end(failure?: EmendError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#drivers.delete(this.#driver);
    this.#endReads();
    this.#wasm.release(this.#handle, this.#task);
  }

  /** Answers all waiting reads after the end. A failure is reported to the first of them only. */
  #endReads(): void {
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      const event = this.#left.shift();
      if (event !== undefined) {
        reader.resolve({ done: false, value: event });
        continue;
      }
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure === undefined) reader.resolve({ done: true, value: undefined });
      else reader.reject(failure);
    }
  }
}
