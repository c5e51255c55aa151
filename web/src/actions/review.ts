/**
 * Carries out the user's decisions on hunks, and undo and redo. Text that was typed before is sent to the engine first.
 */
import type { Decision } from "../editor/controller.js";
import { dependentsOf } from "../engine.js";
import { pendingHunks, plural } from "../hunk-text.js";
import {
  choose,
  currentEngine,
  dialog,
  editor,
  notify,
  openPath,
  recordStep,
  review,
  type Step,
  showError,
  steps,
  totals,
  view,
  waiting,
} from "../store.js";
import { baseName } from "../tree.js";
import { openFile } from "./edit.js";
import { keptHunks, settleKept } from "./kept.js";
import { markTouched, refresh } from "./refresh.js";

/** Accepts or rejects one hunk. The focus moves to the hunk that takes its place. */
export async function decide(id: string, decision: Decision): Promise<void> {
  const path = review.value.files.find((file) => file.hunks.some((hunk) => hunk.id === id))?.path;
  if (path === undefined) return;
  const restoreFocus = editor.rememberFocus(id);
  const done = await attempt(path, decision, async () => {
    const engine = currentEngine();
    if (decision === "accept") {
      await engine.accept([id], { over: isContested(id) });
      return [decision];
    }
    const kept = keptHunks(waiting.value.filter((file) => file.path === path)).filter((hunk) => hunk.id === id);
    if (kept.length > 0) return (await settleKept(kept, "reject")) ? [] : null;
    return (await reject([id])) ? [decision] : null;
  });
  if (done) restoreFocus();
}

/** Returns whether the user was shown that a hunk replaces their own lines. */
function isContested(id: string): boolean {
  return review.value.files.some((file) => file.hunks.some((hunk) => hunk.id === id && hunk.contested));
}

/** Accepts every hunk of a file, or of all files, except contested ones. */
export function acceptAll(path?: string): Promise<boolean> {
  return attempt(path ?? "", "accept", async () => {
    await currentEngine().acceptAll(path);
    return ["accept"];
  });
}

/** Number of changes above which rejecting all of them needs a confirmation. */
const REJECTED_UNASKED_MAX = 20;

/** Rejects every hunk of a file, or of all files. The user chooses what becomes of their own lines in them. */
export function rejectAll(path?: string): Promise<boolean> {
  return attempt(path ?? "", "reject", async () => {
    const affected = waiting.value.filter((file) => path === undefined || file.path === path);
    const count = affected.reduce((sum, file) => sum + pendingHunks(file).length, 0);
    if (count > REJECTED_UNASKED_MAX && !(await confirmReject(count, affected.length))) return null;
    const kept = keptHunks(affected);
    if (!(await settleKept(kept, "reject"))) return null;
    if (kept.length === count) return [];
    await currentEngine().rejectAll(path);
    return ["reject"];
  });
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

/** Undoes the user's last step, an edit or a decision. */
export function undo(): Promise<void> {
  return step("Undid", "undo");
}

/** Reverts the last undo. */
export function redo(): Promise<void> {
  return step("Redid", "redo");
}

async function step(verb: string, direction: "undo" | "redo"): Promise<void> {
  try {
    await editor.flush();
    const { done, undone } = steps.value;
    const last = (direction === "undo" ? done : undone).at(-1);
    if (!last) return;
    await currentEngine()[direction]();
    steps.value =
      direction === "undo"
        ? { done: done.slice(0, -1), undone: [...undone, last] }
        : { done: [...done, last], undone: undone.slice(0, -1) };
    await refresh();
    // In the editor view the changed file must be visible. The review shows all files anyway.
    const elsewhere = last.path !== "" && last.path !== openPath.value && last.kind !== "new file";
    if (elsewhere && view.value === "editor") await openFile(last.path);
    notify(`${verb} ${stepName(last)}.`);
  } catch (error) {
    showError(error);
  }
}

/** Returns the description of a step, e.g. "accept in notes.md". */
export function stepName({ kind, path }: Step): string {
  const where = path === "" ? "all files" : baseName(path);
  return kind === "typing" ? `typing in ${where}` : kind === "new file" ? `new file ${where}` : `${kind} in ${where}`;
}

/**
 * Carries out a decision on `path` ("" means all files) and reports its result. `action` returns the steps to record, or
 * null if the user cancelled. Returns whether it was carried out.
 */
async function attempt(
  path: string,
  decision: Decision,
  action: () => Promise<readonly Decision[] | null>,
): Promise<boolean> {
  try {
    await editor.flush();
    const paths = path === "" ? waiting.value.map((file) => file.path) : [path];
    const before = totals.value.changes;
    const done = await action();
    if (done === null) return false;
    for (const each of paths) markTouched(each);
    for (const kind of done) recordStep({ kind, path });
    await refresh();
    const settled = Math.max(1, before - totals.value.changes);
    const left = totals.value.changes;
    const verb = decision === "accept" ? "Accepted" : "Rejected";
    notify(`${verb} ${plural(settled, "change")}. ${left === 0 ? "None left." : `${left} left to review.`}`, {
      undo: true,
    });
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Rejects hunks. Asks first if later changes depend on them. Returns false if the user cancelled. */
async function reject(ids: string[]): Promise<boolean> {
  const engine = currentEngine();
  try {
    await engine.reject(ids, { dependents: "refuse" });
    return true;
  } catch (error) {
    const dependents = dependentsOf(error);
    if (!dependents) throw error;
    const choice = await new Promise<"only" | "with" | null>((answer) => {
      dialog.value = { kind: "dependents", dependents, answer };
    });
    if (choice !== null) await engine.reject(ids, { dependents: choice });
    return choice !== null;
  }
}
