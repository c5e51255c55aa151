/**
 * Calls between two threads by messages. Values are copied; functions, signals and asynchronous iterables become references
 * to those of the other side.
 */

import { fieldOf } from "../exceptions.js";
import { receivedError, type SentError, sentError } from "./errors.js";

/** The sending half of a connection. */
export type Send = (message: unknown) => void;

/** A function of the other side. */
export type Remote = (...args: unknown[]) => Promise<unknown>;

type Message =
  | { kind: "call"; id: number; target: number; args: unknown }
  /** `open`: the value has iterables, and the signals of the call serve them until the message `ended`. */
  | { kind: "done"; id: number; value: unknown; open: boolean }
  | { kind: "ended"; id: number }
  | { kind: "failed"; id: number; error: SentError }
  | { kind: "abort"; signal: number; reason: unknown }
  | { kind: "release"; target: number };

/** A value that messages cannot have, in a packed value. The name of its only property is not one of a caller's. */
const MARK = "emend:packed";

type Packed =
  | { type: "function" | "iterable"; id: number }
  | { type: "signal"; id: number; aborted: boolean; reason: unknown }
  | { type: "error"; error: SentError }
  | { type: "url"; href: string }
  /** An object with a property that is called like the mark. */
  | { type: "plain"; value: object }
  | { type: "response"; status: number; statusText: string; headers: [string, string][]; body: unknown };

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Stops listening to the signals of the call. */
  stop(): void;
}

/** Lists that are filled while a value is packed. */
interface Given {
  /** Gets the functions that stop listening to signals. */
  stops?: (() => void)[];
  /** Gets the numbers of asynchronous iterables. */
  iterables?: number[];
}

// Classes whose objects messages copy; some runtimes lack some of them.
const COPIED = ["ArrayBuffer", "Blob", "Date", "FileSystemHandle", "Map", "RegExp", "Set", "SharedArrayBuffer"];

