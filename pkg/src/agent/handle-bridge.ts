/** Calls one agent's files in wasm, and ends everything that is pending when the agent is closed. */

import type { AgentHandle } from "../core.js";
import { ClosedError } from "../errors.js";
import type { HostFiles } from "../host/environment.js";
import type { StoreLink } from "../sessions/store-link.js";
import type { Driver, Task, WasmInstance, Watch } from "../wasm/instance.js";

/** The connection between the files of an agent or a service and their counterpart in wasm. */
export class HandleBridge {
  protected readonly wasm: WasmInstance;
  protected readonly handle: AgentHandle;
  protected readonly host: HostFiles | undefined;
  protected readonly store: StoreLink | undefined;
  protected readonly drivers = new Set<Driver>();
  /** The owner's name in errors. */
  readonly #owner: string;
  #closed = false;

  constructor(
    wasm: WasmInstance,
    create: () => AgentHandle,
    host: HostFiles | undefined,
    store: StoreLink | undefined,
    owner: string,
  ) {
    this.wasm = wasm;
    this.host = host;
    this.store = store;
    this.#owner = owner;
    this.handle = wasm.call(create);
  }

  get hasStore(): boolean {
    return this.store !== undefined;
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
    this.refuseIfClosed();
    return this.wasm.call(() => work(this.handle));
  }

  /** Starts an asynchronous method and parses its JSON result. */
  async callAsync<T>(work: (handle: AgentHandle) => Task): Promise<T> {
    return this.#run(work, undefined);
  }

  /**
   * As {@link callAsync}, for an operation that changes files. Such operations wait for each other.
   *
   * @throws {BusyError} if it waits for a call of the environment that does not end.
   */
  async change<T>(work: (handle: AgentHandle) => Task): Promise<T> {
    return this.#run(work, this.host && watchOf(this.host));
  }

  async #run<T>(work: (handle: AgentHandle) => Task, watch: Watch | undefined): Promise<T> {
    this.refuseIfClosed();
    try {
      return await this.wasm.run<T>(() => work(this.handle), this.drivers, watch);
    } catch (error) {
      throw this.host === undefined ? error : this.host.explained(error);
    }
  }

  /** Ends all pending operations with a {@link ClosedError}, ends the event feeds, and frees the memory in wasm. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const closed = new ClosedError("closed", `the ${this.#owner} was closed`);
    for (const driver of [...this.drivers]) driver.fail(closed);
    this.release();
    this.store?.close();
  }

  protected release(): void {
    this.wasm.release(this.handle);
  }

  protected refuseIfClosed(): void {
    if (this.#closed) throw new ClosedError("closed", `the ${this.#owner} is closed; create a new one`);
  }
}

function watchOf(host: HostFiles): Watch {
  const change = {};
  return {
    begin: (driver) => {
      host.beginChange(change);
      return host.stall.watch(change, (error) => driver.fail(error));
    },
    polling: (poll) => host.polling(change, poll),
  };
}
