/** The user's steps, as Undo takes them. */
import type { Step } from "./protocol.js";

/** Returns the steps with another one, which takes the undone ones away. One that `joins` becomes a part of the last step. */
export function withStep<Each extends Step>(done: readonly Each[], step: Each): { done: Each[]; undone: Each[] } {
  const last = done.at(-1);
  if (!step.joins || last === undefined) return { done: [...done, step], undone: [] };
  return { done: [...done.slice(0, -1), { ...last, count: (last.count ?? 1) + (step.count ?? 1) }], undone: [] };
}
