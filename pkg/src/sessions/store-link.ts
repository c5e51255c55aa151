/** Connects a host's store to the core: notices other writers, and gives up a store that does not answer. */

import { messageOf, textOf } from "../exceptions.js";
import { toJson } from "../texts.js";
import { callStore, checkStore, conflict } from "./stores.js";
import type { SessionStore } from "./types.js";

/** Time that a store has for one call, in milliseconds. */
const LIMIT_MS = 30_000;

/** Time that a store has for one call after the run was cancelled, in milliseconds. */
const GRACE_MS = 2_000;

/** The knowledge of one agent about a document. */
interface Known {
  /** Length of its text. */
  length: number;
  /** Whether it ends inside a line. */
  open: boolean;
  /** Text of a failed call, of which any part may be at the end of the document. */
  doubt?: string;
}

const EMPTY: Known = { length: 0, open: false };

/** The store of one agent. */
export class StoreLink {
  readonly #store: SessionStore;
  readonly #documents = new Map<string, Known>();
  /** Documents to which a call is appending. */
  readonly #busy = new Set<string>();
  /** The pending calls: the function that gives up a call, and its timer. */
  readonly #pending = new Map<() => void, ReturnType<typeof setTimeout>>();
  #limit = LIMIT_MS;

  /** @throws {ConfigError} if the store lacks a method. */
  constructor(store: SessionStore) {
    checkStore(store);
    this.#store = store;
  }

  /** The function through which the core calls the store. It rejects with JSON that has `code` and `message`. */
  readonly call = async (operation: string, name: string, lines: string): Promise<string | undefined> => {
    // Runs after the core has returned: the store's code may call the agent.
    await undefined;
    try {
      return await this.#limited(operation === "append" ? this.#append(name, lines) : this.#read(operation, name));
    } catch (thrown) {
      const code = textOf(thrown, "code") === "conflict" ? "conflict" : "io_error";
      throw toJson({ code, message: messageOf(thrown) });
    }
  };

  /** Gives the store its usual time for each call. */
  begin(): void {
    this.#limit = LIMIT_MS;
  }

  /** Gives the store little time for pending and later calls: the run was cancelled. */
  hurry(): void {
    this.#setLimit(GRACE_MS);
  }

  /** Gives up all calls: the agent was closed. */
  close(): void {
    this.#setLimit(0);
  }

  #setLimit(ms: number): void {
    this.#limit = ms;
    for (const [giveUp, timer] of this.#pending) {
      clearTimeout(timer);
      this.#pending.set(giveUp, setTimeout(giveUp, ms));
    }
  }

  #limited<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new Error(`the store did not answer within ${this.#limit / 1000} s`));
      this.#pending.set(giveUp, setTimeout(giveUp, this.#limit));
      work.then(resolve, reject).finally(() => {
        clearTimeout(this.#pending.get(giveUp));
        this.#pending.delete(giveUp);
      });
    });
  }

  async #read(operation: string, name: string): Promise<string | undefined> {
    const answer = await callStore(this.#store, operation, name);
    if (operation === "load") this.#documents.set(name, knownOf(answer ?? ""));
    if (operation === "remove") this.#documents.delete(name);
    return answer;
  }

  async #append(name: string, lines: string): Promise<undefined> {
    // The lines of a call that was given up may still arrive.
    if (this.#busy.has(name)) throw new Error("the store has not answered the last call yet");
    this.#busy.add(name);
    try {
      const known = await this.#checked(name);
      const text = known.open ? `\n${lines}` : lines;
      this.#documents.set(name, { ...known, doubt: text });
      await this.#store.append(name, lines, { expected: known.length });
      this.#documents.set(name, { length: known.length + text.length, open: !lines.endsWith("\n") });
    } finally {
      this.#busy.delete(name);
    }
    return undefined;
  }

  /** Returns the knowledge about a document. After a failed call, looks how much of its text has arrived. */
  async #checked(name: string): Promise<Known> {
    const { doubt, ...known } = this.#documents.get(name) ?? EMPTY;
    if (doubt === undefined) return known;
    const text = (await callStore(this.#store, "load", name)) ?? "";
    if (text.length < known.length || !doubt.startsWith(text.slice(known.length))) throw conflict(name);
    return knownOf(text);
  }
}

function knownOf(text: string): Known {
  return { length: text.length, open: text !== "" && !text.endsWith("\n") };
}
