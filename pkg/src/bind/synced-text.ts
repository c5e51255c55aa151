/**
 * The state of one bound text: what the file and the buffer are known to contain, and what the user typed in between.
 *
 * It is plain data. The calls of the buffer and of the agent, and their order, belong to `binding.ts`.
 */

import { combine } from "./combine.js";
import { byLine, lineChanges } from "./line-diff.js";
import { type EditorText, edited, joined, split } from "./line-endings.js";
import { applyChanges, compose, trimmed } from "./text-changes.js";
import type { TextChange } from "./types.js";

/** An edit of the user on its way to the file. */
export interface Taken {
  /** The file's text with the edit. */
  readonly text: string;
  /** The file's text on which the edit is based. */
  readonly base: string;
  /** Takes the edit back: it was not written. */
  readonly restore: () => void;
}

export class SyncedText {
  /** The file's text as the buffer last got it. */
  #file: EditorText;
  /** The user's changes since. */
  #unsent: readonly TextChange[] = [];
  readonly #split: (raw: string) => EditorText;

  /** `text` is the text of the buffer. Its line endings are those of the file if `keepsEndings`. */
  constructor(text: string, keepsEndings: boolean) {
    this.#split = keepsEndings ? (raw) => ({ text: raw }) : split;
    this.#file = { text };
  }

  /** The text that the buffer has, if it reported every change. */
  get text(): string {
    return applyChanges(this.#file.text, this.#unsent);
  }

  /** The length of {@link text}. */
  get length(): number {
    return this.#unsent.reduce(
      (sum, { from, to, insert }) => sum + insert.length - (to - from),
      this.#file.text.length,
    );
  }

  get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  /** Records changes by the user. */
  typed(changes: readonly TextChange[]): void {
    this.#unsent = compose(this.#unsent, changes).filter((change) => change.to > change.from || change.insert !== "");
  }

  /** Records that the buffer has another text than expected, which counts as an edit of the user. */
  found(text: string): void {
    const change = trimmed(0, this.text, text);
    if (change !== undefined) this.typed([change]);
  }

  /** Returns the file's text with all that was typed, and regards it as written. Returns undefined if there is nothing. */
  take(): Taken | undefined {
    if (!this.hasUnsent) return undefined;
    const [file, sent] = [this.#file, this.#unsent];
    this.#file = edited(file, sent, this.text);
    this.#unsent = [];
    const restore = (): void => {
      this.#unsent = compose(sent, this.#unsent);
      this.#file = file;
    };
    return { text: joined(this.#file), base: joined(file), restore };
  }

  /** Takes in a text of the file. Returns the changes that the buffer must carry out. */
  receive(raw: string): readonly TextChange[] {
    const file = this.#split(raw);
    const changes = byLine(this.#file.text, lineChanges(this.#file.text, file.text));
    const { shown, unsent } = combine(this.#file.text, this.#unsent, changes);
    this.#file = file;
    this.#unsent = unsent;
    return shown;
  }
}
