/**
 * Moves an edit of the user to another text by lines.
 *
 * The engine's merge treats neighbouring changes as one. Here only changes of the same lines meet, and then the user's lines
 * win: going back to before a task shall keep the user's edits beside the assistant's lines, not the assistant's lines.
 */

/** A replaced range of lines: `lines` take the place of those from `from` up to, and without, `to`. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Returns `current` with the changes from `base` to `text`. */
export function rebase(base: string, text: string, current: string): string {
  if (base === current) return text;
  const [old, mine, theirs] = [base, text, current].map(linesOf) as [string[], string[], string[]];
  const [ours, others] = [changes(old, mine), changes(old, theirs)];
  const result: string[] = [];
  let at = 0;
  while (ours.length > 0 || others.length > 0) {
    const isOurs = others.length === 0 || (ours.length > 0 && comesFirst(ours[0]!, others[0]!));
    const change = (isOurs ? ours : others).shift()!;
    // A change of the assistant in lines that the user replaced is dropped.
    if (change.from < at || (!isOurs && ours[0] && overlaps(change, ours[0]))) continue;
    result.push(...old.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  result.push(...old.slice(at));
  return result.join("");
}

function comesFirst(a: Change, b: Change): boolean {
  return a.from < b.from || (a.from === b.from && a.to <= b.to);
}

function overlaps(a: Change, b: Change): boolean {
  return a.from < b.to && b.from < a.to;
}

export function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)|(?<=\r)(?!\n)/);
}

/** Number of differing lines above which the differing part counts as one change. */
const DIFFERENCES_MAX = 1_500;

/** Returns the changes from `a` to `b`, by Myers' algorithm without its linear refinement. */
export function changes(a: readonly string[], b: readonly string[]): Change[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [old, now] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (old.length === 0 && now.length === 0) return [];
  const kept = common(old, now);
  if (kept === null) return [{ from: start, to: start + old.length, lines: now }];
  const found: Change[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...kept, [old.length, now.length] as const]) {
    found.push(...single(start + i, start + x, now.slice(j, y)));
    [i, j] = [x + 1, y + 1];
  }
  return found;
}

/** Splits a change that replaces each line by one line, so that fewer changes meet. */
function single(from: number, to: number, lines: readonly string[]): Change[] {
  if (to === from && lines.length === 0) return [];
  if (to - from !== lines.length) return [{ from, to, lines }];
  return lines.map((line, index) => ({ from: from + index, to: from + index + 1, lines: [line] }));
}

/** Returns the pairs of equal lines of a shortest edit script, or null if there are too many differences. */
function common(a: readonly string[], b: readonly string[]): (readonly [number, number])[] | null {
  const max = Math.min(a.length + b.length, DIFFERENCES_MAX);
  const reach = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let d = 0; d <= max; d++) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a.length, b.length, trace);
    }
  }
  return null;
}

function walkBack(endX: number, endY: number, trace: readonly Map<number, number>[]): (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  let [x, y] = [endX, endY];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
    const before = down ? k + 1 : k - 1;
    const [fromX, fromY] = d === 0 ? [0, 0] : [reach.get(before) ?? 0, (reach.get(before) ?? 0) - before];
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    if (d > 0) [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}
