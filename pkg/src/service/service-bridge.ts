/** Calls one service in wasm, drives its jobs, and ends everything that is pending when the service is closed. */

import { EventFeed } from "../agent/event-feed.js";
import { HandleBridge } from "../agent/handle-bridge.js";
import type { AgentHandle } from "../core.js";
import type { HostFiles } from "../host/environment.js";
import type { ServiceHandle } from "../service-core.js";
import type { StoreLink } from "../sessions/store-link.js";
import type { Driver, Task, WasmInstance } from "../wasm/instance.js";

/** The time that the jobs have for their ends when the service is closed, in milliseconds. */
const CLOSE_MS = 5_000;

/** A reply of the core: the JSON text of its body, or a stream. */
export interface Reply {
  status: number;
  body: string;
  stream?: { scope: string; after: number };
  /** The methods of the path, if it does not have the method of the request. */
  allow?: string;
}

/** A message of a stream: its number, if it has one, and its JSON text. */
export interface Reading {
  id: number | null;
  data: string;
}

/** The connection between a service and its counterpart in wasm. */
export class ServiceBridge extends HandleBridge {
  readonly #service: ServiceHandle;
  #closing: Promise<void> | undefined;

  constructor(
    wasm: WasmInstance,
    createAgent: () => AgentHandle,
    createService: (agent: AgentHandle) => ServiceHandle,
    host: HostFiles | undefined,
    store: StoreLink | undefined,
  ) {
    super(wasm, createAgent, host, store, "service");
    this.#service = wasm.call(() => createService(this.handle));
    store?.begin();
  }

  /** Lets jobs advance from now on. */
  drive(): void {
    const jobs = this.wasm.call(() => this.#service.drive());
    const task = this.wasm.call(() => jobs.id);
    const poll = () => this.wasm.call(() => jobs.poll());
    const driver: Driver = {
      step: () => {
        try {
          if (this.host === undefined) poll();
          else this.host.polling(this, poll);
        } catch {
          // A panic: all pending calls have failed with it.
        }
      },
      fail: () => {
        this.drivers.delete(driver);
        this.wasm.release(jobs, task);
      },
    };
    this.drivers.add(driver);
    this.wasm.drive(task, driver);
  }

  /** Starts an operation of the service and parses its JSON result. */
  async ask<T>(work: (service: ServiceHandle) => Task): Promise<T> {
    this.refuseIfClosed();
    return this.wasm.run<T>(() => work(this.#service), this.drivers);
  }

  /** Returns the events of a scope after a number. */
  events(scope: string, after: number): EventFeed<Reading> {
    this.refuseIfClosed();
    return new EventFeed<Reading>(this.wasm, () => this.#service.events(scope, after), this.drivers, JSON.parse);
  }

  /** Gives pending writes to the host's environment some seconds: a cancelled job may wait for one that hangs. */
  hurry(): void {
    this.host?.hurry(this);
  }

  /** Cancels all jobs, waits for their ends, and closes. */
  shutDown(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    // A call of the host's code that never returns does not hold up the end.
    const late = setTimeout(() => this.close(), CLOSE_MS);
    this.host?.abandon(this);
    this.store?.hurry();
    try {
      await this.ask((service) => service.close());
    } catch {
      // Closed or dead: nothing runs any more.
    } finally {
      clearTimeout(late);
      this.close();
    }
  }

  protected override release(): void {
    this.wasm.release(this.#service);
    super.release();
  }
}
