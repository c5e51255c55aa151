/** One run of the agent: a stream of events, and a result. */

import { CallerSignal } from "../caller-signal.js";
import type { RunHandle } from "../core.js";
import { makeError } from "../core-errors.js";
import { AbortError, BusyError, ConflictError, type EmendError } from "../errors.js";
import { glue } from "../wasm/core.js";
import type { Driver, WasmInstance } from "../wasm/instance.js";
import type { AgentEvent, EventKind } from "./events.js";
import type { MessageOptions } from "./options.js";
import { readEvent } from "./read-event.js";
import type { RunResult } from "./types.js";

/**
 * Number of unread events from which on a delta is coalesced with the delta before it. No other event is coalesced or
 * dropped.
 */
const UNREAD_MAX = 256;

/** Kinds of events that may be coalesced. */
const DELTAS: ReadonlySet<EventKind> = new Set(["ASSISTANT_TEXT_DELTA", "REASONING_DELTA"]);

/** A pending read of the next event. */
interface Reader {
  resolve(result: IteratorResult<AgentEvent, undefined>): void;
  reject(error: EmendError): void;
}

/**
 * The operations of the agent that its run uses.
 * @internal
 */
export interface RunControl {
  /** Adds a message to the run. */
  steer(text: string, options: MessageOptions): void;
  /** Calls `poll`, which advances `run`. */
  polling<T>(run: object, poll: () => T): T;
  /** Ends the wait for functions of the host that the cancelled `run` called. */
  cancelled(run: object): void;
}

/**
 * A run of the agent. Iterate over it to get its events, or only await {@link result}. It does not start before either.
 *
 * While a loop iterates over the run, the run does not advance past the last event read: a loop that pauses at
 * `TOOL_CALL_START` pauses the run before that tool runs. Leaving the loop early cancels the run.
 */
