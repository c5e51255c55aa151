/**
 * Tells which edits of the user wait for a save. An edit inside a change under review makes a line with words of the assistant
 * that are not accepted: saved at once, they would be on the server's disk without a question.
 */
import type { Hunk } from "emend";
import type { RemoteReview } from "./remote-bodies.js";

export class WaitingEdits {
  /** The files whose edits this page lets wait. */
  readonly #paths = new Set<string>();
  #review: RemoteReview = { revision: -1, files: [], unsaved: [] };

  /**
   * Returns whether the edit of `before` into `text` waits. `before` is null if the file has changed since the user saw it. An
   * edit of a file that waits already waits, too: otherwise it would save the earlier edits.
   */
  mustWait(path: string, before: string | null, text: string): boolean {
    const hunks = this.#review.files.find((file) => file.path === path)?.hunks ?? [];
    return (
      this.#review.unsaved.includes(path) || (hunks.length > 0 && (before === null || touches(hunks, before, text)))
    );
  }

  /** Takes the newest review. */
  know(review: RemoteReview): void {
    this.#review = review;
  }

  add(path: string): void {
    this.#paths.add(path);
  }

  /** Takes the newest review. Returns the files of this page that need not wait any more: no line of the user is in a change. */
  next(review: RemoteReview): readonly string[] {
    this.#review = review;
    const isMixed = (path: string): boolean =>
      review.files.some((file) => file.path === path && file.hunks.some((hunk) => hunk.keptByUser));
    const done = [...this.#paths].filter((path) => review.unsaved.includes(path) && !isMixed(path));
    for (const path of done) this.#paths.delete(path);
    return done;
  }

  /** Forgets files that the user has saved. */
  saved(paths: readonly string[]): void {
    for (const path of paths) this.#paths.delete(path);
  }
}

/** Returns whether the lines that differ overlap a change, or stand inside of it. */
function touches(hunks: readonly Hunk[], before: string, text: string): boolean {
  const [old, now] = [before.split("\n"), text.split("\n")];
  const most = Math.min(old.length, now.length);
  let from = 0;
  while (from < most && old[from] === now[from]) from += 1;
  let same = 0;
  while (same < most - from && old[old.length - 1 - same] === now[now.length - 1 - same]) same += 1;
  const to = old.length - same;
  return hunks.some(({ newStart, newLines }) => from < newStart - 1 + newLines && to > newStart - 1);
}
