/** The review as the page has it: only the files whose reviews have changed since are sent. */
import type { Review, ReviewFile } from "emend";

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

  /** The paths of the last review. */
  get paths(): readonly string[] {
    return [...this.#sent.keys()];
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
