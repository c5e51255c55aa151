/** Describes hunks in words, for labels and screen readers. */
import type { Hunk, Review, ReviewFile } from "./engine.js";

/** Returns the number of lines of `kind` in a hunk. */
export function countLines(hunk: Hunk, kind: "added" | "removed"): number {
  return hunk.lines.reduce((total, line) => total + (line.kind === kind ? 1 : 0), 0);
}

/** Returns a summary such as "line 14, 1 removed, 2 added, kept because you edited it". */
export function hunkSummary(hunk: Hunk): string {
  const parts = [linesPhrase(hunk)];
  const removed = countLines(hunk, "removed");
  const added = countLines(hunk, "added");
  if (removed > 0) parts.push(`${removed} removed`);
  if (added > 0) parts.push(`${added} added`);
  if (hunk.keptByUser) parts.push("you edited inside it");
  if (hunk.contested) parts.push("conflicts with your edit");
  return parts.join(", ");
}

/** Returns "line 14" or "lines 14 to 16". A hunk without new lines is described by its old lines. */
export function linesPhrase(hunk: Hunk): string {
  const added = hunk.lines.flatMap((line) => (line.kind === "added" && line.newNumber ? [line.newNumber] : []));
  const removed = hunk.lines.flatMap((line) => (line.kind === "removed" && line.oldNumber ? [line.oldNumber] : []));
  const numbers = added.length > 0 ? added : removed;
  const first = numbers[0] ?? hunk.newStart;
  const last = numbers.at(-1) ?? first;
  return last > first ? `lines ${first} to ${last}` : `line ${first}`;
}

/** Returns the line without its line ending. */
export function withoutBreak(text: string): string {
  return text.replace(/(?:\r\n?|\n)$/, "");
}

/** Returns the changed ranges of a line without the blanks at their ends. A range of blanks only stays as it is. */
export function tightSpans(text: string, spans: Hunk["lines"][number]["spans"] = []): [number, number][] {
  return spans.map(([from, to]) => {
    const marked = text.slice(from, to);
    if (marked.trim() === "") return [from, to];
    return [from + marked.length - marked.trimStart().length, from + marked.trimEnd().length];
  });
}

/** Returns a number with its sign and separators, such as "+1,999" or "−2". */
export function signed(count: number, sign: "+" | "−"): string {
  return sign + count.toLocaleString("en");
}

/** Returns the pending hunks of a file. */
export function pendingHunks(file: ReviewFile | undefined): readonly Hunk[] {
  return file?.hunks.filter((hunk) => hunk.status === "pending") ?? [];
}

/** Returns the files with pending hunks. */
export function pendingFiles(review: Review): readonly ReviewFile[] {
  return review.files.filter((file) => pendingHunks(file).length > 0);
}

/** Returns a count with its noun, such as "1 change" or "7 changes". */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Says which later changes depend on a hunk. */
export function dependentsText(count: number, fromUser: number, several = false): string {
  const it = several ? "them" : "it";
  if (fromUser === 0) return `${plural(count, "later change")} ${count === 1 ? "depends" : "depend"} on ${it}.`;
  if (fromUser < count) return `${plural(count, "later change")} depend on ${it}, ${fromUser} of them your own.`;
  return count === 1
    ? `Your own later change depends on ${it}.`
    : `${count} later changes of your own depend on ${it}.`;
}
