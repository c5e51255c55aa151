/** Takes over the changes that other programs made in the folder of a project since it was left. */
import { allowWriting, readBack, readDirectory } from "../folder.js";
import { plural } from "../hunk-text.js";
import { currentEngine, files, notify, unsaved } from "../store.js";
import { refresh } from "./refresh.js";

/**
 * Returns whether the page may read and write a folder of an earlier visit. Asks the user if the browser permits a question
 * now, in a click.
 */
export async function isAllowed(directory: FileSystemDirectoryHandle): Promise<boolean> {
  const state = (await directory.queryPermission?.({ mode: "readwrite" })) ?? "granted";
  if (state !== "prompt") return state === "granted";
  if (navigator.userActivation?.isActive === false) return false;
  return allowWriting(directory).catch(() => false);
}

/**
 * Reads the folder again. A file with unsaved edits keeps them: saving it shows both texts. Files that are not text stay as
 * they were read first.
 */
export async function rereadFolder(directory: FileSystemDirectoryHandle): Promise<void> {
  const engine = currentEngine();
  const { files: now } = await readDirectory(directory, () => undefined);
  const known = new Set(files.value.map((file) => file.path));
  const changed: string[] = [];
  for (const [path, text] of Object.entries(now)) {
    if (typeof text !== "string" || unsaved.value.has(path)) continue;
    const saved = await engine.savedText(path);
    // A file that was not text, or that a task has created here.
    if (text === saved || (saved === null && known.has(path))) continue;
    await engine.write(path, text, saved, { kind: "disk", path });
    await engine.noteSaved(path, text);
    changed.push(path);
  }
  for (const { path, pendingHunks } of files.value) {
    if (path in now || pendingHunks > 0 || unsaved.value.has(path)) continue;
    // Not every file that the list lacks is gone: it may be too large now, or not text.
    if ((await engine.savedText(path)) === null || !(await isGone(directory, path))) continue;
    await engine.remove(path);
    await engine.noteSaved(path, null);
    changed.push(path);
  }
  if (changed.length === 0) return;
  await refresh();
  const which = changed.length === 1 ? changed[0] : plural(changed.length, "file");
  notify(`Read again from the folder: ${which}, changed outside Emend since.`);
}

/** Whether a folder has no file with this path. */
async function isGone(directory: FileSystemDirectoryHandle, path: string): Promise<boolean> {
  if ((await readBack(directory, path)) !== null) return false;
  try {
    const names = path.split("/");
    const name = names.pop() ?? path;
    let parent = directory;
    for (const part of names) parent = await parent.getDirectoryHandle(part);
    await parent.getFileHandle(name);
    return false;
  } catch (error) {
    return error instanceof DOMException && error.name === "NotFoundError";
  }
}
