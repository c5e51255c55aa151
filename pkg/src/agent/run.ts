/** One run of the agent: its events as they come, and how it ended. */

import { AbortError, BusyError, ConflictError, type EmendError, makeError } from "./errors.js";
import type { RunHandle } from "./core.js";
import { glue } from "./core-module.js";
import type { Core, Driver } from "./instance.js";
import type { AgentEvent, EventKind, RunResult } from "./types.js";

/** Past so many unread events, a delta is joined to the one before it. Nothing else is ever dropped or joined. */
const UNREAD_MAX = 256;

/** Kinds that may be joined. */
const DELTAS: ReadonlySet<EventKind> = new Set(["ASSISTANT_TEXT_DELTA", "REASONING_DELTA"]);

/** Someone who waits for the next event. */
interface Reader {
  resolve(result: IteratorResult<AgentEvent, undefined>): void;
  reject(error: EmendError): void;
}

/** What a run asks of its agent. */
interface RunsAgent {
  /** Puts a message into the run. */
  say(text: string): void;
  /** Waits no longer for what a host has been asked to read. */
  giveUp(): void;
}

/**
 * A run of the agent. Iterate over it for its events, or only await {@link result}; until one of both it waits.
 *
 * While it is iterated over, it goes no further than the reader: whoever stops reading at `TOOL_CALL_START` stops the
 * run before that tool runs. Leaving the loop early cancels it.
 */
export class Run implements AsyncIterable<AgentEvent> {
  readonly #core: Core;
  readonly #handle: RunHandle | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #agent: RunsAgent;
  readonly #onAbort = (): void => this.cancel();
  readonly #drivers: Set<Driver>;
  readonly #unread: AgentEvent[] = [];
  readonly #readers: Reader[] = [];
  readonly #outcome: RunResult = { text: "", reason: "error", usage: { input_tokens: 0, output_tokens: 0 } };
  readonly #result: Promise<RunResult>;
  #settle!: { resolve: (result: RunResult) => void; reject: (error: EmendError) => void };
  #failure: EmendError | undefined;
  #ended = false;
  #iterated = false;
  #drivesItself = false;

  /** @internal */
  constructor(
    core: Core,
    start: () => RunHandle,
    drivers: Set<Driver>,
    signal: AbortSignal | undefined,
    agent: RunsAgent,
  ) {
    this.#core = core;
    this.#agent = agent;
    this.#drivers = drivers;
    this.#signal = signal;
    this.#result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A failure is reported to whoever reads the events or the result; that nobody does is no error of its own.
    this.#result.catch(() => {});
    if (signal?.aborted) {
      this.#outcome.reason = "aborted";
      this.#end();
      return;
    }
    this.#handle = core.call(start);
    signal?.addEventListener("abort", this.#onAbort);
    drivers.add(this.#driver);
    core.drive(core.call(() => this.#handle!.id), this.#driver);
  }

  /**
   * How the run ended. A provider's failure is in its `error`; it rejects only if the core stopped or the agent was
   * closed. Read before the events are, it makes the run go on by itself; they can still be iterated over.
   */
  get result(): Promise<RunResult> {
    if (!this.#iterated) this.#driveItself();
    return this.#result;
  }

  /** @internal */
  get isActive(): boolean {
    return !this.#ended;
  }

  /**
   * Tells the model something while it works: it reads it after the calls that are under way, or after the answer that it
   * is writing. For what can wait until the task is done, see {@link Agent.followUp}.
   *
   * @throws {EmendError} with code `conflict` if the run is over, `invalid_argument` if the text is empty.
   */
  steer(text: string): void {
    if (this.#ended) throw new ConflictError("conflict", "the run is over; give the agent a new task");
    this.#agent.say(text);
  }

  /** Asks the run to stop. Its events end with `PROCESSING_END`. */
  cancel(): void {
    if (this.#ended || this.#core.isDead) return;
    this.#core.call(() => this.#handle?.cancel());
    this.#agent.giveUp();
    this.#driveItself();
  }

  /**
   * Iterates over the events; ends after `PROCESSING_END`.
   *
   * @throws {AbortError} after the last event, if the signal cancelled the run.
   * @throws {BusyError} if the events are read elsewhere already.
   */
  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    if (this.#iterated) throw new BusyError("busy", "the events of a run can be read once");
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

  #driveItself(): void {
    this.#drivesItself = true;
    this.#advance();
  }

  /** Goes on as far as someone wants to know. */
  #advance(): void {
    try {
      this.#deliver();
      while (!this.#ended && (this.#drivesItself || this.#readers.length > 0)) {
        const text = this.#core.call(() => this.#handle!.poll());
        if (text === undefined) return;
        if (text === "") this.#end();
        else this.#take(JSON.parse(text) as AgentEvent);
        this.#deliver();
      }
    } catch (error) {
      this.#driver.fail(error as EmendError);
    }
  }

  #take(event: AgentEvent): void {
    this.#note(event);
    const last = this.#unread.at(-1);
    if (this.#unread.length >= UNREAD_MAX && last?.kind === event.kind && DELTAS.has(event.kind)) {
      const { delta } = last.data as { delta: string };
      const joined = { delta: delta + (event.data as { delta: string }).delta };
      this.#unread[this.#unread.length - 1] = { ...event, data: joined } as AgentEvent;
    } else {
      this.#unread.push(event);
    }
  }

  /** Keeps what {@link result} will say. */
  #note(event: AgentEvent): void {
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
        const className = this.#core.call(() => glue.errorClass(code));
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
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (this.#handle !== undefined && !this.#core.isDead) {
      const handle = this.#handle;
      this.#core.forget(this.#core.call(() => handle.id));
      this.#core.call(() => handle.free());
    }
    this.#failure = failure ?? this.#abortError();
    this.#drivers.delete(this.#driver);
    if (failure === undefined) this.#settle.resolve(this.#outcome);
    else this.#settle.reject(failure);
  }

  #abortError(): AbortError | undefined {
    if (!this.#signal?.aborted || this.#outcome.reason !== "aborted") return undefined;
    return new AbortError("aborted", "the run was cancelled", { cause: this.#signal.reason });
  }
}
