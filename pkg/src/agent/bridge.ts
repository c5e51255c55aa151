/** Calls one agent in wasm, and ends everything that is pending when the agent is closed. */

import type { AgentHandle, RunHandle } from "../core.js";
import type { HostFiles } from "../host/environment.js";
import type { StoreLink } from "../sessions/store-link.js";
import { optionsOf, requireText } from "../validate.js";
import type { WasmInstance } from "../wasm/instance.js";
import { EventFeed } from "./event-feed.js";
import type { AgentEvent } from "./events.js";
import { HandleBridge } from "./handle-bridge.js";
import { attach, imagesOf, type NamedImage } from "./images.js";
import type { MessageOptions } from "./options.js";
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

  /** Adds a user message: to the current run if `now`, otherwise after it. */
  say(message: string, options: MessageOptions, now: boolean): void {
    const images = imagesOf(optionsOf(options, ["images"]).images);
    this.callJson((handle) => {
      attach(handle, images);
      return handle.say(message, now);
    });
  }

  /** Starts a run. */
  startRun(task: string, images: readonly NamedImage[], signal: unknown): Run {
    this.refuseIfClosed();
    const steer = (text: string, options: MessageOptions): void =>
      this.say(requireText("the message", text), options, true);
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
    const start = (): RunHandle => {
      attach(this.handle, images);
      return this.handle.run(task);
    };
    return new Run(this.wasm, start, this.drivers, signal, control);
  }

  /** Subscribes to the events after a cursor. */
  subscribe(after: number): EventFeed<AgentEvent> {
    this.refuseIfClosed();
    return new EventFeed(this.wasm, () => this.handle.events(after), this.drivers, readEvent);
  }
}
