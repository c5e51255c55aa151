/** Changes of a text as replaced ranges: they are carried out, composed and made small here. */

import type { TextChange } from "./types.js";

/** Returns `text` after `changes`, which are sorted and do not overlap. */
export function applyChanges(text: string, changes: readonly TextChange[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, insert } of changes) {
    parts.push(text.slice(at, from), insert);
    at = to;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** Returns the changes that have the effect of `first` and then `second`, at positions before both. */
export function compose(first: readonly TextChange[], second: readonly TextChange[]): readonly TextChange[] {
  // From the last one on, so that each change leaves the positions of those before it as they are.
  return second.reduceRight(withChange, first);
}

/** Adds one change, at a position after `changes`. The changes that it touches become one with it. */
function withChange(changes: readonly TextChange[], added: TextChange): readonly TextChange[] {
  const before: TextChange[] = [];
  const touched: { readonly change: TextChange; readonly start: number; readonly end: number }[] = [];
  const after: TextChange[] = [];
  let shift = 0;
  for (const change of changes) {
    const start = change.from + shift;
    const end = start + change.insert.length;
    if (start > added.to) after.push(change);
    else {
      shift = end - change.to;
      if (end < added.from) before.push(change);
      else touched.push({ change, start, end });
    }
  }
  const [first, last] = [touched[0], touched.at(-1)];
  if (first === undefined || last === undefined) {
    return [...before, { from: added.from - shift, to: added.to - shift, insert: added.insert }, ...after];
  }
  const head = first.change.insert.slice(0, Math.max(added.from - first.start, 0));
  const tail = last.change.insert.slice(added.to - last.start);
  const from = Math.min(first.change.from, added.from - (first.start - first.change.from));
  const to = Math.max(last.change.to, added.to - (last.end - last.change.to));
  return [...before, { from, to, insert: head + added.insert + tail }, ...after];
}

/**
 * Returns the change from `old`, which begins at `from`, to `now`, without the characters that both begin and end with.
 * Returns undefined if they are equal.
 */
export function trimmed(from: number, old: string, now: string): TextChange | undefined {
  if (old === now) return undefined;
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old.charCodeAt(start) === now.charCodeAt(start)) start += 1;
  if (splits(old, start) || splits(now, start)) start -= 1;
  let end = 0;
  while (end < most - start && old.charCodeAt(old.length - 1 - end) === now.charCodeAt(now.length - 1 - end)) end += 1;
  if (splits(old, old.length - end) || splits(now, now.length - end)) end -= 1;
  return { from: from + start, to: from + old.length - end, insert: now.slice(start, now.length - end) };
}

/** Returns whether an index is inside a surrogate pair or inside `\r\n`. */
function splits(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return (before === 0x0d && after === 0x0a) || ((before & 0xfc00) === 0xd800 && (after & 0xfc00) === 0xdc00);
}
