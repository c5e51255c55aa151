/** A session's events for whoever wants them, apart from who drives the run. */

import type { RunHandle } from "./core.js";
import type { EmendError } from "./errors.js";
import type { Core, Driver } from "./instance.js";
import type { AgentEvent } from "./types.js";

/** The events of a session from a cursor on, also while nothing runs. It holds no run up and drives none. */
export class EventFeed implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #core: Core;
  readonly #handle: RunHandle;
  readonly #drivers: Set<Driver>;
  readonly #readers: { resolve(result: IteratorResult<AgentEvent, undefined>): void; reject(error: EmendError): void }[] = [];
  #ended = false;
  #failure: EmendError | undefined;

  /** @internal */
  constructor(core: Core, open: () => RunHandle, drivers: Set<Driver>) {
    this.#core = core;
    this.#drivers = drivers;
    this.#handle = core.call(open);
    drivers.add(this.#driver);
    core.drive(core.call(() => this.#handle.id), this.#driver);
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

  /** Ends the subscription: events are no longer kept for it. */
  return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #advance(): void {
    try {
      while (!this.#ended && this.#readers.length > 0) {
        const text = this.#core.call(() => this.#handle.poll());
        if (text === undefined) return;
        if (text === "") this.#end();
        else this.#readers.shift()!.resolve({ done: false, value: JSON.parse(text) as AgentEvent });
      }
    } catch (error) {
      this.#end(error as EmendError);
    }
    if (this.#ended) this.#dismiss();
  }

  #end(failure?: EmendError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#drivers.delete(this.#driver);
    if (!this.#core.isDead) {
      this.#core.forget(this.#core.call(() => this.#handle.id));
      this.#core.call(() => this.#handle.free());
    }
    this.#dismiss();
  }

  /** Tells whoever waits that nothing more comes; a failure is told once. */
  #dismiss(): void {
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure === undefined) reader.resolve({ done: true, value: undefined });
      else reader.reject(failure);
    }
  }
}
