/**
 * The texts of the files of a project over time: before each task, at its end, at each save, and the user's edits between.
 *
 * The engine keeps the present state only. With these texts an earlier version is shown without repeating the record. A file
 * that nothing has changed has no entry: its text is the opened one. `earlier.ts` reads them.
 */

/** The author of a text: the user, or the assistant and decisions on its changes. */
export type By = "user" | "other";

export interface Entry {
  text: string | null;
  readonly by: By;
  /** Twice the number of tasks that had ended, and one more while a task runs. */
  readonly phase: number;
  readonly time: number;
  saved: number | null;
}

export class TextHistory {
  /** The entries of each file that ever changed, oldest first. */
  readonly files = new Map<string, Entry[]>();

  /** `opened` returns the text with which a file was opened. */
  constructor(readonly opened: (path: string) => string | null) {}

  /** Notes the present text of a file. Consecutive texts of one author in one phase are one. */
  note(path: string, text: string | null, by: By, phase: number, time: number): void {
    const list = this.files.get(path) ?? [];
    const last = list.at(-1);
    if ((last ? last.text : this.opened(path)) === text) return;
    if (last && last.by === by && last.phase === phase && last.saved === null) last.text = text;
    else list.push({ text, by, phase, time, saved: null });
    this.files.set(path, list);
  }

  /** Notes that the present text is on the disk. */
  noteSaved(path: string, time: number): void {
    const last = this.files.get(path)?.at(-1);
    if (last) last.saved = time;
  }

  /** Gives a file that takes the place of another one its past. */
  moved(from: string, to: string): void {
    const list = this.files.get(from);
    const text = this.opened(from);
    const past: readonly Entry[] = text === null ? [] : [{ text, by: "other", phase: 0, time: 0, saved: null }];
    this.files.set(to, [...past, ...(list ?? []).map((entry) => ({ ...entry }))]);
  }
}
