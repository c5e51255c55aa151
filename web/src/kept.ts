/**
 * The lines that the user edited inside a pending hunk, and where they are.
 *
 * Such a line has words of the assistant that are not accepted, and words of the user that must not be lost. The user
 * chooses one of up to four results, which are shown as text: `kept-texts.ts` makes them when they are asked for.
 */
import type { Hunk, HunkLine } from "./engine.js";
import { type Written, writtenOf } from "./written.js";

/** A choice for the user's lines in a hunk. */
export type Outcome = "keep" | "mine" | "old" | "drop";

/** A pending hunk in which the user has edited lines. */
export interface KeptHunk {
  readonly id: string;
  readonly path: string;
  /** First of the user's lines in the visible text, from 1. */
  readonly line: number;
  /** Number of visible lines from there on that the choice replaces. */
  readonly lineCount: number;
  /**
   * The text of each outcome. `mine` has the user's lines and the old ones of all others; it is missing if it is the same as
   * another. `old` is missing if there is none, or the assistant's text is not known.
   */
  readonly texts: Readonly<Record<"keep" | "drop", string>> & { readonly mine?: string; readonly old?: string };
}

/** The lines of a hunk from its first changed line to the last one of the user. */
export interface KeptLines {
  readonly visible: readonly HunkLine[];
  readonly removed: readonly HunkLine[];
  /** First of the visible lines in the visible text, from 1. */
  readonly line: number;
  /** Whether the last line of the user is among them. */
  readonly isWhole: boolean;
}

/** Returns the lines of a hunk with `keptByUser`. `written` is its text before the user edited it, if known. */
export function keptLines(hunk: Hunk, written: Written | undefined): KeptLines {
  const first = hunk.lines.findIndex((line) => line.kind !== "context");
  const last = hunk.lines.findLastIndex((line) => line.kind !== "context");
  const after = hunk.lines.slice(last + 1).map((line) => line.text);
  const end = endOfMine(after, written?.next);
  const inside = hunk.lines.slice(Math.max(first, 0), last + 1 + (end ?? after.length));
  const visible = inside.filter((line) => line.kind !== "removed");
  const removed = inside.filter((line) => line.kind === "removed");
  return { visible, removed, line: visible[0]?.newNumber ?? hunk.newStart, isWhole: end !== undefined };
}

/**
 * Returns the number of the user's lines at the start of `after`, which goes on with the unchanged lines `next`;
 * undefined if the end of the user's lines is not among them. Without `next`, one line is the user's.
 */
function endOfMine(after: readonly string[], next: readonly string[] | undefined): number | undefined {
  if (next === undefined) return Math.min(1, after.length);
  if (next.length === 0) return after.length;
  for (let at = 0; at < after.length; at++) {
    if (after.slice(at, at + next.length).every((text, index) => text === next[index])) return at;
  }
  return undefined;
}

/** Returns the line numbers in the visible text of the lines that the user wrote inside a hunk. */
export function userLines(hunk: Hunk, written = writtenOf(hunk.id)): ReadonlySet<number> {
  if (!hunk.keptByUser) return NONE;
  const { visible, line } = keptLines(hunk, written);
  const added = new Set(hunk.lines.flatMap((each) => (each.kind === "added" ? [each.newNumber] : [])));
  const numbers = visible.map((_, index) => line + index);
  return new Set(numbers.filter((number) => !added.has(number)));
}

const NONE: ReadonlySet<number> = new Set();

/** Returns `text` with `count` lines from line `line` on replaced by `lines`. */
export function replaceLines(text: string, line: number, count: number, lines: string): string {
  const starts = [0];
  for (const found of text.matchAll(/\r\n?|\n/g)) starts.push(found.index + found[0].length);
  const from = starts[line - 1] ?? text.length;
  const to = starts[line - 1 + count] ?? text.length;
  return text.slice(0, from) + lines + text.slice(to);
}
