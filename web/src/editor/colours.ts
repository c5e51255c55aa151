/** The syntax colours of lines outside of the editor. */
import { loadSupport } from "./languages.js";

/** A coloured part of a line, with the classes of its colour. */
export interface Coloured {
  readonly from: number;
  readonly to: number;
  readonly classes: string;
}

/** Returns the coloured parts of each line. */
export type Colourer = (lines: readonly string[]) => readonly (readonly Coloured[])[];

/** Loads the colours of a file's language. Returns null if it has none. */
export async function loadColourer(path: string): Promise<Colourer | null> {
  const support = await loadSupport(path);
  if (!support) return null;
  const { classHighlighter, highlightTree } = await import("./syntax.js");
  const { parser } = support.language;
  return (lines) => {
    const text = lines.join("");
    const coloured: Coloured[][] = lines.map(() => []);
    let line = 0;
    let start = 0;
    highlightTree(parser.parse(text), classHighlighter, (from, to, classes) => {
      // A part can cover several lines.
      for (let at = from; at < to; ) {
        while (line < lines.length && at >= start + (lines[line]?.length ?? 0)) start += lines[line++]?.length ?? 0;
        const end = Math.min(to, start + (lines[line]?.length ?? 0));
        if (end <= at) break;
        coloured[line]?.push({ from: at - start, to: end - start, classes });
        at = end;
      }
    });
    return coloured;
  };
}

/** A part of a line with one colour. */
export interface Segment {
  readonly text: string;
  readonly classes: string;
  readonly marked: boolean;
}

/** Cuts a line where a colour or a mark begins or ends. */
export function segments(
  text: string,
  coloured: readonly Coloured[],
  marks: readonly (readonly [number, number])[],
): readonly Segment[] {
  const cuts = new Set([0, text.length]);
  for (const { from, to } of coloured) cuts.add(from).add(to);
  for (const [from, to] of marks) cuts.add(from).add(to);
  const places = [...cuts].filter((at) => at <= text.length).sort((a, b) => a - b);
  return places.slice(1).map((to, index) => {
    const from = places[index] ?? 0;
    return {
      text: text.slice(from, to),
      classes: coloured.find((part) => part.from <= from && part.to >= to)?.classes ?? "",
      marked: marks.some(([first, last]) => first <= from && last >= to),
    };
  });
}
