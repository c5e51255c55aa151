/** The calls of tools that wait for the user's decision. */
import type { ApprovalAnswer, ApprovalRequest } from "emend";
import type { Decision } from "./journal.js";

export class Approvals {
  readonly #waiting = new Map<string, (answer: ApprovalAnswer) => void>();
  /** Repeated answers can come before their calls. */
  readonly #early = new Map<string, ApprovalAnswer>();

  /** Waits for the answer to a call. */
  readonly ask = ({ callId: call }: ApprovalRequest): Promise<ApprovalAnswer> => {
    const early = this.#early.get(call);
    this.#early.delete(call);
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((decide) => this.#waiting.set(call, decide));
  };

  answer(call: string, decision: Decision, reason: string): void {
    const answer = reason === "" ? decision : { decision, reason };
    const decide = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (decide) decide(answer);
    else this.#early.set(call, answer);
  }
}
