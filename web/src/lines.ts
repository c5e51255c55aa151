/**
 * Converts line endings: the editor works with "\n" only, the engine with the bytes of the file.
 *
 * A file is split into a text with "\n" and the list of its line endings, one for each line but the last. Edits update
 * the list, so that unchanged lines keep their line endings, also in files with mixed ones.
 */
import type { ChangeSet, Text } from "@codemirror/state";

/** A text with "\n", and the line endings of the file. */
export interface SplitText {
  readonly text: string;
  readonly breaks: readonly string[];
}

const BREAK = /\r\n?|\n/g;

/** Splits a file's text into lines and line endings. `joinBreaks` is the exact inverse. */
export function splitBreaks(raw: string): SplitText {
  const breaks = raw.match(BREAK) ?? [];
  return { text: breaks.every((b) => b === "\n") ? raw : raw.replace(BREAK, "\n"), breaks };
}

/** Restores the line endings of the file. */
export function joinBreaks(text: string, breaks: readonly string[]): string {
  if (breaks.every((b) => b === "\n")) return text;
  let line = 0;
  return text.replace(/\n/g, () => breaks[line++] ?? "\n");
}

/** Returns the most frequent line ending: the first one in a tie, "\n" in a file of one line. */
export function dominantBreak(breaks: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const b of breaks) counts.set(b, (counts.get(b) ?? 0) + 1);
  let best = "\n";
  let most = 0;
  for (const [b, count] of counts) {
    if (count > most) [best, most] = [b, count];
  }
  return best;
}

/**
 * Returns the line endings after an edit from `before` to `after`.
 *
 * Line endings inside a replaced range are reused in order. Added lines get the dominant line ending.
 */
export function breaksThrough(breaks: readonly string[], changes: ChangeSet, before: Text, after: Text): string[] {
  const added = dominantBreak(breaks);
  const out: string[] = [];
  let copied = 0;
  changes.iterChanges((fromA, toA, fromB, toB) => {
    const first = before.lineAt(fromA).number - 1;
    const last = before.lineAt(toA).number - 1;
    const count = after.lineAt(toB).number - after.lineAt(fromB).number;
    for (; copied < first; copied++) out.push(breaks[copied] ?? added);
    for (let i = 0; i < count; i++) out.push(first + i < last ? (breaks[first + i] ?? added) : added);
    copied = Math.max(copied, last);
  });
  for (; copied < breaks.length; copied++) out.push(breaks[copied] ?? added);
  return out;
}

/** Returns the name of the line endings of a file, for the status bar. */
export function breakName(breaks: readonly string[]): string {
  const kinds = new Set(breaks);
  if (kinds.size > 1) return "Mixed line endings";
  return kinds.has("\r\n") ? "CRLF" : kinds.has("\r") ? "CR" : "LF";
}
