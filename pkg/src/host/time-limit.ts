/** The time limit of the calls of an environment. */

import { EmendError } from "../errors.js";
import { fieldOf } from "../exceptions.js";
import type { MaybePromise } from "./environment-types.js";

/** The default limit, in milliseconds: that of a silent provider. */
const DEFAULT_MS = 5 * 60_000;

/** The longest delay that `setTimeout` accepts, in milliseconds. */
const DELAY_MAX_MS = 2 ** 31 - 1;

type Timer = ReturnType<typeof setTimeout>;

/** Limits the calls of one environment. */
export class TimeLimit {
  readonly #ms: number;
  /** The messages of calls that took too long: one for each method. */
  readonly #messages = new Set<string>();
  readonly #errors = new WeakSet<object>();
  readonly #timers = new WeakMap<AbortSignal, Set<Timer>>();

  /** `ms` is the option `timeoutMs`. @throws {RangeError} if it is not a number of milliseconds. */
  constructor(ms: unknown = DEFAULT_MS) {
    if (typeof ms !== "number" || !(ms >= 0)) throw new RangeError("not a number of milliseconds, 0 or more");
    this.#ms = ms === 0 || ms > DELAY_MAX_MS ? Infinity : ms;
  }

  /**
   * Returns the result of a call, or rejects with code `timeout` when the limit is reached first. When `signal` fires, the call
   * is given up already.
   */
  async of<T>(method: string, given: MaybePromise<T>, signal: AbortSignal): Promise<T> {
    if (this.#ms === Infinity || typeof (Object(given) as Partial<PromiseLike<T>>).then !== "function") return given;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#overdue(method)), this.#ms);
      const timers = this.#timersOf(signal);
      timers.add(timer);
      Promise.resolve(given)
        .then(resolve, reject)
        .finally(() => {
          clearTimeout(timer);
          timers.delete(timer);
        });
      // A timer would keep a program alive.
      if (signal.aborted) clearTimeout(timer);
    });
  }

  /** Returns whether an exception, or its cause, is that of a call that took too long. */
  isOverdue(thrown: unknown): boolean {
    return [thrown, fieldOf(thrown, "cause")].some((each) => this.#errors.has(Object(each) as object));
  }

  /** Returns the error of the core with code `timeout` if a call took too long; returns others as they are. */
  explained(error: unknown): unknown {
    if (!(error instanceof EmendError) || error.code !== "io_error") return error;
    const { message, data, cause } = error;
    if (![...this.#messages].some((overdue) => message.includes(overdue))) return error;
    const suggestions = ["try again", "give the environment another `timeoutMs`"];
    return new EmendError("timeout", message, { data, cause, retryable: true, suggestions });
  }

  /** Returns the timers that end with a signal. It has one listener: Node warns of more than ten. */
  #timersOf(signal: AbortSignal): Set<Timer> {
    const known = this.#timers.get(signal);
    if (known !== undefined) return known;
    const timers = new Set<Timer>();
    this.#timers.set(signal, timers);
    const stop = (): void => {
      for (const timer of timers) clearTimeout(timer);
    };
    signal.addEventListener("abort", stop, { once: true });
    return timers;
  }

  #overdue(method: string): EmendError {
    const later = method === "write" || method === "remove" ? "; it may still happen" : "";
    const message = `\`${method}\` of the environment did not answer within ${this.#ms / 1_000} s${later}`;
    this.#messages.add(message);
    const error = new EmendError("timeout", message, { retryable: true });
    this.#errors.add(error);
    return error;
  }
}
