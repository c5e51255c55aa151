/**
 * Creates, renames and deletes files, as steps that can be undone. The disk follows with the next save, a server's at once. The
 * code is loaded with the first use.
 */
import { plural } from "../hunk-text.js";
import { lateFocus } from "../late-focus.js";
import {
  choose,
  closedFolders,
  currentEngine,
  editor,
  files,
  notify,
  openPath,
  project,
  review,
  showError,
  tabs,
} from "../store.js";
import { baseName } from "../tree.js";
import { closeTab, openFile } from "./edit.js";
import { refresh } from "./refresh.js";

/** Returns why a new file cannot have this path, or null if it can. */
export function newFileProblem(path: string): string | null {
  if (path.trim() === "") return "Enter a name.";
  if (path.startsWith("/") || path.endsWith("/")) return "Enter a path inside the project, for example notes/today.md.";
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) {
    return "The path must not contain empty parts, “.” or “..”.";
  }
  if (files.value.some((file) => file.path === path)) return "This file exists already.";
  return null;
}

/** Creates an empty file and opens it. */
export async function createFile(path: string): Promise<void> {
  const focusLate = lateFocus();
  try {
    await currentEngine().write(path, "", null, { kind: "new file", path });
    await refresh();
    await openFile(path);
    focusLate(() => editor.focus());
  } catch (error) {
    showError(error);
  }
}

/** Returns the files that have this path or are in this folder. */
function filesAt(path: string): readonly string[] {
  const all = files.value.map((file) => file.path);
  return all.filter((each) => each === path || each.startsWith(`${path}/`));
}

/** Whether a file, or one of a folder, has changes to review. They belong to the file's present name. */
export function hasPending(path: string): boolean {
  const affected = new Set(filesAt(path));
  return review.value.files.some((file) => affected.has(file.path) && file.hunks.length > 0);
}

/** Returns why a file or folder cannot get this path, or null if it can. */
export function renameProblem(path: string, to: string): string | null {
  if (to === path) return "Enter another name.";
  if (to.startsWith(`${path}/`)) return "A folder cannot be moved into itself.";
  const problem = newFileProblem(to);
  if (problem !== null) return problem;
  return filesAt(to).length > 0 ? "There is a folder with this name." : null;
}

/** Renames a file or a folder. Its tabs follow. */
export async function renameFile(path: string, to: string): Promise<void> {
  try {
    await editor.flush();
    const moved = filesAt(path);
    const shown = openPath.value;
    await currentEngine().rename(path, to);
    const renamed = (old: string): string => (moved.includes(old) ? to + old.slice(path.length) : old);
    tabs.value = tabs.value.map(renamed);
    for (const each of moved) editor.forget(each);
    await refresh();
    if (shown !== null && moved.includes(shown)) await openFile(renamed(shown));
    notify(`Renamed ${baseName(path)} to ${to}.`, { undo: true });
  } catch (error) {
    showError(error);
  }
}

/** Deletes a file, or after a question a folder. */
export async function deleteFile(path: string): Promise<void> {
  try {
    await editor.flush();
    const gone = filesAt(path);
    const isFolder = gone.length !== 1 || gone[0] !== path;
    if ((isFolder || hasPending(path)) && !(await confirmDeletion(path, gone.length))) return;
    await currentEngine().remove(path);
    for (const each of tabs.value.filter((tab) => gone.includes(tab))) await closeTab(each);
    await refresh();
    closedFolders.value = new Set([...closedFolders.value].filter((folder) => folder !== path));
    const disk = project.value.remote ? "" : " The disk follows when you save.";
    notify(`Deleted ${isFolder ? plural(gone.length, "file") : baseName(path)}.${disk}`, { undo: true });
  } catch (error) {
    showError(error);
  }
}

async function confirmDeletion(path: string, count: number): Promise<boolean> {
  const what = count === 1 ? baseName(path) : `${plural(count, "file")} in ${baseName(path)}`;
  const pending = hasPending(path) ? " The changes that wait for review there are deleted, too." : "";
  const answer = await choose({
    title: `Delete ${what}?`,
    message: `Undo brings ${count === 1 ? "it" : "them"} back.${pending}`,
    choices: [{ name: "delete", label: "Delete", danger: true }],
  });
  return answer === "delete";
}
