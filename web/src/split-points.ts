/** The lines at which a hunk can be split. */
import type { Hunk } from "./engine.js";

/** Returns the indexes of the lines of a hunk that can begin its second part. A line and its replacement stay together. */
export function splitPoints({ lines }: Pick<Hunk, "lines">): ReadonlySet<number> {
  const changed = lines.flatMap((line, index) => (line.kind === "context" ? [] : [index]));
  const count = (kind: "added" | "removed"): number => changed.filter((index) => lines[index]?.kind === kind).length;
  return new Set(Math.max(count("added"), count("removed")) < 2 ? [] : changed.slice(1));
}
