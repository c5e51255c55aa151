/**
 * Synchronizes one open file between the editor and the engine.
 *
 * The user's typing reaches the engine after a delay, and the agent may edit the file in between. Neither may undo the
 * other: a new text from the engine is rebased over the keystrokes that it does not contain yet, and those are then
 * sent on top of it. The view and the timer belong to `controller.ts`.
 */
import { diff } from "@codemirror/merge";
import {
  Annotation,
  ChangeSet,
  type ChangeSpec,
  type EditorState,
  Text,
  type TransactionSpec,
} from "@codemirror/state";
import { breaksThrough, joinBreaks, splitBreaks } from "../lines.js";

/** Marks transactions with text from the engine, which must not be sent back. */
export const fromEngine = Annotation.define<boolean>();

/** Limits of the character diff. Beyond them the changes are coarser but still correct. */
const DIFF_LIMITS = { scanLimit: 500, timeout: 40 };

/** An edit of the user that is being sent to the engine. */
export interface Taken {
  readonly raw: string;
  /** The text of the engine on which the edit is based. */
  readonly base: string;
  /** Restores the state before the edit was taken. Call it if sending failed. */
  readonly undoTake: () => void;
}

export class OpenDocument {
  /** The text of the engine, with `\n` as line ending. */
  #synced: Text;
  #syncedBreaks: readonly string[];
  /** Changes that the user made since `#synced`. */
  #unsent: ChangeSet | null = null;
  /** The line endings of the editor's text. */
  #breaks: readonly string[];

  constructor(
    readonly path: string,
    raw: string,
  ) {
    const { text, breaks } = splitBreaks(raw);
    this.#synced = Text.of(text.split("\n"));
    this.#syncedBreaks = this.#breaks = breaks;
  }

  /** The initial text of the editor. */
  get initial(): Text {
    return this.#synced;
  }

  get breaks(): readonly string[] {
    return this.#breaks;
  }

  get hasUnsent(): boolean {
    return this.#unsent !== null;
  }

  /** Records changes by the user. */
  typed(changes: ChangeSet, before: Text, after: Text): void {
    if (changes.empty) return;
    this.#breaks = breaksThrough(this.#breaks, changes, before, after);
    this.#unsent = this.#unsent ? this.#unsent.compose(changes) : changes;
  }

  /** Returns the file's text with typed changes that are not sent yet, and the text on which they are based. */
  unsent(doc: Text): { readonly raw: string; readonly base: string } | null {
    if (!this.#unsent) return null;
    const base = joinBreaks(this.#synced.toString(), this.#syncedBreaks);
    return { raw: joinBreaks(doc.toString(), this.#breaks), base };
  }

  /** Returns the file's text with all typed changes, and regards them as sent. */
  take(doc: Text): Taken | null {
    const sent = this.#unsent;
    if (!sent) return null;
    const [synced, syncedBreaks] = [this.#synced, this.#syncedBreaks];
    const base = joinBreaks(synced.toString(), syncedBreaks);
    this.#synced = doc;
    this.#syncedBreaks = this.#breaks;
    this.#unsent = null;
    const undoTake = (): void => {
      this.#unsent = this.#unsent ? sent.compose(this.#unsent) : sent;
      this.#synced = synced;
      this.#syncedBreaks = syncedBreaks;
    };
    return { raw: joinBreaks(doc.toString(), this.#breaks), base, undoTake };
  }

  /**
   * Returns the transaction that updates an editor in `state` with the engine's text `raw`, or null if it has no
   * changes.
   *
   * The caller must dispatch it: the document regards its changes as shown.
   */
  receive(raw: string, state: EditorState): TransactionSpec | null {
    const { text, breaks } = splitBreaks(raw);
    const old = this.#synced.toString();
    if (text === old) {
      if (!this.#unsent) this.#breaks = breaks;
      this.#syncedBreaks = breaks;
      return null;
    }
    const news = ChangeSet.of(changesBetween(old, text), old.length);
    const synced = news.apply(this.#synced);
    const unsent = this.#unsent;
    const shown = unsent ? news.map(unsent) : news;
    this.#unsent = unsent ? unsent.map(news, true) : null;
    this.#synced = synced;
    this.#syncedBreaks = breaks;
    const after = shown.apply(state.doc);
    this.#breaks = this.#unsent ? breaksThrough(breaks, this.#unsent, synced, after) : breaks;
    return { changes: shown, annotations: fromEngine.of(true) };
  }
}

function changesBetween(before: string, after: string): ChangeSpec[] {
  return diff(before, after, DIFF_LIMITS).map((change) => ({
    from: change.fromA,
    to: change.toA,
    insert: after.slice(change.fromB, change.toB),
  }));
}
