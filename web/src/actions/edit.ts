/** Opens and closes files in the editor, and takes the open file back from the agent. */
import {
  closedFolders,
  currentEngine,
  editor,
  engineOrNull,
  filesShown,
  openPath,
  pane,
  showError,
  spoken,
  tabs,
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

/** Number of files with a tab. The oldest tab is closed for another one. */
const TABS_MAX = 8;

/** Opens a file and, if `hunk` is given, scrolls to that hunk. */
export async function openFile(path: string, hunk?: string | "first" | "last"): Promise<void> {
  filesShown.value = false;
  pane.value = "text";
  if (!tabs.value.includes(path)) tabs.value = [...tabs.value, path].slice(-TABS_MAX);
  const hidden = view.value !== "editor";
  view.value = "editor";
  if (path !== openPath.value || editor.shownPath !== path) {
    await editor.flush();
    openPath.value = path;
    unfold(path);
    try {
      await showOpenFile();
    } catch (error) {
      showError(error);
      return;
    }
    if (openPath.value !== path) return;
    await currentEngine().openCanvas(path);
    readLease();
  }
  if (hunk === undefined) return;
  // A hidden editor has no size, and cannot scroll before it is drawn.
  if (hidden) await new Promise(requestAnimationFrame);
  editor.goToHunk(hunk);
}

/** Opens a file at a line. */
export async function openLine(path: string, line: number): Promise<void> {
  await openFile(path);
  editor.goToLine(line);
}

/** Closes the tab of a file. The file to its left is shown instead, if it was shown. */
export async function closeTab(path: string): Promise<void> {
  const at = tabs.value.indexOf(path);
  const rest = tabs.value.filter((each) => each !== path);
  tabs.value = rest;
  if (path !== openPath.value) return;
  const next = rest[Math.max(at - 1, 0)];
  if (next === undefined) closeFile();
  else await openFile(next);
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

/** Goes to the first (or last) hunk of the next (or previous) file with pending hunks. Returns null if there is none. */
export function goToNextFile(direction: 1 | -1): Promise<void> | null {
  const paths = waiting.value.map((file) => file.path);
  const others = paths.filter((path) => path !== openPath.value);
  if (others.length === 0) return null;
  const at = paths.indexOf(openPath.value ?? "");
  const next = at < 0 ? others.at(direction === 1 ? 0 : -1) : paths[(at + direction + paths.length) % paths.length];
  return next === undefined ? null : openFile(next, direction === 1 ? "first" : "last");
}
