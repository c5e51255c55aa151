/**
 * One instance of a wasm module, from its start to its first panic.
 *
 * **Every entry into wasm goes through {@link WasmInstance.call}.** Rust exports no closures: timers and promises
 * settle through this class. A trap is therefore always caught where the caller can be informed. After a panic nothing
 * enters the dead instance: no late timer, no network response and no object that belongs to it.
 */

import { makeError } from "../core-errors.js";
import { EmendError, PanicError } from "../errors.js";
import { inNewTurn } from "../macrotask.js";

/** The functions that the glue of every module exports. */
export interface Glue {
  connect(host: object): void;
  restart(): void;
  settle(ticket: number, ok: boolean, value: unknown): void;
}

/** A running operation in the module. */
export interface Task {
  readonly id: number;
  poll(): string | undefined;
  free(): void;
}

/** An operation that is polled until it ends. */
export interface Driver {
  /** Continues the operation as far as possible. Must not throw. */
  step(): void;
  /** Ends the operation from outside. */
  fail(error: EmendError): void;
}

/** Follows one operation. */
export interface Watch {
  /** The operation begins. Returns the function that is called at its end. */
  begin(driver: Driver): () => void;
  /** Calls `poll`, which advances the operation. */
  polling<T>(poll: () => T): T;
}

/**
 * Time for which woken tasks go on in microtasks, in milliseconds. Then they wait for a new turn of the event loop:
 * between a caller's functions that never wait, timers and input would otherwise never get a turn.
 */
const TURN_MS = 10;

/** One instance of a module. It is dead after its first panic. */
export class WasmInstance {
  readonly #glue: Glue;
  /** Whether a call into the module is in progress. */
  #inside = false;
  #turnBegan = Number.NEGATIVE_INFINITY;
  #death: PanicError | undefined;
  #panicMessage = "";
  readonly #drivers = new Map<number, Driver>();
  readonly #awake = new Set<number>();
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();

  constructor(glue: Glue) {
    this.#glue = glue;
    this.call(() => glue.connect(this.#host()));
  }

  /** Whether the instance has panicked. */
  get isDead(): boolean {
    return this.#death !== undefined;
  }

  /**
   * Calls into wasm.
   *
   * @throws {EmendError} only: a failure of the operation, or a {@link PanicError}.
   */
  call<T>(work: () => T): T {
    if (this.#death !== undefined) throw this.#death;
    // Entered twice, the module would panic.
    if (this.#inside) throw new EmendError("internal", "the core was called by a function that it had called itself");
    this.#inside = true;
    try {
      return work();
    } catch (thrown) {
      throw isFailure(thrown) ? asError(thrown) : this.#die(thrown);
    } finally {
      this.#inside = false;
    }
  }

  /**
   * Stops stepping the driver of `task` and frees an object of the module. Does not throw: of a panic, all pending calls
   * are informed.
   */
  release(object: { free(): void }, task?: number): void {
    if (task !== undefined) this.#drivers.delete(task);
    if (this.isDead) return;
    try {
      this.call(() => object.free());
    } catch {
      // All drivers have failed with the panic.
    }
  }

  /**
   * Runs a task to its end and parses its JSON result. Its driver is in `drivers` while it runs. `watch` is told its
   * beginning, and may change how it is polled.
   */
  run<T>(start: () => Task, drivers: Set<Driver>, watch?: Watch): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const task = this.call(start);
      const id = this.call(() => task.id);
      let unwatch: (() => void) | undefined;
      const end = (): void => {
        unwatch?.();
        drivers.delete(driver);
        this.release(task, id);
      };
      const driver: Driver = {
        step: () => {
          try {
            const poll = () => this.call(() => task.poll());
            const text = watch === undefined ? poll() : watch.polling(poll);
            if (text === undefined) return;
            resolve(JSON.parse(text) as T);
          } catch (error) {
            reject(error as EmendError);
          }
          end();
        },
        fail: (error) => {
          reject(error);
          end();
        },
      };
      drivers.add(driver);
      unwatch = watch?.begin(driver);
      this.drive(id, driver);
    });
  }

  /** Steps `driver` now and whenever its task is woken, until {@link release}. */
  drive(task: number, driver: Driver): void {
    this.#drivers.set(task, driver);
    driver.step();
  }

  /** Returns the methods that Rust calls (`Host` in Rust). None of them runs a caller's code before it returns. */
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
        this.#panicMessage = message;
      },
    };
  }

  #wake(task: number): void {
    if (this.#awake.has(task)) return;
    this.#awake.add(task);
    const step = (): void => {
      this.#awake.delete(task);
      this.#drivers.get(task)?.step();
    };
    if (performance.now() - this.#turnBegan < TURN_MS) {
      queueMicrotask(step);
      return;
    }
    inNewTurn(() => {
      this.#turnBegan = performance.now();
      step();
    });
  }

  #settle(ticket: number, ok: boolean, value: unknown): void {
    try {
      this.call(() => this.#glue.settle(ticket, ok, value));
    } catch {
      // The instance is dead. Every driver has already failed with the panic.
    }
  }

  #startTimer(ms: number, ticket: number): void {
    // `setTimeout` fires at once if the delay overflows 31 bits.
    const delay = Math.min(ms, 2 ** 31 - 1);
    this.#timers.set(
      ticket,
      setTimeout(() => {
        this.#timers.delete(ticket);
        this.#settle(ticket, true, undefined);
      }, delay),
    );
  }

  #stopTimer(ticket: number): void {
    clearTimeout(this.#timers.get(ticket));
    this.#timers.delete(ticket);
  }

  #die(cause: unknown): PanicError {
    // Only a panic calls `panicked` and restarts the instance. A stack overflow or lack of memory does not.
    if (this.#panicMessage === "") this.#glue.restart();
    const reason = this.#panicMessage || String(cause);
    const message = `the core stopped: ${reason}. Close the objects that you created with it and create new ones.`;
    this.#death = new PanicError("internal", message, { cause });
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    for (const driver of [...this.#drivers.values()]) driver.fail(this.#death);
    return this.#death;
  }
}

/** An error that Rust throws on purpose: a plain object. Every other exception out of wasm is a trap. */
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

/** Returns the error class that belongs to a failure. */
export function asError({ class: className, code, message, ...details }: Failure): EmendError {
  return makeError(className, code, message, details);
}
