/**
 * Opens a project, creates files in it, and saves accepted text.
 *
 * Only accepted text and the user's own lines are saved. Pending edits never reach the disk.
 */
import { batch } from "@preact/signals";
import { EMPTY_CHAT } from "../chat-state.js";
import { describe, startEngine, toZip } from "../engine.js";
import { download, type Project, pickDirectory, projectOfInput, readBack, writeBack } from "../folder.js";
import { plural } from "../hunk-text.js";
import { sampleProject } from "../sample.js";
import { modelOf } from "../settings.js";
import {
  chat,
  closedFolders,
  currentEngine,
  dialog,
  draft,
  editor,
  engineOrNull,
  files,
  notify,
  opening,
  openPath,
  project,
  recordStep,
  review,
  setEngine,
  settings,
  showError,
  steps,
  totals,
  unreadable,
  unsaved,
} from "../store.js";
import { baseName, foldedAtFirst } from "../tree.js";
import { closeFile, openFile } from "./edit.js";
import { markTouched, noteSaved, refresh, resetSaved, savedText } from "./refresh.js";
import { leaveRun } from "./run.js";

/** Opens the bundled sample project. */
export function openSample(): Promise<void> {
  return replaceProject(async () => sampleProject());
}

/** Opens the folder that the user picks in the browser's dialog. */
export function openDirectory(): Promise<void> {
  return replaceProject(pickDirectory);
}

/** Opens the files of a file input. */
export function openInput(list: FileList): Promise<void> {
  if (list.length === 0) return Promise.resolve();
  return replaceProject(() => projectOfInput(list));
}

async function replaceProject(read: () => Promise<Project | null>): Promise<void> {
  try {
    await editor.flush();
    if (hasUnsettled() && !(await confirmLeaving())) return;
    opening.value = true;
    const next = await read();
    if (next) await useProject(next);
  } catch (error) {
    showError(error);
    // No project has ever been open: the page must keep showing the reason.
    if (engineOrNull() === null) unreadable.value = `Emend could not start: ${describe(error).message}`;
  } finally {
    opening.value = false;
  }
}

async function useProject(next: Project): Promise<void> {
  leaveRun();
  const engine = await startEngine(next.files, modelOf(settings.value));
  setEngine(engine);
  editor.reset();
  resetSaved(next.files);
  const { name, directory, skipped } = next;
  batch(() => {
    closedFolders.value = foldedAtFirst(Object.keys(next.files));
    project.value = { name, directory, skipped, sample: next.sample === true };
    openPath.value = null;
    chat.value = EMPTY_CHAT;
    draft.value = "";
    steps.value = { done: [], undone: [] };
  });
  closeFile();
  await refresh();
  const first = firstFile();
  if (first !== undefined) await openFile(first);
  if (skipped.length > 0) notify(`Opened ${name}. Skipped: ${skipped.join(", ")}.`);
}

/** Returns the file to open first: a README at the top level, else the first text file. */
function firstFile(): string | undefined {
  const paths = files.value.map((file) => file.path);
  return paths.find((path) => /^readme(\.\w+)?$/i.test(path)) ?? paths.find((path) => savedText(path) !== null);
}

/** Whether leaving the page now would lose changes. */
export function hasUnsettled(): boolean {
  return editor.hasUnsent || unsaved.value.size > 0 || totals.value.changes > 0;
}

function confirmLeaving(): Promise<boolean> {
  const parts: string[] = [];
  if (totals.value.changes > 0) parts.push(`${plural(totals.value.changes, "change")} waiting for review`);
  if (unsaved.value.size > 0) parts.push(plural(unsaved.value.size, "unsaved file"));
  return ask("Open another project?", `You would lose ${parts.join(" and ")}.`, "Discard and open");
}

function ask(title: string, message: string, confirm: string): Promise<boolean> {
  return new Promise((answer) => {
    dialog.value = { kind: "confirm", title, message, confirm, answer };
  });
}

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
  try {
    await currentEngine().files.write(path, "");
    markTouched(path);
    recordStep({ kind: "new file", path });
    await refresh();
    await openFile(path);
    editor.focus();
  } catch (error) {
    showError(error);
  }
}

/** Saves one file, or all of them. */
export async function save(only?: string): Promise<void> {
  try {
    await editor.flush();
    await refresh();
    const paths = [...unsaved.value].filter((path) => only === undefined || path === only).sort();
    if (paths.length === 0) {
      notify(only === undefined || pendingIn(only) === 0 ? "Everything is saved." : pendingNote(pendingIn(only)));
      return;
    }
    const written = project.value.directory
      ? await saveToDirectory(project.value.directory, paths)
      : await saveAsDownload(paths);
    await refresh();
    if (written === 0) return;
    const what = written === 1 && paths[0] !== undefined ? baseName(paths[0]) : plural(written, "file");
    const how = project.value.directory ? `Saved ${what}.` : `Downloaded ${what}.`;
    const left = only === undefined ? totals.value.changes : pendingIn(only);
    notify(left === 0 ? how : `${how} ${pendingNote(left)}`);
  } catch (error) {
    showError(error);
  }
}

function pendingIn(path: string): number {
  return files.value.find((file) => file.path === path)?.pendingHunks ?? 0;
}

function pendingNote(count: number): string {
  return `${plural(count, "change")} still to review ${count === 1 ? "is" : "are"} not saved.`;
}

/**
 * Writes files into the user's folder. Asks before replacing a file that another program has changed. Returns how many.
 */
async function saveToDirectory(directory: FileSystemDirectoryHandle, paths: readonly string[]): Promise<number> {
  let written = 0;
  for (const path of paths) {
    const text = await currentEngine().files.readDisk(path);
    const onDisk = await readBack(directory, path);
    if (onDisk !== savedText(path) && onDisk !== text) {
      const message = `${path} was changed outside Emend since it was opened. Saving replaces that.`;
      if (!(await ask("Replace the file on disk?", message, "Replace"))) continue;
    }
    if (onDisk !== text) await writeBack(directory, path, text);
    noteSaved(path, text);
    written += 1;
  }
  return written;
}

/**
 * Downloads one file as it is, several as an archive. A removed file has no download; it only counts as saved. Returns
 * the number of downloaded files.
 */
async function saveAsDownload(paths: readonly string[]): Promise<number> {
  const saved: [path: string, text: string | null][] = [];
  for (const path of paths) saved.push([path, await currentEngine().files.readDisk(path)]);
  const texts = saved.filter((entry): entry is [string, string] => entry[1] !== null);
  const [first] = texts;
  if (texts.length === 1 && first) download(baseName(first[0]), new Blob([first[1]], { type: "text/plain" }));
  if (texts.length > 1) {
    const archive = (await toZip(Object.fromEntries(texts))) as Uint8Array<ArrayBuffer>;
    download(`${project.value.name || "emend"}-changed.zip`, new Blob([archive], { type: "application/zip" }));
  }
  for (const [path, text] of saved) noteSaved(path, text);
  return texts.length;
}

/** Downloads the unified diff of all pending changes. */
export async function downloadPatch(): Promise<void> {
  try {
    const name = `${project.value.name || "emend"}-revision-${review.value.revision}.patch`;
    download(name, new Blob([await currentEngine().files.diff()], { type: "text/x-diff" }));
  } catch (error) {
    showError(error);
  }
}
