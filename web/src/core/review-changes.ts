/** The review as the page has it: only the files whose reviews have changed since are sent. */
import type { Agent, Review, ReviewFile } from "emend";

export class ReviewChanges {
  /** The review of each file, as JSON. */
  #sent = new Map<string, string>();
  #revision = -1;

  /** Returns the files whose reviews have changed since the last call. */
  next({ revision, files }: Review): readonly ReviewFile[] {
    if (revision === this.#revision) return [];
    const now = new Map<string, string>();
    const changed = files.filter((file) => {
      const text = JSON.stringify(file);
      now.set(file.path, text);
      return this.#sent.get(file.path) !== text;
    });
    [this.#sent, this.#revision] = [now, revision];
    return changed;
  }

  /** Reads what changed in the review of an agent since the last call. Returns the same files as {@link next}. */
  read(agent: Pick<Agent, "reviewSince">): { readonly revision: number; readonly changed: readonly ReviewFile[] } {
    const since = Math.max(this.#revision, 0);
    const review = agent.reviewSince(since);
    const { revision, files } = review;
    if (since === 0) return { revision, changed: this.next(review) };
    this.#revision = revision;
    const changed = files.filter((file) => {
      const { path, hunks } = file;
      const text = JSON.stringify(file);
      const isOther = this.#sent.get(path) !== text;
      if (hunks.length > 0) this.#sent.set(path, text);
      else this.#sent.delete(path);
      return hunks.length > 0 && isOther;
    });
    return { revision, changed };
  }

  /** The paths of the last review, sorted. */
  get paths(): readonly string[] {
    return [...this.#sent.keys()].sort();
  }

  /** Makes the next review complete. */
  reset(): void {
    [this.#sent, this.#revision] = [new Map(), -1];
  }
}

/** Returns a number that tells two states of the review apart. */
export function sumOf({ files }: Review): number {
  let sum = 0;
  for (const { path, hunks } of files) {
    for (const char of `${path}\n${hunks.map((hunk) => `${hunk.id} ${hunk.newStart} ${hunk.lines.length}`).join()}\n`) {
      sum = (Math.imul(sum, 31) + char.charCodeAt(0)) | 0;
    }
  }
  return sum;
}
