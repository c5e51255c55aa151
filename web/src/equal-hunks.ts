/** Finds hunks that make the same change, such as the places of a rename. */
import type { Hunk, ReviewFile } from "./engine.js";
import { pendingHunks, tightSpans } from "./hunk-text.js";

/** Hunks that replace the same words by the same words. */
export interface EqualHunks {
  readonly before: string;
  readonly after: string;
  readonly ids: readonly string[];
  readonly fileCount: number;
}

/** Number of hunks from which on a group is worth a line. */
const GROUP_MIN = 3;

/** Returns the groups of equal hunks, the largest first. Hunks that need a decision of their own are left out. */
export function equalHunks(files: readonly ReviewFile[]): readonly EqualHunks[] {
  const groups = new Map<string, { before: string; after: string; ids: string[]; paths: Set<string> }>();
  for (const file of files) {
    for (const hunk of pendingHunks(file)) {
      const change = onlyChange(hunk);
      if (!change || hunk.keptByUser || hunk.contested) continue;
      const key = JSON.stringify(change);
      const group = groups.get(key) ?? { before: change[0], after: change[1], ids: [], paths: new Set() };
      group.ids.push(hunk.id);
      group.paths.add(file.path);
      groups.set(key, group);
    }
  }
  return [...groups.values()]
    .filter((group) => group.ids.length >= GROUP_MIN)
    .sort((a, b) => b.ids.length - a.ids.length)
    .map(({ before, after, ids, paths }) => ({ before, after, ids, fileCount: paths.size }));
}

/** Returns the words that all lines of a hunk replace, and their replacement, or null if they differ. */
function onlyChange(hunk: Hunk): readonly [string, string] | null {
  const before = onlyMarked(hunk, "removed");
  const after = onlyMarked(hunk, "added");
  return before === null || after === null ? null : [before, after];
}

function onlyMarked(hunk: Hunk, kind: "added" | "removed"): string | null {
  const lines = hunk.lines.filter((line) => line.kind === kind);
  const texts = lines.flatMap((line) =>
    tightSpans(line.text, line.spans).map(([from, to]) => line.text.slice(from, to)),
  );
  // A line without marks was replaced as a whole.
  if (lines.length === 0 || lines.some((line) => !line.spans?.length)) return null;
  return new Set(texts).size === 1 ? (texts[0] ?? null) : null;
}