/** One side of a connection. */
export class Link {
  readonly #send: Send;
  readonly #functions = new Map<number, (...args: never[]) => unknown>();
  readonly #pending = new Map<number, Pending>();
  /** The calls that were answered with iterables which have not ended. */
  readonly #open = new Map<number, Pending>();
  /** Functions to call when an iterable that was given away has ended. */
  readonly #ends = new Map<number, () => void>();
  /** The signals that calls of the other side got. */
  readonly #signals = new Map<number, AbortController>();
  readonly #forgotten = new FinalizationRegistry<number>((target) => {
    if (this.#failure === undefined) this.#send({ kind: "release", target });
  });
  #failure: Error | undefined;
  #last = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Offers a function under a number that the other side knows. */
  offer(target: number, work: (...args: never[]) => unknown): void {
    this.#functions.set(target, work);
  }

  /** Calls a function of the other side. */
  call(target: number, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      const id = this.#next();
      const stops: (() => void)[] = [];
      const stop = (): void => {
        for (const each of stops) each();
      };
      try {
        const message: Message = { kind: "call", id, target, args: this.#pack(args, { stops }) };
        this.#pending.set(id, { resolve, reject, stop });
        this.#send(message);
      } catch (thrown) {
        this.#pending.delete(id);
        stop();
        throw thrown;
      }
    });
  }

  /** Fails all pending calls and all later ones. */
  end(failure: Error): void {
    this.#failure ??= failure;
    for (const { reject, stop } of [...this.#pending.values(), ...this.#open.values()]) {
      reject(failure);
      stop();
    }
    this.#pending.clear();
    this.#open.clear();
    for (const abort of this.#signals.values()) abort.abort(failure);
    this.#signals.clear();
    this.#functions.clear();
    this.#ends.clear();
  }

  /** Takes a message of the other side. */
  receive(given: unknown): void {
    // Other scripts of the worker may send messages, too.
    const message = Object(given) as Message;
    if (this.#failure !== undefined) return;
    if (message.kind === "call") void this.#answer(message);
    else if (message.kind === "abort") this.#signals.get(message.signal)?.abort(this.#unpack(message.reason));
    else if (message.kind === "release") this.#release(message.target);
    else if (message.kind === "ended") {
      this.#open.get(message.id)?.stop();
      this.#open.delete(message.id);
    } else if (message.kind === "done" || message.kind === "failed") this.#settle(message);
  }

  #settle(message: Message & { kind: "done" | "failed" }): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    this.#pending.delete(message.id);
    if (message.kind === "done" && message.open) this.#open.set(message.id, pending);
    else pending.stop();
    if (message.kind === "done") pending.resolve(this.#unpack(message.value));
    else pending.reject(receivedError(message.error, (value) => this.#unpack(value)));
  }

  #release(target: number): void {
    this.#functions.delete(target);
    const end = this.#ends.get(target);
    this.#ends.delete(target);
    end?.();
  }

  async #answer({ id, target, args }: Message & { kind: "call" }): Promise<void> {
    const signals: number[] = [];
    const over = (): void => {
      for (const signal of signals) this.#signals.delete(signal);
    };
    const send = (message: Message): void => {
      if (this.#failure === undefined) this.#send(message);
    };
    try {
      const work = this.#functions.get(target);
      if (work === undefined) throw new Error("the other thread has released this function");
      const value: unknown = await work(...(this.#unpack(args, signals) as never[]));
      const iterables: number[] = [];
      const packed = this.#pack(value, { iterables });
      send({ kind: "done", id, value: packed, open: iterables.length > 0 });
      let left = iterables.length;
      const oneEnded = (): void => {
        left -= 1;
        if (left > 0) return;
        over();
        send({ kind: "ended", id });
      };
      for (const iterable of iterables) this.#ends.set(iterable, oneEnded);
      if (left === 0) over();
    } catch (thrown) {
      send({ kind: "failed", id, error: this.#sentError(thrown) });
      over();
    }
  }

  #next(): number {
    this.#last += 1;
    return this.#last;
  }

  #sentError(thrown: unknown): SentError {
    return sentError(thrown, (value) => {
      try {
        // Messages have no classes. A part that they cannot have at all is left out.
        return structuredClone(this.#pack(value));
      } catch {
        return undefined;
      }
    });
  }

  #pack(value: unknown, given: Given = {}, owner?: object): unknown {
    if (typeof value === "function") {
      const id = this.#next();
      this.#functions.set(id, owner === undefined ? (value as () => unknown) : value.bind(owner));
      return mark({ type: "function", id });
    }
    if (typeof value !== "object" || value === null) return value;
    // A message would have all bytes of the buffer below the view, e.g. of Node's pool.
    if (value instanceof Uint8Array) return Uint8Array.prototype.slice.call(value);
    if (ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) return value.map((item) => this.#pack(item, given));
    if (value instanceof AbortSignal) return this.#packSignal(value, given.stops);
    if (value instanceof Error) return mark({ type: "error", error: this.#sentError(value) });
    if (value instanceof URL) return mark({ type: "url", href: value.href });
    if (typeof Response !== "undefined" && value instanceof Response) return this.#packResponse(value, given);
    if (typeof Headers !== "undefined" && value instanceof Headers) return [...value];
    if (COPIED.includes(classOf(value)) || isCopied(value)) return value;
    if (typeof fieldOf(value, "then") === "function") return value;
    if (Symbol.asyncIterator in value) return this.#packIterable(value as AsyncIterable<unknown>, given);
    if (Symbol.iterator in value) return [...(value as Iterable<unknown>)].map((item) => this.#pack(item, given));
    const packed: Record<string, unknown> = Object.create(null);
    for (const name of namesIn(value)) {
      packed[name] = this.#pack((value as Record<string, unknown>)[name], given, value);
    }
    const plain = Object.fromEntries(Object.entries(packed));
    return Object.hasOwn(plain, MARK) ? mark({ type: "plain", value: plain }) : plain;
  }

  #packIterable(iterable: AsyncIterable<unknown>, { iterables }: Given): unknown {
    const iterator = iterable[Symbol.asyncIterator]();
    const id = this.#next();
    iterables?.push(id);
    this.#functions.set(id, async (step: "next" | "return") => {
      try {
        const result = await iterator[step]?.();
        if (step === "return" || result?.done === true) this.#release(id);
        return result;
      } catch (thrown) {
        this.#release(id);
        throw thrown;
      }
    });
    return mark({ type: "iterable", id });
  }

  #packSignal(signal: AbortSignal, stops: (() => void)[] | undefined): unknown {
    const id = this.#next();
    const abort = (): void => {
      if (this.#failure === undefined)
        this.#send({ kind: "abort", signal: id, reason: this.#packReason(signal.reason) });
    };
    signal.addEventListener("abort", abort, { once: true });
    stops?.push(() => signal.removeEventListener("abort", abort));
    return mark({ type: "signal", id, aborted: signal.aborted, reason: this.#packReason(signal.reason) });
  }

  #packReason(reason: unknown): unknown {
    return reason instanceof Error ? this.#pack(reason) : String(reason);
  }

  #packResponse({ status, statusText, headers, body }: Response, given: Given): unknown {
    const chunks =
      body &&
      (async function* () {
        const reader = body.getReader();
        try {
          for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
        } finally {
          await reader.cancel();
        }
      })();
    return mark({ type: "response", status, statusText, headers: [...headers], body: this.#pack(chunks, given) });
  }

  #unpack(value: unknown, signals: number[] = []): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#unpack(item, signals));
    if (!isPlain(value)) return value;
    const properties = (of: object): object =>
      Object.fromEntries(Object.entries(of).map(([name, item]) => [name, this.#unpack(item, signals)]));
    if (!Object.hasOwn(value, MARK)) return properties(value);
    const marked = (value as { [MARK]: Packed })[MARK];
    switch (marked.type) {
      case "plain":
        return properties(marked.value);
      case "error":
        return receivedError(marked.error, (part) => this.#unpack(part));
      case "url":
        return new URL(marked.href);
      case "signal": {
        const abort = new AbortController();
        if (marked.aborted) abort.abort(this.#unpack(marked.reason));
        this.#signals.set(marked.id, abort);
        signals.push(marked.id);
        return abort.signal;
      }
      case "response": {
        const { status, statusText, headers } = marked;
        const iterator = (this.#unpack(marked.body) as AsyncIterable<Uint8Array> | null)?.[Symbol.asyncIterator]();
        const body =
          iterator &&
          new ReadableStream<Uint8Array>({
            async pull(controller) {
              const { done, value } = await iterator.next();
              if (done) controller.close();
              else controller.enqueue(value);
            },
            cancel: async () => void (await iterator.return?.()),
          });
        return new Response(body ?? null, { status, statusText, headers });
      }
      case "function":
        return this.#remote(marked.id);
      default: {
        const call = this.#remote(marked.id);
        const step = (name: string) => call(name) as Promise<IteratorResult<unknown>>;
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => step("next"),
            return: async () => (await step("return")) ?? { done: true, value: undefined },
          }),
        };
      }
    }
  }

  #remote(target: number): Remote {
    const remote: Remote = (...args) => {
      const result = this.call(target, args);
      // Callers of a function without a result, such as `onOutput`, do not look at it.
      result.catch(() => {});
      return result;
    };
    this.#forgotten.register(remote, target);
    return remote;
  }
}

function mark(packed: Packed): object {
  return { [MARK]: packed };
}

function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Handles of files and compiled modules have classes with other names than their tags. */
function isCopied(value: object): boolean {
  return /^(FileSystem|WebAssembly\.Module|File$|DOMException$)/.test(classOf(value));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns the names of an object's properties and of the methods of its class. */
function namesIn(value: object): string[] {
  const names = new Set(Object.keys(value));
  for (let from = Object.getPrototypeOf(value); from !== null; from = Object.getPrototypeOf(from)) {
    if (Object.getPrototypeOf(from) === null) break;
    for (const name of Object.getOwnPropertyNames(from)) if (name !== "constructor") names.add(name);
  }
  return [...names];
}
