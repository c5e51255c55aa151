/**
 * The user's decisions on hunks, and undoing them. Each is sent to the engine after everything typed before it.
 */
import type { Decision } from "../editor/controller.js";
import { dependentsOf } from "../engine.js";
import { plural } from "../hunk-text.js";
import {
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
import { markTouched, refresh } from "./refresh.js";

/** Accepts or rejects one hunk; the focus stays at the place it left. */
export async function decide(id: string, decision: Decision): Promise<void> {
  const path = review.value.files.find((file) => file.hunks.some((hunk) => hunk.id === id))?.path;
  if (path === undefined) return;
  const restoreFocus = editor.rememberFocus(id);
  const done = await attempt(path, decision, async () => {
    const engine = currentEngine();
    if (decision === "accept") await engine.accept([id]);
    else if (!(await reject([id]))) return false;
    return true;
  });
  if (done) restoreFocus();
}

/** Accepts every hunk of a file, or of all files. */
export function acceptAll(path?: string): Promise<boolean> {
  return attempt(path ?? "", "accept", async () => {
    await currentEngine().acceptAll(path);
    return true;
  });
}

/** Rejects every hunk of a file, or of all files; the user's own lines stay. */
export function rejectAll(path?: string): Promise<boolean> {
  return attempt(path ?? "", "reject", async () => {
    await currentEngine().rejectAll(path);
    return true;
  });
}

/** Takes back the user's last step, an edit or a decision. */
export function undo(): Promise<void> {
  return step("Undid", "undo");
}

/** Does it again. */
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
    // In the editor the user must see what changed; the review shows every file anyway.
    const elsewhere = last.path !== "" && last.path !== openPath.value && last.kind !== "new file";
    if (elsewhere && view.value === "editor") await openFile(last.path);
    notify(`${verb} ${stepName(last)}.`);
  } catch (error) {
    showError(error);
  }
}

/** For example "accept in notes.md". */
export function stepName({ kind, path }: Step): string {
  const where = path === "" ? "all files" : baseName(path);
  return kind === "typing" ? `typing in ${where}` : kind === "new file" ? `new file ${where}` : `${kind} in ${where}`;
}

/** Runs a decision on `path` ("" = all files) and shows what came of it; true if it was carried out. */
async function attempt(path: string, decision: Decision, action: () => Promise<boolean>): Promise<boolean> {
  try {
    await editor.flush();
    const paths = path === "" ? waiting.value.map((file) => file.path) : [path];
    const before = totals.value.changes;
    if (!(await action())) return false;
    for (const each of paths) markTouched(each);
    recordStep({ kind: decision, path });
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

/** Rejects hunks, asking first where later lines stand on them; false if the user cancelled. */
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
