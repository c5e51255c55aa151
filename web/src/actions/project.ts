/**
 * Opens a project, creates files in it, and saves accepted text.
 *
 * Only accepted text and the user's own lines are saved. Pending edits never reach the disk.
 */
import { batch } from "@preact/signals";
import {
  describe,
  type Engine,
  keptProjects,
  type ProjectInfo,
  preloadOffline,
  restoreEngine,
  startEngine,
} from "../engine.js";
import {
  allowWriting,
  download,
  type Progress,
  type Project,
  pickDirectory,
  projectOfDrop,
  projectOfInput,
  readBack,
  writeBack,
} from "../folder.js";
import { plural } from "../hunk-text.js";
import { forgetWritten, recallWritten } from "../kept.js";
import { claimProject, keepFolder, keptFolder, projectOfTab } from "../kept-folders.js";
import {
  choose,
  closedFolders,
  currentEngine,
  draft,
  editor,
  engineOrNull,
  files,
  kept,
  notify,
  opening,
  openPath,
  project,
  review,
  setEngine,
  settings,
  showError,
  startProblem,
  tabs,
  totals,
  unreadable,
  unsaved,
  waiting,
} from "../store.js";
import { baseName, foldedAtFirst } from "../tree.js";
import { resetChats, showChat } from "./conversations.js";
import { openFile } from "./edit.js";
import { keptHunks, settleKept } from "./kept.js";
import { refresh, resetState } from "./refresh.js";
import { leaveRun } from "./run.js";

/** Opens the project that the tab had before it was reloaded, with its review and conversation, or else the sample. */
export async function start(): Promise<void> {
  const id = projectOfTab();
  if (id === null || !(await continueProject(id))) await openSample();
  kept.value = (await keptProjects().catch(() => [])).filter((info) => !info.sample && info.id !== currentId);
}

/** Opens a kept project as it was left. Returns whether there is one that no other tab has open. */
export async function continueProject(id: string): Promise<boolean> {
  try {
    await editor.flush();
    if (hasUnsettled() && !(await confirmLeaving())) return false;
    opening.value = "Restoring your project…";
    if (!(await claimProject(id))) {
      notify("This project is open in another tab.");
      return false;
    }
    leaveRun();
    resetChats();
    const restored = await restoreEngine(id, settings.value);
    if (!restored) return false;
    const { engine, info, exact } = restored;
    const { name, skipped, sample } = info;
    const directory = await keptFolder(id);
    show(engine, { name, directory, skipped, sample });
    currentId = id;
    recallWritten(restored.written);
    for (let index = 0; index < restored.conversations; index++) showChat(index);
    showChat(restored.conversation);
    await refresh();
    const path = (await engine.canvas()).path;
    if (path !== null) await openFile(path);
    if (!exact) notify("The review could not be restored exactly. Compare it before you save.", { level: "error" });
    return true;
  } catch (error) {
    showError(error);
    return false;
  } finally {
    opening.value = null;
  }
}

/** The id of the open project. */
let currentId = "";

/** Shows an engine's project instead of the one before. */
function show(engine: Engine, shown: typeof project.value): void {
  setEngine(engine);
  if (settings.value.provider === "offline") preloadOffline();
  editor.reset();
  resetState();
  forgetWritten();
  batch(() => {
    project.value = shown;
    openPath.value = null;
    tabs.value = [];
    unreadable.value = null;
  });
}

/** Opens the bundled sample project. */
export function openSample(): Promise<void> {
  return replaceProject(async () => (await import("../sample.js")).sampleProject());
}

/** Opens the folder that the user picks in the browser's dialog. */
export function openDirectory(): Promise<void> {
  return replaceProject(pickDirectory);
}

/** Opens the files of a file input. */
export function openInput(list: FileList): Promise<void> {
  if (list.length === 0) return Promise.resolve();
  return replaceProject((progress) => projectOfInput(list, progress));
}

/** Opens the folder or the files that the user dropped on the page. */
export function openDrop(transfer: DataTransfer): Promise<void> {
  // The browser clears the transfer when the event ends.
  const dropped = projectOfDrop(transfer);
  return replaceProject(dropped);
}

