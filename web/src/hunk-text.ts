/** Hunks in words: for labels, screen readers and counts. Pure. */
import type { Hunk, Review, ReviewFile } from "./engine.js";

/** How many lines of `kind` a hunk has. */
export function countLines(hunk: Hunk, kind: "added" | "removed"): number {
  return hunk.lines.reduce((total, line) => total + (line.kind === kind ? 1 : 0), 0);
}

/** For example "line 14, 1 removed, 2 added, kept because you edited it". */
export function hunkSummary(hunk: Hunk): string {
  const parts = [linesPhrase(hunk)];
  const removed = countLines(hunk, "removed");
  const added = countLines(hunk, "added");
  if (removed > 0) parts.push(`${removed} removed`);
  if (added > 0) parts.push(`${added} added`);
  if (hunk.keptByUser) parts.push("kept because you edited it");
  return parts.join(", ");
}

/** For example "line 14" or "lines 14 to 16"; the old lines where nothing new stands. */
export function linesPhrase(hunk: Hunk): string {
  const added = hunk.lines.flatMap((line) => (line.kind === "added" && line.newNumber ? [line.newNumber] : []));
  const removed = hunk.lines.flatMap((line) => (line.kind === "removed" && line.oldNumber ? [line.oldNumber] : []));
  const numbers = added.length > 0 ? added : removed;
  const first = numbers[0] ?? hunk.newStart;
  const last = numbers.at(-1) ?? first;
  return last > first ? `lines ${first} to ${last}` : `line ${first}`;
}

/** The line without the break it carries. */
export function withoutBreak(text: string): string {
  return text.replace(/(?:\r\n?|\n)$/, "");
}

/** The hunks of a file that wait for a decision. */
export function pendingHunks(file: ReviewFile | undefined): readonly Hunk[] {
  return file?.hunks.filter((hunk) => hunk.status === "pending") ?? [];
}

/** The files that have such hunks. */
export function pendingFiles(review: Review): readonly ReviewFile[] {
  return review.files.filter((file) => pendingHunks(file).length > 0);
}

/** "1 change" or "7 changes". */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
