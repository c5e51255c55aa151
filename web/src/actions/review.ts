/**
 * Carries out the user's decisions on hunks, and undo and redo. Text that was typed before is sent to the engine first.
 */
import type { Decision } from "../editor/handle.js";
import { dependentsOf, type Hunk, type Step } from "../engine.js";
import { pendingHunks, plural } from "../hunk-text.js";
import { keyName } from "../keys.js";
import {
  choose,
  currentEngine,
  dialog,
  editor,
  files,
  notify,
  openPath,
  project,
  review,
  showError,
  spoken,
  steps,
  totals,
  view,
  waiting,
} from "../store.js";
import { baseName } from "../tree.js";
import { openFile } from "./edit.js";
import { keptHunks, settleKept } from "./kept.js";
import { refresh, refreshed } from "./refresh.js";
import { readRuns } from "./run.js";

/**
 * Accepts or rejects one hunk. The focus moves to the hunk that takes its place. Returns whether it was done: not if an
 * earlier decision was on the same hunk.
 */
export async function decide(id: string, decision: Decision): Promise<boolean> {
  const path = review.value.files.find((file) => file.hunks.some((hunk) => hunk.id === id))?.path;
  if (path === undefined) return false;
  const shown = pendingIn(path).find((hunk) => hunk.id === id);
  const hasTyped = editor.hasUnsent;
  const restoreFocus = editor.rememberFocus(id);
  const done = await attempt(decision, async () => {
    const engine = currentEngine();
    const now = shown && presentHunk(path, shown);
    if (!now) {
      if (shown && hasTyped) notify("Nothing is left to decide here: your typing took the change back.");
      return false;
    }
    if (decision === "accept") {
      await engine.accept([now.id], isContested(now.id), path);
      return true;
    }
    const inFile = await keptHunks(waiting.value.filter((file) => file.path === path));
    const kept = inFile.filter((hunk) => hunk.id === now.id);
    return kept.length > 0 ? settleKept(kept, "reject") : reject([now.id], path);
  });
  if (done) restoreFocus();
  return done;
}

function pendingIn(path: string): readonly Hunk[] {
  return pendingHunks(waiting.value.find((file) => file.path === path));
}

/** Returns the pending hunk that has taken the place of one. Text that the user typed into it has given it another id. */
function presentHunk(path: string, shown: Hunk): Hunk | undefined {
  const hunks = pendingIn(path);
  const same = hunks.find((hunk) => hunk.id === shown.id);
  const end = (hunk: Hunk): number => hunk.newStart + Math.max(hunk.newLines, 1);
  const overlaps = (hunk: Hunk): boolean => hunk.newStart < end(shown) && shown.newStart < end(hunk);
  return same ?? hunks.find((hunk) => hunk.keptByUser && overlaps(hunk));
}

/** Returns whether the user was shown that a hunk replaces their own lines. */
function isContested(id: string): boolean {
  return review.value.files.some((file) => file.hunks.some((hunk) => hunk.id === id && hunk.contested));
}

/** Accepts every hunk of a file, or of all files, except contested ones. */
export function acceptAll(path?: string): Promise<boolean> {
  return attempt("accept", async () => {
    // A second click on the button: the first one has decided all.
    if (!waiting.value.some((file) => path === undefined || file.path === path)) return false;
    const done = await currentEngine().acceptAll(path ?? null);
    if (!done) notify(ALL_CONTESTED);
    return done;
  });
}

const ALL_CONTESTED = "Nothing was accepted: these changes are on lines that were changed since. Decide on each one.";

/** Number of changes above which rejecting all of them needs a confirmation. */
const REJECTED_UNASKED_MAX = 20;

/** Rejects every hunk of a file, or of all files. The user chooses what becomes of their own lines in them. */
export function rejectAll(path?: string): Promise<boolean> {
  return attempt("reject", () =>
    rejectWhere(
      (_, file) => path === undefined || file === path,
      () => currentEngine().rejectAll(path ?? null),
    ),
  );
}

/**
 * Rejects several hunks with `reject`, which gets their ids. Asks first if they are many, and what becomes of the user's own
 * lines in them. Returns false if there are none, or the user cancelled.
 */
async function rejectWhere(
  isMeant: (hunk: Hunk, path: string) => boolean,
  rejectThem: (ids: string[]) => Promise<boolean>,
): Promise<boolean> {
  const meant = (): readonly Hunk[] =>
    waiting.value.flatMap((file) => pendingHunks(file).filter((hunk) => isMeant(hunk, file.path)));
  const hunks = new Set(meant().map((hunk) => hunk.id));
  const affected = waiting.value.filter((file) => pendingHunks(file).some((hunk) => hunks.has(hunk.id)));
  if (hunks.size === 0) return false;
  if (hunks.size > REJECTED_UNASKED_MAX && !(await confirmReject(hunks.size, affected.length))) return false;
  const kept = (await keptHunks(affected)).filter((hunk) => hunks.has(hunk.id));
  if (!(await settleKept(kept, "reject"))) return false;
  const settled = new Set(kept.map((hunk) => hunk.id));
  const left = meant().flatMap((hunk) => (settled.has(hunk.id) ? [] : [hunk.id]));
  if (left.length > 0 && hunks.size > kept.length) return rejectThem(left);
  return true;
}

