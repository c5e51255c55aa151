/** Opens and closes files in the editor, and takes the open file back from the agent. */
import {
  closedFolders,
  currentEngine,
  editor,
  engineOrNull,
  filesShown,
  openPath,
  showError,
  spoken,
  unreadable,
  view,
  waiting,
} from "../store.js";
import { ancestors } from "../tree.js";
import { ignoreLease, readLease, showOpenFile } from "./refresh.js";

/** Takes the canvas back from the agent at once, because the user typed. */
export function takeBack(): void {
  void engineOrNull()?.takeBack().catch(showError);
  ignoreLease();
  spoken.value = "You are editing now. The assistant will not write to this file before its next task.";
  void editor.flush();
}

/** Takes the canvas back because the user asked to, and focuses the editor. */
export function takeOver(): void {
  takeBack();
  editor.focus();
}

/** Opens a file and, if `hunk` is given, scrolls to that hunk. */
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
    await currentEngine().openCanvas(path);
    readLease();
  }
  if (hunk === undefined) return;
  // A hidden editor has no size, and cannot scroll before it is drawn.
  if (hidden) await new Promise(requestAnimationFrame);
  editor.goToHunk(hunk);
}

/** Unfolds the parent folders of `path` in the tree. */
function unfold(path: string): void {
  const folded = ancestors(path).filter((folder) => closedFolders.value.has(folder));
  if (folded.length === 0) return;
  closedFolders.value = new Set([...closedFolders.value].filter((folder) => !folded.includes(folder)));
}

/** Closes the open file. */
export function closeFile(): void {
  editor.hide();
  void engineOrNull()
    ?.openCanvas(null)
    .catch(() => undefined);
  openPath.value = null;
  unreadable.value = null;
}

/** Goes to the first (or last) hunk of the next (or previous) file with pending hunks. Returns whether there is one. */
export function goToNextFile(direction: 1 | -1): boolean {
  const paths = waiting.value.map((file) => file.path);
  const others = paths.filter((path) => path !== openPath.value);
  if (others.length === 0) return false;
  const at = paths.indexOf(openPath.value ?? "");
  const next = at < 0 ? others.at(direction === 1 ? 0 : -1) : paths[(at + direction + paths.length) % paths.length];
  if (next !== undefined) void openFile(next, direction === 1 ? "first" : "last");
  return true;
}