async function replaceProject(read: (progress: Progress) => Promise<Project | null>): Promise<void> {
  try {
    await editor.flush();
    if (hasUnsettled() && !(await confirmLeaving())) return;
    opening.value = "Opening…";
    const next = await read((count) => {
      opening.value = `Reading files: ${count.toLocaleString("en")} so far…`;
    });
    if (next) await useProject(next);
    startProblem.value = null;
  } catch (error) {
    // No project has ever been open: the page must keep showing the reason.
    if (engineOrNull() === null) startProblem.value = describe(error).message;
    else showError(error);
  } finally {
    opening.value = null;
  }
}

async function useProject(next: Project): Promise<void> {
  leaveRun();
  const isFirst = engineOrNull() === null;
  const info: ProjectInfo = {
    id: crypto.randomUUID(),
    name: next.name,
    skipped: next.skipped,
    sample: next.sample === true,
    opened: Date.now(),
  };
  const engine = await startEngine(info, next.files, settings.value);
  const { name, directory, skipped } = next;
  show(engine, { name, directory, skipped, sample: next.sample === true });
  currentId = info.id;
  void claimProject(info.id);
  if (directory) void keepFolder(info.id, directory);
  batch(() => {
    closedFolders.value = foldedAtFirst(Object.keys(next.files));
    resetChats();
    // A message that could not be sent because the engine had not loaded is kept.
    if (!isFirst) draft.value = "";
  });
  await refresh();
  const first = firstFile(next.files);
  if (first !== undefined) await openFile(first);
  if (skipped.length > 0) notify(`Opened ${name}. Skipped: ${skipped.join(", ")}.`);
}

/**
 * Returns the file to open first: a README at the top level, else the first text file. Hidden files such as `.env` often
 * hold secrets, and are not shown unasked.
 */
function firstFile(contents: Project["files"]): string | undefined {
  const paths = files.value.map((file) => file.path);
  const isHidden = (path: string): boolean => path.split("/").some((name) => name.startsWith("."));
  return (
    paths.find((path) => /^readme(\.\w+)?$/i.test(path)) ??
    paths.find((path) => !isHidden(path) && typeof contents[path] === "string")
  );
}

/** Whether leaving the page now would lose changes. */
export function hasUnsettled(): boolean {
  return editor.hasUnsent || unsaved.value.size > 0 || totals.value.changes > 0;
}

async function confirmLeaving(): Promise<boolean> {
  const parts: string[] = [];
  if (totals.value.changes > 0) parts.push(`${plural(totals.value.changes, "change")} waiting for review`);
  if (unsaved.value.size > 0) parts.push(plural(unsaved.value.size, "unsaved file"));
  const answer = await choose({
    title: "Open another project?",
    message: `You would lose ${parts.join(" and ")}.`,
    choices: [{ name: "open", label: "Discard and open", danger: true }],
  });
  return answer === "open";
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
    await currentEngine().write(path, "", null, { kind: "new file", path });
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
    // Lines of the user with words of the assistant would be saved, although their hunks are not accepted.
    if (!(await settleKept(keptHunks(waiting.value.filter((file) => paths.includes(file.path))), "save"))) return;
    const { directory } = project.value;
    const done = directory ? await saveToDirectory(directory, paths) : await saveAsDownload(paths);
    await refresh();
    const left = only === undefined ? totals.value.changes : pendingIn(only);
    notify([...savedNotes(done), ...(left > 0 ? [pendingNote(left)] : [])].join(" "));
  } catch (error) {
    if (isRefusal(error) && project.value.directory) await saveAfterRefusal(project.value.directory, only);
    else showError(error);
  }
}

/** The result of saving. */
interface Saving {
  readonly written: readonly string[];
  /** Files that changed on disk, which the user did not want to replace. */
  readonly left: readonly string[];
  /** Files that were removed here, of which a download cannot remove the user's copy. */
  readonly removed: readonly string[];
}

function savedNotes({ written, left, removed }: Saving): string[] {
  const named = (paths: readonly string[]): string =>
    paths.length === 1 && paths[0] !== undefined ? baseName(paths[0]) : plural(paths.length, "file");
  const notes: string[] = [];
  if (written.length > 0) notes.push(`${project.value.directory ? "Saved" : "Downloaded"} ${named(written)}.`);
  if (left.length > 0) notes.push(`Not saved: ${named(left)}. The disk has another text.`);
  if (removed.length > 0) notes.push(`Removed here: ${removed.join(", ")}. Remove it from your own copy, too.`);
  return notes;
}