export class Run implements AsyncIterable<AgentEvent> {
  readonly #wasm: WasmInstance;
  readonly #handle: RunHandle | undefined;
  readonly #task: number | undefined;
  readonly #signal: CallerSignal;
  readonly #control: RunControl;
  readonly #drivers: Set<Driver>;
  readonly #unread: AgentEvent[] = [];
  readonly #readers: Reader[] = [];
  readonly #outcome: RunResult = {
    text: "",
    reason: "error",
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  };
  readonly #result: Promise<RunResult>;
  #settle!: { resolve: (result: RunResult) => void; reject: (error: EmendError) => void };
  #failure: EmendError | undefined;
  #ended = false;
  #iterated = false;
  #advancesAlone = false;

  /** @internal */
  constructor(wasm: WasmInstance, start: () => RunHandle, drivers: Set<Driver>, signal: unknown, control: RunControl) {
    this.#wasm = wasm;
    this.#control = control;
    this.#drivers = drivers;
    // A wrong signal is rejected before the core starts: a started run that nobody drives would never end.
    this.#signal = new CallerSignal(signal);
    this.#result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A failure is reported to the reader of the events or the result. A missing reader is not an unhandled rejection.
    this.#result.catch(() => {});
    if (this.#signal.aborted) {
      this.#outcome.reason = "aborted";
      this.#end();
      return;
    }
    this.#signal.listen(() => this.cancel());
    try {
      const handle = wasm.call(start);
      this.#handle = handle;
      this.#task = wasm.call(() => handle.id);
    } catch (error) {
      this.#signal.stop();
      throw error;
    }
    drivers.add(this.#driver);
    wasm.drive(this.#task, this.#driver);
  }

  /**
   * The result of the run. A provider's failure is its `error`. The promise rejects only if the core panicked or the
   * agent was closed.
   *
   * Reading this property before the events makes the run advance without a reader. The events can still be iterated
   * over.
   */
  get result(): Promise<RunResult> {
    if (!this.#iterated) this.#advanceAlone();
    return this.#result;
  }

  /** @internal */
  get isActive(): boolean {
    return !this.#ended;
  }

  /**
   * Whether nothing has advanced the run yet.
   * @internal
   */
  get isUnread(): boolean {
    return !this.#ended && !this.#iterated && !this.#advancesAlone;
  }

  /**
   * Sends the model a message during the run. The model sees it after the current tool calls, or after the answer that
   * it is writing. Use {@link Agent.followUp} for a message that can wait until the task is done.
   *
   * @throws {EmendError} with code `conflict` if the run has ended, `invalid_argument` if the text is empty,
   *   `unsupported` if the model does not take an image.
   */
  steer(text: string, options: MessageOptions = {}): void {
    if (this.#ended) throw new ConflictError("conflict", "the run has ended; start a new one with `agent.run`");
    this.#control.steer(text, options);
  }

  /** Cancels the run. Its last event is `PROCESSING_END`. */
  cancel(): void {
    const handle = this.#handle;
    if (this.#ended || this.#wasm.isDead || handle === undefined) return;
    this.#wasm.call(() => handle.cancel());
    this.#control.cancelled(this);
    this.#advanceAlone();
  }

  /**
   * Iterates over the events. The iteration ends after `PROCESSING_END`.
   *
   * @throws {AbortError} after the last event, if the signal cancelled the run.
   * @throws {BusyError} if the events are already being read.
   */
  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    if (this.#iterated)
      throw new BusyError("busy", "the events of a run can be read only once; use `agent.events()` for more readers");
    this.#iterated = true;
    return {
      next: () =>
        new Promise((resolve, reject) => {
          this.#readers.push({ resolve, reject });
          this.#advance();
        }),
      return: async () => {
        this.cancel();
        await this.#result.catch(() => {});
        this.#unread.length = 0;
        this.#failure = undefined;
        return { done: true, value: undefined };
      },
    };
  }

  readonly #driver: Driver = {
    step: () => this.#advance(),
    fail: (error) => {
      this.#end(error);
      this.#deliver();
    },
  };

  #advanceAlone(): void {
    this.#advancesAlone = true;
    this.#advance();
  }

  /** Advances the run as far as events are requested. */
  #advance(): void {
    try {
      this.#deliver();
      while (!this.#ended && (this.#advancesAlone || this.#readers.length > 0)) {
        const text = this.#control.polling(this, () => this.#wasm.call(() => this.#handle!.poll()));
        if (text === undefined) return;
        if (text === "") this.#end();
        else this.#take(readEvent(text));
        this.#deliver();
      }
    } catch (error) {
      this.#driver.fail(error as EmendError);
    }
  }

  #take(event: AgentEvent): void {
    this.#record(event);
    const last = this.#unread.at(-1);
    if (this.#unread.length >= UNREAD_MAX && last?.kind === event.kind && DELTAS.has(event.kind)) {
      const { delta } = last.data as { delta: string };
      const joined = { delta: delta + (event.data as { delta: string }).delta };
      this.#unread[this.#unread.length - 1] = { ...event, data: joined } as AgentEvent;
    } else {
      this.#unread.push(event);
    }
  }

  /** Records the parts of {@link result}. */
  #record(event: AgentEvent): void {
    switch (event.kind) {
      case "TOOL_CALL_START":
      case "USER_INPUT":
      case "STEERING_INJECTED":
        this.#outcome.text = "";
        break;
      case "ASSISTANT_TEXT_END":
        this.#outcome.text += event.data.text;
        break;
      case "ERROR": {
        const { code, message, suggestions, data } = event.data;
        const className = this.#wasm.call(() => glue.errorClass(code));
        this.#outcome.error = makeError(className, code, message, { suggestions, data });
        break;
      }
      case "PROCESSING_END":
        this.#outcome.reason = event.data.reason;
        this.#outcome.usage = event.data.usage;
        break;
      default:
        break;
    }
  }

  #deliver(): void {
    while (this.#readers.length > 0) {
      const event = this.#unread.shift();
      if (event === undefined && !this.#ended) return;
      const reader = this.#readers.shift()!;
      if (event !== undefined) {
        reader.resolve({ done: false, value: event });
        continue;
      }
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure === undefined) reader.resolve({ done: true, value: undefined });
      else reader.reject(failure);
    }
  }

  #end(failure?: EmendError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure ?? this.#abortError();
    this.#drivers.delete(this.#driver);
    // The result settles before anything that may fail.
    if (failure === undefined) this.#settle.resolve(this.#outcome);
    else this.#settle.reject(failure);
    this.#signal.stop();
    if (this.#handle !== undefined) this.#wasm.release(this.#handle, this.#task);
  }

  #abortError(): AbortError | undefined {
    if (!this.#signal.aborted || this.#outcome.reason !== "aborted") return undefined;
    return new AbortError("aborted", "the run was cancelled", { cause: this.#signal.reason });
  }
}
