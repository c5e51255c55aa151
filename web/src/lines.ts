/**
 * Line breaks: the editor works on "\n" only, the engine on the file's own bytes.
 *
 * A file is split into its text with "\n" breaks and the list of its real breaks, one per line but the last; edits
 * carry the list along, so that lines nobody touched keep theirs, in files that mix them too. Knows nothing of the
 * editor or the engine.
 */
import type { ChangeSet, Text } from "@codemirror/state";

/** A file's text as the editor holds it, and what stands between its lines in the file. */
export interface SplitText {
  readonly text: string;
  readonly breaks: readonly string[];
}

const BREAK = /\r\n?|\n/g;

/** Splits a file's text; `joinBreaks` is its exact inverse. */
export function splitBreaks(raw: string): SplitText {
  const breaks = raw.match(BREAK) ?? [];
  return { text: breaks.every((b) => b === "\n") ? raw : raw.replace(BREAK, "\n"), breaks };
}

/** Puts the file's own breaks back. */
export function joinBreaks(text: string, breaks: readonly string[]): string {
  if (breaks.every((b) => b === "\n")) return text;
  let line = 0;
  return text.replace(/\n/g, () => breaks[line++] ?? "\n");
}

/** The break most lines end with; the first one on a tie, "\n" in a file of one line. */
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
 * Carries the breaks of `before` through an edit to `after`.
 *
 * Breaks inside a replaced range are reused in order; the ones an edit adds are the file's dominant kind.
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

/** What a status bar calls the breaks of a file. */
export function breakName(breaks: readonly string[]): string {
  const kinds = new Set(breaks);
  if (kinds.size > 1) return "Mixed line ends";
  return kinds.has("\r\n") ? "CRLF" : kinds.has("\r") ? "CR" : "LF";
}
