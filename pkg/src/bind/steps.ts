/**
 * Which decision a transaction of the buffer stands for, so that the undo of the host can undo the decision itself.
 *
 * The agent undoes its last step only. A decision after which something else was written stays: then the host's undo
 * changes the text, as an edit of the user.
 */

import type { AgentChange } from "../agent/changes.js";
import type { BufferTransaction, ReportOptions } from "./types.js";

/** A transaction that the user takes back or repeats, and the step at which that is the agent's undo or redo. */
export interface TakenStep {
  readonly transaction: BufferTransaction;
  readonly action: "undo" | "redo";
  readonly step: number;
}

export class Steps {
  #count = 0;
  /** The count after the last decision. */
  #decided = 0;
  /** The step after which a transaction is the last one, done or undone. */
  readonly #done = new WeakMap<BufferTransaction, number>();
  readonly #undone = new WeakMap<BufferTransaction, number>();

  /** Counts the steps of the user. Edits of the agent are none. */
  count(change: AgentChange): void {
    if (change.kind === "write" || change.kind === "decision") this.#count += 1;
    if (change.kind === "decision") this.#decided = this.#count;
  }

  /** Notes that a transaction shows the last decision. */
  note(transaction: BufferTransaction): void {
    this.#done.set(transaction, this.#decided);
  }

  /** Returns the step of the agent that a report of the host stands for. */
  taken({ reverts, repeats }: ReportOptions): TakenStep | undefined {
    const transaction = reverts ?? repeats;
    if (transaction === undefined) return undefined;
    const step = (reverts === undefined ? this.#undone : this.#done).get(transaction);
    return step === this.#count ? { transaction, action: reverts === undefined ? "redo" : "undo", step } : undefined;
  }

  isLast({ step }: TakenStep): boolean {
    return step === this.#count;
  }

  /** Notes that the agent has carried out the undo or redo. */
  carriedOut({ transaction, action }: TakenStep): void {
    const [now, before] = action === "undo" ? [this.#undone, this.#done] : [this.#done, this.#undone];
    before.delete(transaction);
    now.set(transaction, this.#count);
  }
}
