/** The lines at which a hunk can be split. */
import type { Hunk } from "./engine.js";

/** Returns the indexes of the lines of a hunk that can begin its second part. A line and its replacement stay together. */
export function splitPoints({ lines }: Pick<Hunk, "lines">): ReadonlySet<number> {
  const changed = lines.flatMap((line, index) => (line.kind === "context" ? [] : [index]));
  const count = (kind: "added" | "removed"): number => changed.filter((index) => lines[index]?.kind === kind).length;
  return new Set(Math.max(count("added"), count("removed")) < 2 ? [] : changed.slice(1));
}

/**
 * Returns the line that begins the second part if the user chose `line`. Where as many lines are added as removed, an added line
 * goes with the removed one at its place: the engine would look for a similar line, and could divide a line from its replacement.
 */
export function secondPart({ lines }: Pick<Hunk, "lines">, line: number): number {
  const run = (kind: "added" | "removed", from: number): number => {
    let at = from;
    while (lines[at - 1]?.kind === kind) at -= 1;
    return at;
  };
  if (lines[line]?.kind !== "added") return line;
  const added = run("added", line);
  const removed = run("removed", added);
  let end = line;
  while (lines[end]?.kind === "added") end += 1;
  return line > added && end - added === added - removed ? removed + (line - added) : line;
}
