/**
 * Saves accepted text: into the folder, or as a download. `download.ts` has the other downloads.
 *
 * Only accepted text and the user's own lines are saved. Pending edits never reach the disk.
 */
import { describe } from "../engine.js";
import { allowWriting, download, readBack, writeBack } from "../folder.js";
import { plural } from "../hunk-text.js";
import { choose, currentEngine, editor, files, notify, project, showError, totals, unsaved } from "../store.js";
import { baseName } from "../tree.js";
import { settleForSaving } from "./kept.js";
import { refresh } from "./refresh.js";

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
    if (!(await settleForSaving(paths))) return;
    const { directory, remote } = project.value;
    if (remote) await currentEngine().saveFiles(paths);
    const done = remote
      ? allSaved(paths)
      : directory
        ? await saveToDirectory(directory, paths)
        : await saveAsDownload(paths);
    await refresh();
    const left = only === undefined ? totals.value.changes : pendingIn(only);
    const notes = [...savedNotes(done), ...(left > 0 ? [pendingNote(left)] : [])];
    notify(notes.join(" "), { level: done.failed ? "error" : "info" });
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
  /** Whether all of them were removed from the disk. */
  readonly isGone: boolean;
  /** The file at which saving ended, because the disk refused it. */
  readonly failed: { readonly path: string; readonly message: string } | null;
  /** Files that were removed here, of which a download cannot remove the user's copy. */
  readonly removed: readonly string[];
}

function allSaved(written: readonly string[]): Saving {
  return { written, left: [], isGone: false, failed: null, removed: [] };
}

function savedNotes({ written, left, isGone, removed, failed }: Saving): string[] {
  const named = (paths: readonly string[]): string =>
    paths.length === 1 && paths[0] !== undefined ? baseName(paths[0]) : plural(paths.length, "file");
  const notes: string[] = [];
  if (written.length > 0)
    notes.push(`${project.value.directory || project.value.remote ? "Saved" : "Downloaded"} ${named(written)}.`);
  if (left.length > 0)
    notes.push(`Not saved: ${named(left)}. ${isGone ? "The disk has no such file." : "The disk has another text."}`);
  if (failed) notes.push(`${failed.path} could not be saved: ${failed.message}. Files after it were not tried.`);
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

export function pendingNote(count: number): string {
  return `${plural(count, "change")} still to review ${count === 1 ? "is" : "are"} not saved.`;
}

/** Writes files into the user's folder. Asks before replacing a file that another program has changed. */
async function saveToDirectory(directory: FileSystemDirectoryHandle, paths: readonly string[]): Promise<Saving> {
  const [written, left]: [string[], string[]] = [[], []];
  let failed: Saving["failed"] = null;
  let isGone = true;
  for (const path of paths) {
    const text = await currentEngine().readDisk(path);
    const onDisk = await readBack(directory, path);
    if (onDisk !== (await currentEngine().savedText(path)) && onDisk !== text) {
      const answer = await askAboutDisk(path, onDisk, text);
      if (answer === "merge" && onDisk !== null) await takeFromDisk(path, onDisk);
      if (answer !== "replace") {
        left.push(path);
        isGone &&= onDisk === null;
        continue;
      }
    }
    try {
      if (onDisk !== text) await writeBack(directory, path, text);
    } catch (error) {
      // The files before this one are on the disk: the page must say so, and which one is not.
      if (isRefusal(error)) {
        await refresh();
        throw error;
      }
      failed = { path, message: describe(error).message.replace(/\.$/, "") };
      break;
    }
    await currentEngine().noteSaved(path, text);
    written.push(path);
  }
  return { written, left, isGone, removed: [], failed };
}

function askAboutDisk(path: string, onDisk: string | null, text: string | null): Promise<string | null> {
  const isGone = onDisk === null;
  return choose({
    title: isGone ? "Save the removed file again?" : "Replace the file on disk?",
    message: isGone
      ? `${path} was removed outside Emend since it was opened. Saving creates it again.`
      : `${path} was changed outside Emend since it was opened. Saving replaces that.`,
    compare: [
      { label: "On disk", text: onDisk ?? "(removed)" },
      { label: "Here", text: text ?? "(removed)" },
    ],
    choices: [
      ...(isGone ? [] : [{ name: "merge", label: "Merge into the editor" }]),
      { name: "replace", label: isGone ? "Save again" : "Replace", danger: true },
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
  return { written: texts.map(([path]) => path), left: [], isGone: false, removed, failed: null };
}
