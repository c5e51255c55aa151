/** Calls one agent in wasm, and ends everything that is pending when the agent is closed. */

import type { AgentHandle } from "../core.js";
import type { HostFiles } from "../host/environment.js";
import type { StoreLink } from "../sessions/store-link.js";
import { requireText } from "../validate.js";
import type { WasmInstance } from "../wasm/instance.js";
import { EventFeed } from "./event-feed.js";
import type { AgentEvent } from "./events.js";
import { HandleBridge } from "./handle-bridge.js";
import { readEvent } from "./read-event.js";
import { Run, type RunControl } from "./run.js";

/** The connection between an {@link Agent} and its counterpart in wasm. */
export class AgentBridge extends HandleBridge {
  constructor(
    wasm: WasmInstance,
    create: () => AgentHandle,
    host: HostFiles | undefined,
    store: StoreLink | undefined,
  ) {
    super(wasm, create, host, store, "agent");
  }

  /** Starts a run. */
  startRun(task: string, signal: unknown): Run {
    this.refuseIfClosed();
    const steer = (text: string): void => {
      const message = requireText("the message", text);
      this.callJson((handle) => handle.say(message, true));
    };
    const { host, store } = this;
    const control: RunControl = {
      steer,
      polling: (run, poll) => (host === undefined ? poll() : host.polling(run, poll)),
      cancelled: (run) => {
        host?.abandon(run);
        store?.hurry();
      },
    };
    store?.begin();
    return new Run(this.wasm, () => this.handle.run(task), this.drivers, signal, control);
  }

  /** Subscribes to the events after a cursor. */
  subscribe(after: number): EventFeed<AgentEvent> {
    this.refuseIfClosed();
    return new EventFeed(this.wasm, () => this.handle.events(after), this.drivers, readEvent);
  }
}
