/** The difference of two texts by lines, by Myers' algorithm. */

import { trimmed } from "./text-changes.js";
import type { TextChange } from "./types.js";

/** Number of differing lines above which the differing part counts as one change. */
const DIFFERENCES_MAX = 1_000;

/** A range of lines of the old text that a range of lines of the new text replaces, as indices from 0. */
interface Replaced {
  readonly old: readonly [from: number, to: number];
  readonly now: readonly [from: number, to: number];
}

/** Returns the changes of whole lines from `old` to `now`. A line ends with its `\n`. */
export function lineChanges(old: string, now: string): TextChange[] {
  if (old === now) return [];
  const [before, after] = [linesOf(old), linesOf(now)];
  const changes: TextChange[] = [];
  let [line, at] = [0, 0];
  for (const replaced of differences(before, after)) {
    for (; line < replaced.old[0]; line++) at += before[line]!.length;
    const from = at;
    for (; line < replaced.old[1]; line++) at += before[line]!.length;
    changes.push({ from, to: at, insert: after.slice(...replaced.now).join("") });
  }
  return changes;
}

/**
 * Cuts changes that edit each of several lines into changes of single lines, so that each line is joined by itself with what
 * the user typed. Lines that have little in common with those at their place may have moved, and stay one change.
 */
export function byLine(old: string, changes: readonly TextChange[]): TextChange[] {
  return changes.flatMap((change) => {
    const [before, after] = [linesOf(old.slice(change.from, change.to)), linesOf(change.insert)];
    const isEdited = before.length === after.length && before.every((line, index) => areAlike(line, after[index]!));
    if (!isEdited || before.length < 2) return change;
    let at = change.from;
    return before.flatMap((line, index) => {
      const one = { from: at, to: at + line.length, insert: after[index]! };
      at = one.to;
      return line === one.insert ? [] : one;
    });
  });
}

/** Returns whether at least half of a line is at the beginning or the end of the other one, too. */
function areAlike(line: string, other: string): boolean {
  const change = trimmed(0, line, other);
  if (change === undefined) return true;
  const differing = Math.max(change.to - change.from, change.insert.length);
  return differing * 2 <= Math.max(line.trim().length, other.trim().length);
}

/** Returns the characters that differ in each of the changes of `old`. Lines that correspond are compared one by one. */
export function smallest(old: string, changes: readonly TextChange[]): TextChange[] {
  return changes.flatMap(({ from, to, insert }) => {
    const [before, after] = [linesOf(old.slice(from, to)), linesOf(insert)];
    if (before.length !== after.length) return trimmed(from, old.slice(from, to), insert) ?? [];
    let at = from;
    return before.flatMap((line, index) => {
      const change = trimmed(at, line, after[index]!);
      at += line.length;
      return change ?? [];
    });
  });
}

export function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function differences(old: readonly string[], now: readonly string[]): Replaced[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const found: Replaced[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...(commonLines(a, b) ?? []), [a.length, b.length] as const]) {
    if (x > i || y > j) found.push({ old: [start + i, start + x], now: [start + j, start + y] });
    [i, j] = [x + 1, y + 1];
  }
  return found;
}

/** Returns the pairs of equal lines of a shortest edit script, or undefined if there are too many differences. */
function commonLines(a: readonly string[], b: readonly string[]): (readonly [number, number])[] | undefined {
  const most = Math.min(a.length + b.length, DIFFERENCES_MAX);
  // `reach[k + most + 1]` is the furthest line of `a` on diagonal `k`.
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice(most + 1 - d - 1, most + 1 + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const at = k + most + 1;
      const down = k === -d || (k !== d && reach[at - 1]! < reach[at + 1]!);
      let x = down ? reach[at + 1]! : reach[at - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[at] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a.length, b.length, trace);
    }
  }
  return undefined;
}

/** Follows the trace from the end. `trace[d]` holds the reach before step `d`, from diagonal `-d - 1` on. */
function walkBack(endX: number, endY: number, trace: readonly Int32Array[]): (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  let [x, y] = [endX, endY];
  for (let d = trace.length - 1; d > 0; d--) {
    const reached = (k: number): number => trace[d]![k + d + 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && reached(k - 1) < reached(k + 1));
    const before = down ? k + 1 : k - 1;
    const [fromX, fromY] = [reached(before), reached(before) - before];
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  while (x > 0 && y > 0) pairs.push([--x, --y]);
  return pairs.reverse();
}
