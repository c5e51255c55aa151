/** The texts of the outcomes for lines that the user edited inside a pending hunk. Loaded when the user is asked. */
import { diff, presentableDiff } from "@codemirror/merge";
import { ChangeSet } from "@codemirror/state";
import { linesOf } from "./core/rebase.js";
import type { Hunk, HunkLine } from "./engine.js";
import { type KeptHunk, keptLines } from "./kept.js";
import { dominantBreak, splitBreaks } from "./lines.js";
import { merged } from "./merged-lines.js";
import type { Written } from "./written.js";

/** Describes a hunk with `keptByUser`. `written` is its text before the user edited it, if known. */
export function keptHunk(path: string, hunk: Hunk, written: Written | undefined): KeptHunk {
  const { visible, removed, line, isWhole } = keptLines(hunk, written);
  const keep = visible.map((each) => each.text).join("");
  const drop = removed.map((each) => each.text).join("");
  // Without an old line there is nothing to put the edit on.
  const old = isWhole && written !== undefined && drop !== "" ? onOldLines(written.text, drop, keep) : undefined;
  const mine = ownLines(visible, removed, written);
  return {
    id: hunk.id,
    path,
    line,
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

/**
 * Applies the changes from `before` to `mine` to `old`, by lines where each line of `before` stands for one of `old`, and by
 * characters inside those that both changed. Returns undefined if both changed the same characters.
 */
function onOldLines(before: string, old: string, mine: string): string | undefined {
  let isMixture = false;
  const text = merged(before, mine, old, (place) => {
    const found = rebased(place.theirs.join(""), place.old.join(""), place.mine.join(""));
    isMixture ||= found === undefined;
    return linesOf(found ?? "");
  });
  return isMixture ? undefined : text;
}

/**
 * Applies the changes from `before` to `mine` to `old`. Its lines get the line ending of `old`. Returns undefined if the changes
 * are of words that differ in `old`: the result would be letters of both.
 */
export function rebased(beforeText: string, oldText: string, mineText: string): string | undefined {
  const [before, mine] = [splitBreaks(beforeText).text, splitBreaks(mineText).text];
  const { text: old, breaks } = splitBreaks(oldText);
  // By words: equal letters of different words do not belong together.
  const [toOld, toMine] = [presentableDiff(before, old, LIMITS), diff(before, mine, LIMITS)];
  if (toMine.some((own) => toOld.some((other) => own.fromA < other.toA && other.fromA < own.toA))) return undefined;
  const changes = toOld.map(({ fromA: from, toA: to, fromB, toB }) => ({ from, to, insert: old.slice(fromB, toB) }));
  const theirs = ChangeSet.of(changes, before.length);
  let [text, at] = ["", 0];
  for (const { fromA, toA, fromB, toB } of toMine) {
    const isLineEnd = fromA === before.length || before[fromA] === "\n";
    // Text that was appended to a line stays at its end, and text that was put before a word stays before it.
    const side = fromA === toA && !isLineEnd ? -1 : 1;
    text += old.slice(at, theirs.mapPos(fromA, side)) + mine.slice(fromB, toB);
    at = theirs.mapPos(toA, fromA === toA ? side : -1);
  }
  return (text + old.slice(at)).replaceAll("\n", dominantBreak(breaks));
}

const LIMITS = { scanLimit: 500, timeout: 40 };
