/**
 * Finds out what other clients of a server did to the text and the steps of this page. The server tells that files changed, but
 * not by whom. The code is loaded when a server is joined.
 */
import type { Snapshot, Steps } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import { choose, review } from "../store.js";

/** The lines that the user wrote last in each file of this page, as far as they are still there. */
const mine = new Map<string, readonly string[]>();
let steps: Steps = { done: [], undone: [] };
let revision = -1;
let hasOthers = false;

/** Whether others have changed files since the last step of this page, so that Undo may take back theirs. */
export function othersActed(): boolean {
  return hasOthers;
}

/** A server has one order of steps for all its users, and does not say whose the last one is. */
export async function confirmStep(direction: "undo" | "redo", own: string): Promise<boolean> {
  const verb = direction === "undo" ? "Undo" : "Redo";
  const answer = await choose({
    title: `${verb} the last step on this server?`,
    message: `Files were changed elsewhere since your last step, ${own}. The server has one order of steps for all its users: the last one may be theirs.`,
    choices: [{ name: "step", label: `${verb} the last step` }],
  });
  return answer === "step";
}

/** Forgets the project before. */
export function forgetElsewhere(): void {
  mine.clear();
  [steps, revision, hasOthers] = [{ done: [], undone: [] }, -1, false];
}

/** Notes an edit of the user: the text before it, and the server's text after it. */
export function noteWritten(path: string, base: string, text: string): void {
  const [before, after] = [new Set(linesOf(base)), new Set(linesOf(text))];
  const known = (mine.get(path) ?? []).filter((line) => after.has(line));
  const added = [...after].filter((line) => !before.has(line) && line.trim() !== "");
  mine.set(path, [...new Set([...known, ...added])]);
}

/** Compares what a server has now with what the page knew. Returns the user's lines in the open file that others replaced. */
export function compared({ revision: now, steps: nowSteps, reading }: Snapshot, path: string, runs: boolean) {
  const isTyping = nowSteps.done.at(-1)?.kind === "typing" && nowSteps.undone.length === 0;
  const isOwn =
    nowSteps.done.length !== steps.done.length || nowSteps.undone.length !== steps.undone.length || revision < 0;
  if (isOwn) hasOthers = false;
  else if (now > revision && !runs) hasOthers = true;
  [steps, revision] = [nowSteps, now];
  if (!reading || !("text" in reading)) return [];
  const there = new Set(linesOf(reading.text));
  const lines = mine.get(path) ?? [];
  const lost = lines.filter((line) => !there.has(line));
  mine.set(
    path,
    lines.filter((line) => there.has(line)),
  );
  // The review shows what the assistant replaced; the user expects the effect of an undo or a decision of this page.
  return (isOwn && !isTyping) || runs ? [] : lost.filter((line) => !isInReview(path, line));
}

function isInReview(path: string, line: string): boolean {
  const hunks = pendingHunks(review.value.files.find((file) => file.path === path));
  return hunks.some((hunk) => hunk.lines.some(({ kind, text }) => kind === "removed" && linesOf(text).includes(line)));
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r\n?|\n/);
}
