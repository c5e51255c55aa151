/** The texts of hunks as the assistant wrote them, while the user edits inside them. */
import type { Hunk } from "./engine.js";

/** The lines of a hunk as the assistant wrote them, before the user edited inside it. */
export interface Written {
  readonly text: string;
  /** The first unchanged lines after the changed ones. They tell where the user's lines end. */
  readonly next: readonly string[];
}

/** The assistant's text in the hunks that the user is editing, by id. */
const remembered = new Map<string, Written>();

/**
 * Records the texts of hunks before the user edits the file, and returns them. Hunks that the user has edited already keep
 * theirs.
 */
export function rememberWritten(hunks: readonly Hunk[]): (readonly [string, Written])[] {
  const now = hunks.filter((hunk) => !hunk.keptByUser).map((hunk) => [hunk.id, writtenText(hunk)] as const);
  recallWritten(now);
  return now;
}

/** Adds texts that were recorded before. */
export function recallWritten(written: Iterable<readonly [string, Written]>): void {
  for (const [id, text] of written) remembered.set(id, text);
}

export function writtenOf(id: string): Written | undefined {
  return remembered.get(id);
}

/** Forgets all texts, for another project. */
export function forgetWritten(): void {
  remembered.clear();
}

/** Returns the assistant's text in a hunk that the user has not edited. */
function writtenText(hunk: Hunk): Written {
  const after = hunk.lines.slice(hunk.lines.findLastIndex((line) => line.kind !== "context") + 1);
  const next = after.slice(0, 2).map((line) => line.text);
  const text = hunk.lines.flatMap((line) => (line.kind === "added" ? [line.text] : [])).join("");
  return { text, next };
}
