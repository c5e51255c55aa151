/**
 * The life of a wasm module.
 *
 * **Every entry into wasm goes through {@link Core.call}.** Rust hands no closures out: timers and promises settle
 * through here. So a trap is always caught where a caller can be told, and after a panic nothing reaches the dead
 * instance: not a late timer, not an answer from the network, not an object of the last life.
 */

import { type EmendError, makeError, PanicError } from "./errors.js";

/** What the glue of every module has. */
export interface Glue {
  connect(host: object): void;
  restart(): void;
  settle(ticket: number, ok: boolean, value: unknown): void;
}

/** An operation under way in the module. */
export interface Task {
  readonly id: number;
  poll(): string | undefined;
  free(): void;
}

/** Something that is polled until it ends. */
export interface Driver {
  /** Goes on as far as possible. Must not throw. */
  step(): void;
  /** Ends it from outside. */
  fail(error: EmendError): void;
}

/** One life of a module: it ends with the first panic. */
export class Core {
  readonly #glue: Glue;
  #death: PanicError | undefined;
  #lastWords = "";
  readonly #drivers = new Map<number, Driver>();
  readonly #awake = new Set<number>();
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();

  constructor(glue: Glue) {
    this.#glue = glue;
    this.call(() => glue.connect(this.#host()));
  }

  get isDead(): boolean {
    return this.#death !== undefined;
  }

  /** Calls into wasm. Throws an {@link EmendError} and nothing else. */
  call<T>(work: () => T): T {
    if (this.#death !== undefined) throw this.#death;
    try {
      return work();
    } catch (thrown) {
      throw isFailure(thrown) ? asError(thrown) : this.#die(thrown);
    }
  }

  /** Runs a task to its end and parses what it gives. It is in `drivers` as long as it runs. */
  run<T>(start: () => Task, drivers: Set<Driver>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const task = this.call(start);
      const id = this.call(() => task.id);
      const end = (): void => {
        this.#drivers.delete(id);
        drivers.delete(driver);
        if (!this.isDead) task.free();
      };
      const driver: Driver = {
        step: () => {
          try {
            const text = this.call(() => task.poll());
            if (text === undefined) return;
            end();
            resolve(JSON.parse(text) as T);
          } catch (error) {
            end();
            reject(error as EmendError);
          }
        },
        fail: (error) => {
          end();
          reject(error);
        },
      };
      drivers.add(driver);
      this.drive(id, driver);
    });
  }

  /** Polls `driver` now and whenever its task is woken, until {@link forget}. */
  drive(task: number, driver: Driver): void {
    this.#drivers.set(task, driver);
    driver.step();
  }

  forget(task: number): void {
    this.#drivers.delete(task);
  }

  /** The methods that Rust calls; see `Host` there. None of them runs foreign code before it returns. */
  #host(): object {
    return {
      wake: (task: number) => this.#wake(task),
      watch: (promise: unknown, ticket: number) => {
        Promise.resolve(promise).then(
          (value) => this.#settle(ticket, true, value),
          (reason: unknown) => this.#settle(ticket, false, reason),
        );
      },
      startTimer: (ms: number, ticket: number) => this.#startTimer(ms, ticket),
      stopTimer: (ticket: number) => this.#stopTimer(ticket),
      panicked: (message: string) => {
        this.#lastWords = message;
      },
    };
  }

  #wake(task: number): void {
    if (this.#awake.has(task)) return;
    this.#awake.add(task);
    queueMicrotask(() => {
      this.#awake.delete(task);
      this.#drivers.get(task)?.step();
    });
  }

  #settle(ticket: number, ok: boolean, value: unknown): void {
    try {
      this.call(() => this.#glue.settle(ticket, ok, value));
    } catch {
      // A dead core takes no answers; everyone who waited for one has been told.
    }
  }

  #startTimer(ms: number, ticket: number): void {
    // A longer delay overflows and fires at once.
    const delay = Math.min(ms, 2 ** 31 - 1);
    this.#timers.set(ticket, setTimeout(() => {
      this.#timers.delete(ticket);
      this.#settle(ticket, true, undefined);
    }, delay));
  }

  #stopTimer(ticket: number): void {
    clearTimeout(this.#timers.get(ticket));
    this.#timers.delete(ticket);
  }

  #die(cause: unknown): PanicError {
    // Only a panic announces itself and asks for a fresh instance; an overflow or lack of memory does not.
    if (this.#lastWords === "") this.#glue.restart();
    const reason = this.#lastWords || String(cause);
    const message = `the core stopped: ${reason}. Close what you made with it and make it anew.`;
    this.#death = new PanicError("internal", message, { cause });
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    for (const driver of [...this.#drivers.values()]) driver.fail(this.#death);
    return this.#death;
  }
}

/** What Rust throws on purpose: a plain object. Anything else that comes out of wasm is a trap. */
export interface Failure {
  class: string;
  code: string;
  message: string;
  data?: unknown;
  retryable?: boolean;
  suggestions?: string[];
}

function isFailure(thrown: unknown): thrown is Failure {
  return typeof thrown === "object" && thrown !== null && !(thrown instanceof Error) && "class" in thrown;
}

export function asError({ class: className, code, message, ...details }: Failure): EmendError {
  return makeError(className, code, message, details);
}
