/**
 * The lines that the user edited inside a pending hunk, and what can become of them.
 *
 * Such a line has words of the assistant that are not accepted, and words of the user that must not be lost. The user
 * chooses one of up to four results, which are shown as text.
 */
import { diff } from "@codemirror/merge";
import { ChangeSet } from "@codemirror/state";
import type { Hunk, HunkLine } from "./engine.js";
import { dominantBreak, splitBreaks } from "./lines.js";
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

/** Describes a hunk with `keptByUser`. `written` is its text before the user edited it, if known. */
export function keptHunk(path: string, hunk: Hunk, written: Written | undefined): KeptHunk {
  const first = hunk.lines.findIndex((line) => line.kind !== "context");
  const last = hunk.lines.findLastIndex((line) => line.kind !== "context");
  const after = hunk.lines.slice(last + 1).map((line) => line.text);
  const end = endOfMine(after, written?.next);
  const inside = hunk.lines.slice(Math.max(first, 0), last + 1 + (end ?? after.length));
  const visible = inside.filter((line) => line.kind !== "removed");
  const removed = inside.filter((line) => line.kind === "removed");
  const keep = visible.map((line) => line.text).join("");
  const drop = removed.map((line) => line.text).join("");
  // Without an old line there is nothing to put the edit on.
  const isWhole = end !== undefined && written !== undefined;
  const old = isWhole && drop !== "" ? rebased(written.text, drop, keep) : undefined;
  const mine = ownLines(visible, removed, written);
  return {
    id: hunk.id,
    path,
    line: visible[0]?.newNumber ?? hunk.newStart,
    lineCount: visible.length,
    texts: {
      keep,
      drop,
      ...(mine !== keep && mine !== drop && { mine }),
      ...(old !== undefined && old !== keep && { old }),
    },
  };
}

/**
 * Returns the user's lines of a change with the old lines in the place of the assistant's. Where the change had as many lines
 * as the old text, a line of the user takes the place of the one at the same position; else all old lines return, before those
 * of the user.
 */
export function ownLines(
  visible: readonly Pick<HunkLine, "kind" | "text">[],
  removed: readonly Pick<HunkLine, "text">[],
  written: Pick<Written, "text"> | undefined,
): string {
  const old = removed.map((line) => line.text);
  const own = visible.filter((line) => line.kind !== "added").map((line) => line.text);
  const theirs = written === undefined ? visible.map((line) => line.text) : linesOf(written.text);
  if (theirs.length !== old.length) return [...old, ...own].join("");
  const result: string[] = [];
  let [at, block]: [number, string[]] = [0, []];
  // The user's lines take the place of those before `end`; without such lines, these were only removed.
  const close = (end: number): void => {
    result.push(...(block.length > 0 ? block : old.slice(at, end)));
    block = [];
  };
  for (const { kind, text } of visible) {
    const found = kind === "added" ? theirs.indexOf(text, at) : -1;
    if (found < 0) {
      block.push(text);
      continue;
    }
    close(found);
    result.push(...old.slice(found, found + 1));
    at = found + 1;
  }
  close(old.length);
  return result.join("");
}

/** Returns the lines of a text with their line endings. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
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
  const { line, lineCount } = keptHunk("", hunk, written);
  const added = new Set(hunk.lines.flatMap((each) => (each.kind === "added" ? [each.newNumber] : [])));
  const numbers = Array.from({ length: lineCount }, (_, index) => line + index);
  return new Set(numbers.filter((number) => !added.has(number)));
}

const NONE: ReadonlySet<number> = new Set();

/**
 * Applies the changes from `before` to `mine` to `old`. Its lines get the line ending of `old`. Returns undefined if the changes
 * are of characters that differ in `old`: the result would be letters of both.
 */
export function rebased(beforeText: string, oldText: string, mineText: string): string | undefined {
  const [before, mine] = [splitBreaks(beforeText).text, splitBreaks(mineText).text];
  const { text: old, breaks } = splitBreaks(oldText);
  const [toOld, toMine] = [changes(before, old), changes(before, mine)];
  if (toMine.some((own) => toOld.some((other) => own.from < other.to && other.from < own.to))) return undefined;
  const theirs = ChangeSet.of(toOld, before.length);
  const ours = ChangeSet.of(toMine, before.length);
  const shown = ours.map(theirs, true);
  let [text, at] = ["", 0];
  shown.iterChanges((from, to, _fromB, _toB, inserted) => {
    text += old.slice(at, from) + inserted.toString();
    at = to;
  }, true);
  return (text + old.slice(at)).replaceAll("\n", dominantBreak(breaks));
}

function changes(before: string, after: string) {
  return diff(before, after, { scanLimit: 500, timeout: 40 }).map((change) => ({
    from: change.fromA,
    to: change.toA,
    insert: after.slice(change.fromB, change.toB),
  }));
}

/** Returns `text` with `count` lines from line `line` on replaced by `lines`. */
export function replaceLines(text: string, line: number, count: number, lines: string): string {
  const starts = [0];
  for (const found of text.matchAll(/\r\n?|\n/g)) starts.push(found.index + found[0].length);
  const from = starts[line - 1] ?? text.length;
  const to = starts[line - 1 + count] ?? text.length;
  return text.slice(0, from) + lines + text.slice(to);
}
