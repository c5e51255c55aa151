/** Merges two sets of changes of one text by lines, with a choice where both changed the same lines. */
import { type Change, changes, linesOf } from "./core/rebase.js";

/** Lines that both sides changed: as one side left them, as the user left them, and as the other text has them. */
export interface Conflict {
  readonly theirs: readonly string[];
  readonly mine: readonly string[];
  readonly old: readonly string[];
}

/** Returns `current` with the changes from `base` to `text`, and the lines of `settle` where both differ from `base`. */
export function merged(
  base: string,
  text: string,
  current: string,
  settle: (conflict: Conflict) => readonly string[],
): string {
  if (base === current) return text;
  const [old, mine, theirs] = [base, text, current].map(linesOf) as [string[], string[], string[]];
  const [ours, others] = [changes(old, mine), changes(old, theirs)];
  const result: string[] = [];
  let at = 0;
  while (ours.length + others.length > 0) {
    const [own, other, from, to] = cluster(ours, others);
    result.push(...old.slice(at, from));
    const [lines, before] = [applied(old, own, from, to), applied(old, other, from, to)];
    if (other.length === 0) result.push(...lines);
    else if (own.length === 0 || lines.join("") === before.join("")) result.push(...before);
    // Lines that the user only added, or took away altogether, have no words of the assistant.
    else if (own.every((change) => change.from === change.to))
      result.push(...before, ...own.flatMap((each) => each.lines));
    else if (lines.length > 0) result.push(...settle({ theirs: old.slice(from, to), mine: lines, old: before }));
    at = to;
  }
  return [...result, ...old.slice(at)].join("");
}

/** Takes the first changes that overlap each other out of both lists. Returns them with their range. */
function cluster(ours: Change[], others: Change[]): [own: Change[], other: Change[], from: number, to: number] {
  const [own, other]: [Change[], Change[]] = [[], []];
  let [from, to] = [0, -1];
  const overlaps = (change: Change | undefined): boolean =>
    change !== undefined &&
    (to < 0 || (change.from < to && from < change.to) || (change.from < to && change.from > from));
  for (;;) {
    const isOurs = comesFirst(ours[0], others[0]);
    const list = isOurs ? ours : others;
    const next = list[0];
    if (!next || !overlaps(next)) return [own, other, from, Math.max(from, to)];
    list.shift();
    (isOurs ? own : other).push(next);
    if (to < 0) from = next.from;
    to = Math.max(to, next.to);
  }
}

function comesFirst(a: Change | undefined, b: Change | undefined): boolean {
  if (!a || !b) return a !== undefined;
  return a.from < b.from || (a.from === b.from && a.to <= b.to);
}

/** Returns the lines from `from` up to `to` with the changes of `list` inside. */
export function applied(old: readonly string[], list: readonly Change[], from: number, to: number): string[] {
  const result: string[] = [];
  let at = from;
  for (const change of list) {
    result.push(...old.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  return [...result, ...old.slice(at, to)];
}
