/**
 * Notices changes that wait for a call of the environment which does not end.
 *
 * Changes of files happen one after another. A method of the environment that calls the agent and awaits a change waits
 * for itself: the change that called the method must end first. No platform tells who calls, so time decides.
 */

import { BusyError } from "../errors.js";

/** Time between two looks, in milliseconds. */
const LOOK_MS = 1_000;

/** Number of looks after which a change is given up. Each one found the same call pending and the change waiting. */
const LOOKS_MAX = 10;

interface Call {
  operation: string;
  path: string;
  /** The run or change that made the call. */
  owner: object | undefined;
}

/** The pending calls of one environment. */
export class Stall {
  readonly #pending = new Set<Call>();
  /** Number of calls that each owner has begun or ended. */
  readonly #moves = new WeakMap<object, number>();

  /** Records a call. Returns the function that records its end. */
  begin(operation: string, path: string, owner: object | undefined): () => void {
    const call = { operation, path, owner };
    // The user may take any time for a question about permissions.
    if (operation !== "initialize") this.#pending.add(call);
    this.#move(owner);
    return () => {
      this.#pending.delete(call);
      this.#move(owner);
    };
  }

  /**
   * Watches a change until the returned function is called. Calls `giveUp` if the change makes no call while one call of
   * another owner does not end: it waits for its turn.
   */
  watch(change: object, giveUp: (error: BusyError) => void): () => void {
    let waitsFor = new Set<Call>();
    let moves = this.#moves.get(change);
    let looks = 0;
    const look = (): void => {
      const others = new Set([...this.#pending].filter(({ owner }) => owner !== change));
      const isIdle = others.size === this.#pending.size && this.#moves.get(change) === moves;
      const same = new Set([...waitsFor].filter((call) => others.has(call)));
      moves = this.#moves.get(change);
      looks = isIdle && same.size > 0 ? looks + 1 : 0;
      waitsFor = looks > 0 ? same : others;
      const [call] = same;
      timer = setTimeout(look, LOOK_MS);
      if (looks >= LOOKS_MAX && call !== undefined) giveUp(tooLong(call));
    };
    let timer = setTimeout(look, LOOK_MS);
    return () => clearTimeout(timer);
  }

  #move(owner: object | undefined): void {
    if (owner !== undefined) this.#moves.set(owner, (this.#moves.get(owner) ?? 0) + 1);
  }
}

function tooLong({ operation, path }: Call): BusyError {
  const message =
    `this change has waited ${(LOOKS_MAX * LOOK_MS) / 1_000} s for another one, in which \`${operation}\` of the ` +
    `environment does not end (${JSON.stringify(path)}); nothing was changed`;
  const suggestions = [
    "do not await a change inside a method of the environment: start it after the method has returned",
    "try again",
  ];
  return new BusyError("busy", message, { retryable: true, suggestions });
}
