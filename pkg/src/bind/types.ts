/** Public types of {@link bindBuffer}: what a host's buffer must offer, and what it gets. */

import type { EmendError } from "../errors.js";

/** A replaced range of a text: `insert` takes the place of the text between two indices of UTF-16 code units. */
export interface TextChange {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/**
 * The reason of a change: an edit of the agent, a decision of the user (accept, reject, undo, redo), or a write by another
 * part of the program.
 */
export type Cause = "agent" | "decision" | "other";

/** A change of the file that the buffer must carry out. */
export interface BufferTransaction {
  /**
   * The changes, in order and without overlap. All positions are those before the transaction. A decision that changes
   * no text has none.
   */
  readonly changes: readonly TextChange[];
  /** The whole text after the transaction, for hosts that cannot carry out changes of ranges. */
  readonly text: string;
  readonly cause: Cause;
}

/** Facts about changes of the user that only the host knows. */
export interface ReportOptions {
  /**
   * The user took this transaction back with the undo of the host. A decision that is the agent's last step is then
   * undone with `agent.undo`: its hunks are pending again. All else is an edit of the user.
   */
  readonly reverts?: BufferTransaction | undefined;
  /** The user repeated this transaction with the redo of the host. */
  readonly repeats?: BufferTransaction | undefined;
}

/**
 * Reports what the user changed in the buffer. The positions are those before all of the changes, as in
 * {@link BufferTransaction.changes}. Without changes, the binding compares the whole text.
 */
export type Report = (changes?: readonly TextChange[], options?: ReportOptions) => void;

/** A text buffer of the host: an editor, a text field or a document. */
export interface TextBuffer {
  /** Returns the whole text. */
  read(): string;
  /**
   * Changes the text, without an own report of it. The binding ignores reports during this call. A host that reports
   * later marks the transaction, and does not report it.
   */
  apply(transaction: BufferTransaction): void;
  /** Registers the function that the host calls after each change by the user. Returns the function that ends it. */
  onChange(report: Report): () => void;
}

/** Options of {@link bindBuffer}. */
export interface BindOptions {
  /**
   * Whose text both sides get if they differ at the start: the file's (`"file"`, the default), or the buffer's, which is
   * then an edit of the user. A file that does not exist gets the text of the buffer.
   */
  readonly start?: "file" | "buffer" | undefined;
  /**
   * Line endings in the buffer. `"lf"`, the default, is for editors that use `\n` for every line ending: the file keeps
   * its own. `"keep"` is for buffers that hold the text of the file unchanged.
   */
  readonly lineEndings?: "lf" | "keep" | undefined;
  /** Milliseconds to wait for more typing before an edit is written. Each write is one step of `agent.undo`. Default 250. */
  readonly delay?: number | undefined;
  /**
   * Whether the buffer also gets decisions that change no text, such as accepting, so that it can record them in its
   * undo history. Default false.
   */
  readonly decisions?: boolean | undefined;
  /** Called when an edit could not be written. The text stays in the buffer, and goes out with the next edit or flush. */
  readonly onError?: ((error: EmendError) => void) | undefined;
  /** Called when the buffer has the text of the file, after a change of either. */
  readonly onSync?: (() => void) | undefined;
  /** Called when the binding ends: with an error unless it was detached. */
  readonly onEnd?: ((error?: EmendError) => void) | undefined;
}
