/** The difference of two texts by lines, with a few unchanged lines around each change. */
import { diff } from "@codemirror/merge";

export interface DiffRow {
  readonly kind: "context" | "added" | "removed";
  readonly text: string;
  readonly oldNumber?: number;
  readonly newNumber?: number;
}

/** Unchanged lines that are shown before and after a change. */
const CONTEXT = 3;

/** Number of different lines that can be told apart: each becomes one UTF-16 unit. Surrogates are left out. */
const LINES_MAX = 0xd7ff;

/** Returns the parts of the difference, each a list of rows. A missing text is null. */
export function lineDiff(
  before: string | null,
  after: string | null,
  around = CONTEXT,
): readonly (readonly DiffRow[])[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const numbers = new Map<string, number>();
  const encode = (lines: readonly string[]): string => {
    const units = lines.map((line) => {
      const number = numbers.get(line) ?? numbers.size + 1;
      numbers.set(line, number);
      return number;
    });
    return units.map((unit) => String.fromCharCode(Math.min(unit, LINES_MAX))).join("");
  };
  const [a, b] = [encode(old), encode(now)];
  const changes = numbers.size < LINES_MAX ? diff(a, b, { scanLimit: 5_000, timeout: 300 }) : [wholeChange(a, b)];
  // Without a difference, all lines are unchanged ones.
  if (changes.length === 0 && around === Number.POSITIVE_INFINITY && now.length > 0) {
    return [now.map((text, at) => context(text, at, at))];
  }
  const parts: DiffRow[][] = [];
  let shown = 0;
  for (const { fromA, toA, fromB, toB } of changes) {
    const start = Math.max(fromB - around, shown);
    const last = parts.at(-1);
    // Changes with few lines between them are one part.
    const part = last && start === shown ? last : [];
    if (part !== last) parts.push(part);
    const shift = fromA - fromB;
    for (let at = start; at < fromB; at++) part.push(context(now[at] ?? "", at + shift, at));
    for (let at = fromA; at < toA; at++) part.push({ kind: "removed", text: old[at] ?? "", oldNumber: at + 1 });
    for (let at = fromB; at < toB; at++) part.push({ kind: "added", text: now[at] ?? "", newNumber: at + 1 });
    const next = changes[changes.findIndex((each) => each.fromB === fromB && each.fromA === fromA) + 1];
    const end = Math.min(toB + around, next?.fromB ?? now.length, now.length);
    for (let at = toB; at < end; at++) part.push(context(now[at] ?? "", at + toA - toB, at));
    shown = end;
  }
  return parts;
}

/** Returns the text after a difference in which these parts are as before. */
export function withParts(
  after: string | null,
  parts: readonly (readonly DiffRow[])[],
  chosen: ReadonlySet<number>,
): string {
  const lines = [...linesOf(after)];
  for (const [index, part] of [...parts.entries()].reverse()) {
    if (!chosen.has(index)) continue;
    const now = part.filter((row) => row.newNumber !== undefined);
    const old = part.filter((row) => row.oldNumber !== undefined).map((row) => row.text);
    lines.splice((now[0]?.newNumber ?? 1) - 1, now.length, ...old);
  }
  return lines.join("");
}

function context(text: string, oldIndex: number, newIndex: number): DiffRow {
  return { kind: "context", text, oldNumber: oldIndex + 1, newNumber: newIndex + 1 };
}

function wholeChange(a: string, b: string): { fromA: number; toA: number; fromB: number; toB: number } {
  return { fromA: 0, toA: a.length, fromB: 0, toB: b.length };
}

export function linesOf(text: string | null): readonly string[] {
  if (text === null || text === "") return [];
  return text.split(/(?<=\n)|(?<=\r)(?!\n)/);
}
