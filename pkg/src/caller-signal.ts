/** The `signal` option of a call. */

import { fieldOf } from "./exceptions.js";
import { invalid } from "./validate.js";

/**
 * A caller's `AbortSignal`. It may be of another realm or a polyfill, so its shape is checked.
 */
export class CallerSignal {
  readonly #signal: AbortSignal | undefined;
  #onAbort: (() => void) | undefined;

  /** @throws {EmendError} with code `invalid_argument` if `signal` is not a signal. */
  constructor(signal: unknown) {
    if (signal === undefined || signal === null) return;
    const { aborted, addEventListener, removeEventListener } = Object(signal) as Partial<AbortSignal>;
    if (
      typeof aborted !== "boolean" ||
      typeof addEventListener !== "function" ||
      typeof removeEventListener !== "function"
    ) {
      const hint = fieldOf(signal, "signal") === undefined ? "" : "; pass the `signal` of the controller";
      throw invalid(`\`signal\` must be an AbortSignal${hint}`);
    }
    this.#signal = signal as AbortSignal;
  }

  /** Calls `onAbort` when the signal fires, until {@link stop}. May throw if the signal is a polyfill. */
  listen(onAbort: () => void): void {
    this.#onAbort = onAbort;
    this.#signal?.addEventListener("abort", onAbort);
  }

  /** Whether the signal has fired. */
  get aborted(): boolean {
    return fieldOf(this.#signal, "aborted") === true;
  }

  /** The reason of the signal. */
  get reason(): unknown {
    return fieldOf(this.#signal, "reason");
  }

  stop(): void {
    try {
      if (this.#onAbort !== undefined) this.#signal?.removeEventListener("abort", this.#onAbort);
    } catch {
      // The polyfill's own problem. The listener does nothing after the end.
    }
  }
}
