/** A run of an agent in a worker. */

import type { MessageOptions } from "../agent/options.js";
import type { AgentEvent, RunResult } from "../agent/types.js";
import { AbortError, BusyError, isEmendError } from "../errors.js";
import type { Called, OfferedRun } from "./protocol.js";
import type { Waiting } from "./start.js";

type Offer = Called<OfferedRun>;

/**
 * A run of an agent in a worker. As with `Agent`, it starts with the first read of its events or its result, it advances only as
 * far as its events are read, and leaving the loop cancels it.
 */
export class WorkerRun implements AsyncIterable<AgentEvent> {
  readonly #offer: Promise<Offer>;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: Waiting;
  #result: Promise<RunResult> | undefined;
  #iterated = false;

  /** @internal */
  constructor(
    start: (begin: (run: OfferedRun) => void) => Promise<void>,
    signal: AbortSignal | undefined,
    waiting: Waiting,
  ) {
    this.#signal = signal;
    this.#waiting = waiting;
    this.#offer = new Promise((resolve, reject) => {
      start((run) => resolve(run as unknown as Offer)).catch(reject);
    });
    // Reported to the reader of the events or of the result.
    this.#offer.catch(() => {});
  }

  /** The result of the run, as of `Run.result`. Reading it makes the run advance without a reader. */
  get result(): Promise<RunResult> {
    this.#result ??= this.#call((run) => run.result());
    // A missing reader is not an unhandled rejection.
    this.#result.catch(() => {});
    return this.#result;
  }

  /** Sends the model a message during the run. */
  async steer(text: string, options: MessageOptions = {}): Promise<void> {
    await this.#call((run) => run.steer(text, options));
  }

  /** Cancels the run. Its last event is `PROCESSING_END`. */
  async cancel(): Promise<void> {
    await this.#call((run) => run.cancel());
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
      next: () => this.#call((run) => run.next()),
      return: async () => {
        await this.#call((run) => run.return()).catch(() => {});
        return { done: true, value: undefined };
      },
    };
  }

  async #call<T>(work: (run: Offer) => Promise<T>): Promise<T> {
    try {
      return await this.#waiting.for(async () => work(await this.#offer));
    } catch (error) {
      // The worker has a copy of the signal's reason.
      if (this.#signal?.aborted && isEmendError(error, "aborted"))
        throw new AbortError("aborted", error.message, { cause: this.#signal.reason });
      throw error;
    }
  }
}
