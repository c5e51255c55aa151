/** Aligns three texts of a file: before a task, by the assistant, and now. */
import { type DiffRow, lineDiff, linesOf } from "./line-diff.js";

/** A line of one of the texts. A missing line is null: another text has one in its row. */
export interface Cell {
  readonly number: number;
  readonly text: string;
  /** Whether the line differs from the text before in time. */
  readonly changed: boolean;
}

/** One row: the lines of the three texts. */
export type ThreeRow = readonly [before: Cell | null, after: Cell | null, now: Cell | null];

/** Unchanged rows that are shown before and after a change. */
const CONTEXT = 3;

/** A range of lines of the middle text and the range that another text has in its place, from 0. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly otherFrom: number;
  readonly otherTo: number;
}

/** Returns the rows in parts, each with a few unchanged rows around its changes. */
export function threeWay(
  before: string | null,
  after: string | null,
  now: string | null,
): readonly (readonly ThreeRow[])[] {
  const [old, middle, last] = [linesOf(before), linesOf(after), linesOf(now)];
  const [left, right] = [ranges(lineDiff(after, before, 0)), ranges(lineDiff(after, now, 0))];
  const rows: ThreeRow[] = [];
  const isChanged: boolean[] = [];
  let [a, b, c] = [0, 0, 0];
  for (const { from, to } of joined([...left, ...right])) {
    for (; b < from; a++, b++, c++) {
      rows.push([cell(old, a, false), cell(middle, b, false), cell(last, c, false)]);
      isChanged.push(false);
    }
    const [toA, toC] = [a + lengthIn(left, from, to), c + lengthIn(right, from, to)];
    const block = aligned(old.slice(a, toA), middle.slice(from, to), last.slice(c, toC));
    for (const [x, y, z] of block) {
      const before =
        x === null
          ? null
          : { number: a + x + 1, text: old[a + x]!, changed: y === null || old[a + x] !== middle[b + y] };
      const own = y === null ? null : middle[b + y]!;
      rows.push([
        before,
        y === null ? null : { number: b + y + 1, text: own!, changed: before === null || before.text !== own },
        z === null ? null : { number: c + z + 1, text: last[c + z]!, changed: own === null || own !== last[c + z] },
      ]);
      isChanged.push(true);
    }
    [a, b, c] = [toA, to, toC];
  }
  for (; b < middle.length; a++, b++, c++) {
    rows.push([cell(old, a, false), cell(middle, b, false), cell(last, c, false)]);
    isChanged.push(false);
  }
  return parts(rows, isChanged);
}

/** Pairs the lines of a changed block by their positions: `null` where a text has none. */
function aligned(
  old: readonly string[],
  middle: readonly string[],
  last: readonly string[],
): readonly (readonly [number | null, number | null, number | null])[] {
  const count = Math.max(old.length, middle.length, last.length);
  const at = (lines: readonly string[], index: number): number | null => (index < lines.length ? index : null);
  return Array.from({ length: count }, (_, index) => [at(old, index), at(middle, index), at(last, index)] as const);
}

function cell(lines: readonly string[], index: number, changed: boolean): Cell {
  return { number: index + 1, text: lines[index] ?? "", changed };
}

/** Returns the changed ranges of a difference without unchanged lines around. */
function ranges(diff: readonly (readonly DiffRow[])[]): readonly Range[] {
  const found: Range[] = [];
  let shift = 0;
  // Parts without context touch if their changes do.
  for (const part of diff) {
    const removed = part.filter((row) => row.kind === "removed");
    const added = part.filter((row) => row.kind === "added");
    const from =
      removed[0]?.oldNumber !== undefined ? removed[0].oldNumber - 1 : (added[0]?.newNumber ?? 1) - 1 - shift;
    found.push({ from, to: from + removed.length, otherFrom: from + shift, otherTo: from + shift + added.length });
    shift += added.length - removed.length;
  }
  return found;
}

/** Joins ranges that overlap or touch. */
function joined(list: readonly Range[]): readonly { from: number; to: number }[] {
  const result: { from: number; to: number }[] = [];
  for (const { from, to } of list.toSorted((x, y) => x.from - y.from || x.to - y.to)) {
    const last = result.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else result.push({ from, to });
  }
  return result;
}

/** Returns the number of lines that another text has in place of a range of the middle one. */
function lengthIn(list: readonly Range[], from: number, to: number): number {
  const inside = list.filter((range) => range.from >= from && range.to <= to);
  return inside.reduce((sum, range) => sum + range.otherTo - range.otherFrom - (range.to - range.from), to - from);
}

function parts(rows: readonly ThreeRow[], isChanged: readonly boolean[]): readonly (readonly ThreeRow[])[] {
  const result: ThreeRow[][] = [];
  let shown = -1;
  for (const [index, changed] of isChanged.entries()) {
    if (!changed) continue;
    const start = Math.max(index - CONTEXT, shown + 1);
    if (result.length === 0 || start > shown + 1 || shown < 0) result.push([]);
    const end = Math.min(index + CONTEXT, rows.length - 1);
    const part = result.at(-1)!;
    for (let at = start; at <= end; at++) part.push(rows[at]!);
    shown = Math.max(shown, end);
  }
  return result;
}
