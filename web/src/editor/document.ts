/**
 * One open file between the editor and the engine: what each knows, and how their changes meet.
 *
 * The user's typing reaches the engine a moment later, and the agent may edit the file in between. Neither may undo
 * the other: a new text from the engine is carried over the keystrokes it has not seen yet, and those are then sent on
 * top of it. Holds no view and no timer; `view.tsx` owns those.
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

/** Marks a transaction that brings the engine's text into the editor, so that it is not sent back. */
export const fromEngine = Annotation.define<boolean>();

/** Bounds the character diff; past them the change is coarser, never wrong. */
const DIFF_LIMITS = { scanLimit: 500, timeout: 40 };

/** The user's edit on its way to the engine. */
export interface Taken {
  readonly raw: string;
  /** The engine's text the user edited. */
  readonly base: string;
  /** To call if sending failed. */
  readonly undoTake: () => void;
}

export class OpenDocument {
  /** The text the engine has, as the editor counts lines. */
  #synced: Text;
  #syncedBreaks: readonly string[];
  /** What the user typed since, over `#synced`. */
  #unsent: ChangeSet | null = null;
  /** The breaks of the editor's text. */
  #breaks: readonly string[];

  constructor(
    readonly path: string,
    raw: string,
  ) {
    const { text, breaks } = splitBreaks(raw);
    this.#synced = Text.of(text.split("\n"));
    this.#syncedBreaks = this.#breaks = breaks;
  }

  /** The text to start an editor with. */
  get initial(): Text {
    return this.#synced;
  }

  get breaks(): readonly string[] {
    return this.#breaks;
  }

  get hasUnsent(): boolean {
    return this.#unsent !== null;
  }

  /** Records what the user typed. */
  typed(changes: ChangeSet, before: Text, after: Text): void {
    if (changes.empty) return;
    this.#breaks = breaksThrough(this.#breaks, changes, before, after);
    this.#unsent = this.#unsent ? this.#unsent.compose(changes) : changes;
  }

  /** Hands out the file's text with everything typed so far, and counts it as sent. */
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
   * The transaction that brings the engine's text `raw` into an editor showing `state`; null if nothing is new.
   *
   * Its changes must be dispatched: the document counts them as shown.
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
