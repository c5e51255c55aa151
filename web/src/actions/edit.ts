/** The open file: showing it, leaving it, and taking it back from the agent. */
import {
  closedFolders,
  currentEngine,
  editor,
  engineOrNull,
  filesShown,
  leaseHeld,
  openPath,
  spoken,
  unreadable,
  view,
  waiting,
} from "../store.js";
import { ancestors } from "../tree.js";
import { readLease, showOpenFile } from "./refresh.js";

/** Takes the canvas back from the agent at once, for a key that was typed. */
export function takeBack(): void {
  engineOrNull()?.canvas.takeBack();
  leaseHeld.value = false;
  spoken.value = "You are editing now. The assistant will not write here until its next task.";
  void editor.flush();
}

/** Takes it back because the user asked to. */
export function takeOver(): void {
  takeBack();
  editor.focus();
}

/** Shows a file; `hunk` also goes to one of its hunks. */
export async function openFile(path: string, hunk?: string | "first" | "last"): Promise<void> {
  filesShown.value = false;
  const hidden = view.value !== "editor";
  view.value = "editor";
  if (path !== openPath.value || editor.shownPath !== path) {
    await editor.flush();
    openPath.value = path;
    unfold(path);
    await showOpenFile();
    if (openPath.value !== path) return;
    currentEngine().canvas.open(path);
    readLease();
  }
  if (hunk === undefined) return;
  // An editor that was hidden has no size to scroll in before it is drawn.
  if (hidden) await new Promise(requestAnimationFrame);
  editor.goToHunk(hunk);
}

/** Opens the folders of the tree that `path` is in. */
function unfold(path: string): void {
  const folded = ancestors(path).filter((folder) => closedFolders.value.has(folder));
  if (folded.length === 0) return;
  closedFolders.value = new Set([...closedFolders.value].filter((folder) => !folded.includes(folder)));
}

/** Shows no file. */
export function closeFile(): void {
  editor.hide();
  engineOrNull()?.canvas.close();
  openPath.value = null;
  unreadable.value = null;
}

/** Goes on to the first (or last) hunk of the next (or previous) file that has any. */
export function goToNextFile(direction: 1 | -1): boolean {
  const paths = waiting.value.map((file) => file.path);
  const others = paths.filter((path) => path !== openPath.value);
  if (others.length === 0) return false;
  const at = paths.indexOf(openPath.value ?? "");
  const next = at < 0 ? others.at(direction === 1 ? 0 : -1) : paths[(at + direction + paths.length) % paths.length];
  if (next !== undefined) void openFile(next, direction === 1 ? "first" : "last");
  return true;
}
