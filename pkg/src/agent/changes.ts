/** Tells listeners what changes in an agent: edits, decisions, runs and its end. */

import { EmendError } from "../errors.js";
import type { EventFeed } from "./event-feed.js";
import { newestCursor } from "./newest-cursor.js";

/** A change of an agent's state, as {@link Agent.subscribe} tells it. */
export type AgentChange =
  /** The agent edited a file. */
  | { kind: "edit"; path: string; revision: number }
  /** The user wrote or removed a file. */
  | { kind: "write"; path: string; revision?: number }
  /** The user decided on hunks, or went a step back or forth. */
  | { kind: "decision"; action: "accept" | "reject" | "split" | "undo" | "redo" }
  /** A run has begun or ended, or another session was opened. */
  | { kind: "run" | "session" }
  /** The agent was closed. `error` is the panic that ended it, if there was one. */
  | { kind: "closed"; error?: EmendError };

type Listener = (change: AgentChange) => void;

/** The listeners of one agent. Its events are followed only while there are any. */
export class Changes {
  readonly #follow: (after: number) => EventFeed;
  readonly #listeners = new Set<Listener>();
  #feed: EventFeed | undefined;
  #closed = false;

  constructor(follow: (after: number) => EventFeed) {
    this.#follow = follow;
  }

  subscribe(listener: Listener): () => void {
    // A function of its own: the same listener may subscribe twice.
    if (typeof listener !== "function") throw new EmendError("invalid_argument", "the listener must be a function");
    const own: Listener = (change) => listener(change);
    if (this.#feed === undefined) this.#open();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  tell(change: AgentChange): void {
    if (this.#closed) return;
    this.#closed = change.kind === "closed";
    for (const listener of [...this.#listeners]) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(change);
      } catch (error) {
        // As for the listeners of an event target: the other ones and the caller go on.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    if (!this.#closed) return;
    this.#listeners.clear();
    this.#stop();
  }

  /** Follows the events of the session that has just been opened. */
  sessionOpened(): void {
    if (this.#feed !== undefined) {
      this.#stop();
      this.#open();
    }
    this.tell({ kind: "session" });
  }

  #open(): void {
    const feed = this.#follow(newestCursor(this.#follow));
    this.#feed = feed;
    void this.#read(feed);
  }

  #stop(): void {
    void this.#feed?.return();
    this.#feed = undefined;
  }

  async #read(feed: EventFeed): Promise<void> {
    try {
      for await (const { kind, data } of feed) {
        if (this.#feed !== feed) return;
        if (kind === "FILE_CHANGED") this.tell({ kind: "edit", path: data.path, revision: data.revision });
        else if (kind === "USER_INPUT" || kind === "PROCESSING_END") this.tell({ kind: "run" });
      }
    } catch (error) {
      if (this.#feed === feed) this.tell({ kind: "closed", error: error as EmendError });
    }
  }
}