async function confirmReject(count: number, fileCount: number): Promise<boolean> {
  const what = `${plural(count, "change")} in ${plural(fileCount, "file")}`;
  const answer = await choose({
    title: `Reject ${what}?`,
    message: "Their lines return to what they were. Undo brings the changes back.",
    choices: [{ name: "reject", label: `Reject ${plural(count, "change")}`, danger: true }],
  });
  return answer === "reject";
}

/**
 * Accepts or rejects hunks of several files in one step. Contested ones are not accepted, and the user chooses what becomes of
 * their own lines in rejected ones, as for all hunks.
 */
export function decideTogether(ids: readonly string[], decision: Decision): Promise<boolean> {
  const wanted = new Set(ids);
  return attempt(decision, async () => {
    if (decision === "reject") {
      return rejectWhere(
        (hunk) => wanted.has(hunk.id),
        (left) => reject(left, ""),
      );
    }
    const hunks = waiting.value.flatMap(pendingHunks).filter((hunk) => wanted.has(hunk.id));
    if (hunks.length === 0) return false;
    const agreed = hunks.filter((hunk) => !hunk.contested).map((hunk) => hunk.id);
    if (agreed.length > 0) await currentEngine().accept(agreed, false, "");
    else notify(ALL_CONTESTED);
    return agreed.length > 0;
  });
}

/** Undoes the user's last step, an edit or a decision. */
export function undo(): Promise<void> {
  return step("Undid", "undo");
}

/** Reverts the last undo. */
export function redo(): Promise<void> {
  return step("Redid", "redo");
}

/** Undoes the last step if it is a decision. Otherwise says how the step can be undone: typed text is not lost by `u`. */
export function undoDecision(): Promise<void> {
  return step("Undid", "undo", true);
}

/** The last decision or step that is under way. Each of them starts on the state that the one before left. */
let acting: Promise<unknown> = Promise.resolve();

export function inTurn<T>(action: () => Promise<T>): Promise<T> {
  const done = acting.then(action);
  acting = done.catch(() => undefined);
  return done;
}

function step(verb: string, direction: "undo" | "redo", decisionsOnly = false): Promise<void> {
  return inTurn(() => takeStep(verb, direction, decisionsOnly));
}

async function takeStep(verb: string, direction: "undo" | "redo", decisionsOnly: boolean): Promise<void> {
  try {
    await sendTyped();
    const { done, undone } = steps.value;
    const last = (direction === "undo" ? done : undone).at(-1);
    if (!last) {
      spoken.value = `There is nothing to ${direction}.`;
      return;
    }
    if (decisionsOnly && !["accept", "reject", "split"].includes(last.kind)) {
      notify(`Your last step is ${stepName(last)}. ${keyName("Ctrl+Z")} undoes it.`);
      return;
    }
    const elsewhere = project.value.remote ? await import("./elsewhere.js") : null;
    const isShared = elsewhere?.othersActed() === true;
    if (isShared && !(await elsewhere.confirmStep(direction, stepName(last)))) return;
    await currentEngine()[direction]();
    await refresh();
    // In the editor view the changed file must be visible. The review shows all files anyway.
    const isThere = files.value.some((file) => file.path === last.path);
    const isElsewhere = isThere && last.path !== openPath.value && last.kind !== "new file";
    if (last.kind === "go back") await readRuns();
    if (isElsewhere && view.value === "editor") await openFile(last.path);
    notify(isShared ? `${verb} the last step on this server.` : `${verb} ${stepName(last)}.`);
  } catch (error) {
    showError(error);
    // A step that can never be undone is not among the steps any more.
    await refresh().catch(() => undefined);
  }
}

/** Returns the description of a step, e.g. "accept in notes.md". */
export function stepName({ kind, path }: Step): string {
  const where = path === "" ? "all files" : baseName(path);
  if (kind === "go back") return "going back to before a task";
  if (kind === "disk") return `the change on the disk of ${where}`;
  if (kind === "put back") return `the earlier text of ${where}`;
  return kind === "typing" ? `typing in ${where}` : kind === "new file" ? `new file ${where}` : `${kind} in ${where}`;
}

/** Sends typed text, and waits until the page shows what became of its hunks and steps. */
export async function sendTyped(): Promise<void> {
  await editor.flush();
  await refreshed();
}

/** Carries out a decision and reports its result. `action` returns false if the user cancelled, as this function does. */
function attempt(decision: Decision, action: () => Promise<boolean>): Promise<boolean> {
  return inTurn(() => carryOut(decision, action));
}

async function carryOut(decision: Decision, action: () => Promise<boolean>): Promise<boolean> {
  try {
    await sendTyped();
    const before = totals.value.changes;
    if (!(await action())) return false;
    await refresh();
    const settled = Math.max(1, before - totals.value.changes);
    const left = totals.value.changes;
    const verb = decision === "accept" ? "Accepted" : "Rejected";
    notify(
      `${verb} ${plural(settled, "change")}. ${left === 0 ? "None left." : `${left.toLocaleString("en")} left to review.`}`,
      {
        undo: true,
      },
    );
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Rejects hunks. Asks first if later changes depend on them. Returns false if the user cancelled. */
async function reject(ids: string[], path: string): Promise<boolean> {
  const engine = currentEngine();
  try {
    await engine.reject(ids, "refuse", path);
    return true;
  } catch (error) {
    const dependents = dependentsOf(error);
    if (!dependents) throw error;
    const choice = await new Promise<"only" | "with" | null>((answer) => {
      dialog.value = { kind: "dependents", dependents, several: ids.length > 1, answer };
    });
    if (choice !== null) await engine.reject(ids, choice, path);
    return choice !== null;
  }
}
