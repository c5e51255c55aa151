/**
 * Decides on the lines that the user edited inside pending hunks, before they are saved or their hunks rejected.
 *
 * The user sees every result as text and chooses one. No unaccepted words are saved and no words of the user are dropped
 * without that.
 */
import type { ReviewFile, Step } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import type { KeptHunk, Outcome } from "../kept.js";
import { currentEngine, dialog, waiting } from "../store.js";
import { writtenOf } from "../written.js";
import { refresh } from "./refresh.js";

/** Returns the pending hunks of these files in which the user edited lines. */
export async function keptHunks(files: readonly ReviewFile[]): Promise<readonly KeptHunk[]> {
  const found = files.flatMap((file) =>
    pendingHunks(file)
      .filter((hunk) => hunk.keptByUser)
      .map((hunk) => [file.path, hunk] as const),
  );
  if (found.length === 0) return [];
  const { keptHunk } = await import("../kept-texts.js");
  return found.map(([path, hunk]) => keptHunk(path, hunk, writtenOf(hunk.id)));
}

/**
 * Asks about lines of the user with words of the assistant before they are saved: in these files, or in all. Returns whether
 * saving may go on.
 */
export async function settleForSaving(paths?: readonly string[]): Promise<boolean> {
  const affected = waiting.value.filter((file) => paths?.includes(file.path) ?? true);
  return settleKept(await keptHunks(affected), "save");
}

/** The action that the choice belongs to. */
export type Purpose = "save" | "reject";

/** Asks what becomes of the user's lines, and carries it out. Returns whether the action may go on. */
export async function settleKept(hunks: readonly KeptHunk[], purpose: Purpose): Promise<boolean> {
  if (hunks.length === 0) return true;
  const choices = await new Promise<readonly Outcome[] | null>((answer) => {
    dialog.value = { kind: "kept", hunks, purpose, answer };
  });
  if (choices === null) return false;
  // From the end of each file, so that the line numbers of the hunks above stay.
  for (const [index, hunk] of [...hunks.entries()].reverse()) await carryOut(hunk, choices[index] ?? "keep");
  await refresh();
  return true;
}

async function carryOut(shown: KeptHunk, outcome: Outcome): Promise<void> {
  const engine = currentEngine();
  const { id, path } = shown;
  // The assistant may have moved the lines since the question was asked.
  const now = (await keptHunks(waiting.value)).find((hunk) => hunk.id === id) ?? shown;
  if (outcome === "keep") return engine.accept([id], false, path);
  const base = (await engine.read(path)) ?? "";
  // The user's lines stay in the file meanwhile.
  await engine.reject([id], outcome === "mine" ? "only" : "with", path);
  const chosen = shown.texts[outcome];
  if (chosen === undefined) return;
  const { replaceLines } = await import("../kept.js");
  const text = replaceLines(base, now.line, now.lineCount, chosen);
  // Lines that the user typed below depend on those of the hunk, and went with them. They stay, as shown.
  const left = (await engine.read(path)) ?? "";
  // A merge would take the rejection as a change of the user's lines.
  // Both are one step of the user.
  const step: Step = { kind: "typing", path, joins: true };
  if (outcome === "mine") await engine.write(path, text, left, step);
  else if (outcome === "old" || left !== text) await engine.write(path, text, base, step);
}
