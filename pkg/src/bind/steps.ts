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
  readonly action: "undo" | "redo";
  readonly step: number;
}

export class Steps {
  #count = 0;
  /** The number of the last decision. */
  #decided = 0;
  /** The user's steps in effect, by number, and those that were undone. The last one comes first to be undone or redone. */
  readonly #done: number[] = [];
  readonly #undone: number[] = [];
  /** The decision that a transaction shows. */
  readonly #decisions = new WeakMap<BufferTransaction, number>();

  /** Follows the steps of the user. Edits of the agent are none. */
  count(change: AgentChange): void {
    if (change.kind === "decision" && change.action === "undo") move(this.#done, this.#undone);
    else if (change.kind === "decision" && change.action === "redo") move(this.#undone, this.#done);
    else if (change.kind === "write" || change.kind === "decision") {
      this.#count += 1;
      this.#done.push(this.#count);
      this.#undone.length = 0;
      if (change.kind === "decision") this.#decided = this.#count;
    }
  }

  /** Notes that a transaction shows the last decision. */
  note(transaction: BufferTransaction): void {
    this.#decisions.set(transaction, this.#decided);
  }

  /** Returns the step of the agent that a report of the host stands for. */
  taken({ reverts, repeats }: ReportOptions): TakenStep | undefined {
    const transaction = reverts ?? repeats;
    const step = transaction && this.#decisions.get(transaction);
    if (step === undefined) return undefined;
    const taken: TakenStep = { action: reverts === undefined ? "redo" : "undo", step };
    return this.isLast(taken) ? taken : undefined;
  }

  isLast({ action, step }: TakenStep): boolean {
    return (action === "undo" ? this.#done : this.#undone).at(-1) === step;
  }
}

function move(from: number[], to: number[]): void {
  const last = from.pop();
  if (last !== undefined) to.push(last);
}
