/** Calls one agent in wasm, and ends everything that is pending when the agent is closed. */

import type { AgentHandle } from "../core.js";
import { ClosedError } from "../errors.js";
import type { HostFiles } from "../host/environment.js";
import type { StoreLink } from "../sessions/store-link.js";
import { requireText } from "../validate.js";
import type { Driver, Task, WasmInstance } from "../wasm/instance.js";
import { EventFeed } from "./event-feed.js";
import { Run, type RunControl } from "./run.js";

/** The connection between an {@link Agent} and its counterpart in wasm. */
export class AgentBridge {
  readonly #wasm: WasmInstance;
  readonly #handle: AgentHandle;
  readonly #host: HostFiles | undefined;
  readonly #store: StoreLink | undefined;
  readonly #drivers = new Set<Driver>();
  #closed = false;

  constructor(
    wasm: WasmInstance,
    create: () => AgentHandle,
    host: HostFiles | undefined,
    store: StoreLink | undefined,
  ) {
    this.#wasm = wasm;
    this.#host = host;
    this.#store = store;
    this.#handle = wasm.call(create);
  }

  /**
   * Calls a synchronous method that returns JSON, and parses the JSON. `work` runs inside the guard: it only makes the
   * call.
   */
  callJson<T>(work: (handle: AgentHandle) => string): T {
    return JSON.parse(this.call(work)) as T;
  }

  /** Calls a synchronous method. `work` runs inside the guard: it only makes the call. */
  call<T>(work: (handle: AgentHandle) => T): T {
    this.#refuseIfClosed();
    return this.#wasm.call(() => work(this.#handle));
  }

  /** Starts an asynchronous method and parses its JSON result. */
  async callAsync<T>(work: (handle: AgentHandle) => Task): Promise<T> {
    this.#refuseIfClosed();
    return this.#wasm.run<T>(() => work(this.#handle), this.#drivers);
  }

  /** Starts a run. */
  startRun(task: string, signal: unknown): Run {
    this.#refuseIfClosed();
    const steer = (text: string): void => {
      const message = requireText("the message", text);
      this.callJson((handle) => handle.say(message, true));
    };
    const [host, store] = [this.#host, this.#store];
    const control: RunControl = {
      steer,
      polling: (run, poll) => (host === undefined ? poll() : host.polling(run, poll)),
      cancelled: (run) => {
        host?.abandon(run);
        store?.hurry();
      },
    };
    store?.begin();
    return new Run(this.#wasm, () => this.#handle.run(task), this.#drivers, signal, control);
  }

  /** Subscribes to the events after a cursor. */
  subscribe(after: number): EventFeed {
    this.#refuseIfClosed();
    return new EventFeed(this.#wasm, () => this.#handle.events(after), this.#drivers);
  }

  /** Ends all pending operations with a {@link ClosedError}, ends the event feeds, and frees the agent's memory. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const driver of [...this.#drivers]) driver.fail(new ClosedError("closed", "the agent was closed"));
    this.#wasm.release(this.#handle);
    this.#store?.close();
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new ClosedError("closed", "the agent is closed; create a new one");
  }
}