/** Whether the browser refused to write into the folder, because its permission ended. */
function isRefusal(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "SecurityError");
}

/** Offers to ask for the permission again, and to download instead. */
async function saveAfterRefusal(directory: FileSystemDirectoryHandle, only: string | undefined): Promise<void> {
  const answer = await choose({
    title: "The browser refused to save into the folder",
    message: `Allow this page to write into “${directory.name}”, or download the changed files instead.`,
    choices: [
      { name: "download", label: "Download" },
      { name: "allow", label: "Allow and save" },
    ],
  });
  try {
    if (answer === "allow") {
      if (await allowWriting(directory)) await save(only);
      else notify("The browser still refuses. Nothing was saved.", { level: "error" });
    } else if (answer === "download") {
      const paths = [...unsaved.value].filter((path) => only === undefined || path === only).sort();
      const { written } = await saveAsDownload(paths, false);
      notify(`Downloaded ${plural(written.length, "file")}. The folder has the old text.`);
    }
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

/** Writes files into the user's folder. Asks before replacing a file that another program has changed. */
async function saveToDirectory(directory: FileSystemDirectoryHandle, paths: readonly string[]): Promise<Saving> {
  const [written, left]: [string[], string[]] = [[], []];
  for (const path of paths) {
    const text = await currentEngine().readDisk(path);
    const onDisk = await readBack(directory, path);
    if (onDisk !== (await currentEngine().savedText(path)) && onDisk !== text) {
      const answer = await askAboutDisk(path, onDisk, text);
      if (answer === "merge" && onDisk !== null) await takeFromDisk(path, onDisk);
      if (answer !== "replace") {
        left.push(path);
        continue;
      }
    }
    if (onDisk !== text) await writeBack(directory, path, text);
    await currentEngine().noteSaved(path, text);
    written.push(path);
  }
  return { written, left, removed: [] };
}

function askAboutDisk(path: string, onDisk: string | null, text: string | null): Promise<string | null> {
  return choose({
    title: "Replace the file on disk?",
    message: `${path} was changed outside Emend since it was opened. Saving replaces that.`,
    compare: [
      { label: "On disk", text: onDisk ?? "(removed)" },
      { label: "Here", text: text ?? "(removed)" },
    ],
    choices: [
      ...(onDisk === null ? [] : [{ name: "merge", label: "Merge into the editor" }]),
      { name: "replace", label: "Replace", danger: true },
    ],
  });
}

/** Merges the text on disk into the text in the editor. Where both changed the same lines, the disk wins. */
async function takeFromDisk(path: string, onDisk: string): Promise<void> {
  const engine = currentEngine();
  await engine.write(path, onDisk, await engine.savedText(path), { kind: "typing", path });
  await engine.noteSaved(path, onDisk);
}

/**
 * Downloads one file as it is, several as an archive. A removed file has no download; it only counts as saved. With
 * `counts` false, no file counts as saved, because the folder still has the old text.
 */
async function saveAsDownload(paths: readonly string[], counts = true): Promise<Saving> {
  const saved: [path: string, text: string | null][] = [];
  for (const path of paths) saved.push([path, await currentEngine().readDisk(path)]);
  const texts = saved.filter((entry): entry is [string, string] => entry[1] !== null);
  const [first] = texts;
  if (texts.length === 1 && first) download(baseName(first[0]), new Blob([first[1]], { type: "text/plain" }));
  if (texts.length > 1) {
    const archive = (await currentEngine().zip(Object.fromEntries(texts))) as Uint8Array<ArrayBuffer>;
    download(`${project.value.name || "emend"}-changed.zip`, new Blob([archive], { type: "application/zip" }));
  }
  if (counts) for (const [path, text] of saved) await currentEngine().noteSaved(path, text);
  const removed = saved.flatMap(([path, text]) => (text === null ? [path] : []));
  return { written: texts.map(([path]) => path), left: [], removed };
}

/** Downloads the unified diff of all pending changes. */
export async function downloadPatch(): Promise<void> {
  try {
    const name = `${project.value.name || "emend"}-revision-${review.value.revision}.patch`;
    download(name, new Blob([await currentEngine().diff()], { type: "text/x-diff" }));
  } catch (error) {
    showError(error);
  }
}
