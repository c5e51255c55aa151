/**
 * The line endings of a file beside its text with `\n`, which editors use.
 *
 * The endings are a list with one entry for each line but the last. Edits update the list, so that lines that no edit
 * touches keep their endings, also in files with mixed ones.
 */

import type { TextChange } from "./types.js";

/** The text of a file with `\n`, and its own line endings. Without a list, each of them is `\n`. */
export interface EditorText {
  readonly text: string;
  readonly endings?: readonly string[] | undefined;
}

const ENDING = /\r\n?|\n/g;

/** Splits the text of a file. {@link joined} is the inverse. */
export function split(raw: string): EditorText {
  if (!raw.includes("\r")) return { text: raw };
  return { text: raw.replace(ENDING, "\n"), endings: raw.match(ENDING) ?? [] };
}

/** Returns the text of a file with its own line endings. */
export function joined({ text, endings }: EditorText): string {
  if (endings === undefined) return text;
  let line = 0;
  return text.replace(ENDING, (_, at: number) => {
    const ending = endings[line++] ?? "\n";
    return ending === "\r" && meetsNewline(text, endings, line, at + 1) ? "\n" : ending;
  });
}

/** Returns whether a lone `\r` would become one ending with the `\n` of an empty line after it. */
function meetsNewline(text: string, endings: readonly string[], line: number, at: number): boolean {
  let next = line;
  while (endings[next] === "\r" && text[at + next - line] === "\n") next += 1;
  return endings[next] === "\n" && text[at + next - line] === "\n";
}

/**
 * Returns the text after changes. Endings in a replaced range are reused in order; further lines get the most frequent
 * ending of the file.
 */
export function edited({ text, endings }: EditorText, changes: readonly TextChange[], after: string): EditorText {
  if (endings === undefined) return { text: after };
  const added = mostFrequent(endings);
  const kept: string[] = [];
  let [at, line] = [0, 0];
  for (const { from, to, insert } of changes) {
    const first = line + count(text, at, from);
    kept.push(...endings.slice(line, first));
    line = first + count(text, from, to);
    for (let index = 0; index < count(insert, 0, insert.length); index++) {
      kept.push(first + index < line ? endings[first + index]! : added);
    }
    at = to;
  }
  return { text: after, endings: [...kept, ...endings.slice(line)] };
}

function count(text: string, from: number, to: number): number {
  return text.slice(from, to).match(ENDING)?.length ?? 0;
}

/** Returns the most frequent ending, the first one in a tie. */
function mostFrequent(endings: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const ending of endings) counts.set(ending, (counts.get(ending) ?? 0) + 1);
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ["\n", 0] as const)[0];
}
