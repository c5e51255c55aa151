/**
 * Reads the user's files into the page and writes them back.
 *
 * With `showDirectoryPicker` the folder is writable. Other browsers read it with an `<input>`, and saving is a
 * download. Nothing is uploaded.
 *
 * The package's `fromDirectory` is not used: it rejects a folder that exceeds its limits, while the page opens such a
 * folder without its large files and reports what it skipped.
 */

import { decode, FILE_BYTES_MAX, FILES_MAX, SKIPPED_FOLDERS, TOTAL_BYTES_MAX } from "./limits.js";

/** A folder or a set of files, read into memory. */
export interface Project {
  readonly name: string;
  readonly files: Record<string, string | Uint8Array>;
  /** Folder to save to, or null if saving is a download. */
  readonly directory: FileSystemDirectoryHandle | null;
  /** Descriptions of the skipped files and folders. */
  readonly skipped: readonly string[];
  /** Whether it is the bundled sample project. */
  readonly sample?: boolean;
}

/** Files read at a time. */
const READ_AT_ONCE = 16;

/** Reports the number of files read so far. */
export type Progress = (count: number) => void;

interface Found {
  readonly path: string;
  readonly file: () => Promise<File>;
}

export function canPickDirectory(): boolean {
  return "showDirectoryPicker" in window;
}

/** Asks for a folder and reads it. Returns null if the user closed the dialog. */
export async function pickDirectory(progress: Progress): Promise<Project | null> {
  let directory: FileSystemDirectoryHandle;
  try {
    directory = await window.showDirectoryPicker({ mode: "readwrite" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw error;
  }
  return readDirectory(directory, progress);
}

/** Reads a folder. */
export async function readDirectory(directory: FileSystemDirectoryHandle, progress: Progress): Promise<Project> {
  const skippedFolders = new Set<string>();
  const found: Found[] = [];
  await walk(directory, "", found, skippedFolders);
  return readAll(directory.name, found, skippedFolders, directory, progress);
}

/**
 * Takes what the user dropped. Returns the function that reads it. A single folder is writable in browsers with
 * `getAsFileSystemHandle`.
 */
export function projectOfDrop(transfer: DataTransfer): (progress: Progress) => Promise<Project | null> {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const list = transfer.files;
  const handles = items.map((item) => item.getAsFileSystemHandle?.() ?? Promise.resolve(null));
  const entries = items.map((item) => item.webkitGetAsEntry());
  return async (progress) => {
    const [first, ...others] = await Promise.all(handles);
    if (first?.kind === "directory" && others.length === 0) {
      return readDirectory(first as FileSystemDirectoryHandle, progress);
    }
    if (!entries.some((entry) => entry?.isDirectory)) return list.length > 0 ? projectOfInput(list, progress) : null;
    const skippedFolders = new Set<string>();
    const found: Found[] = [];
    const only = entries.length === 1 ? entries[0] : null;
    for (const entry of entries) if (entry) await walkEntry(entry, only ? null : "", found, skippedFolders);
    return readAll(only?.name ?? `${entries.length} items`, found, skippedFolders, null, progress);
  };
}

/** Collects the files of a dropped entry. `prefix` is null for a folder whose name is not part of the paths. */
async function walkEntry(
  entry: FileSystemEntry,
  prefix: string | null,
  found: Found[],
  skippedFolders: Set<string>,
): Promise<void> {
  const path = prefix === null ? "" : prefix + entry.name;
  if (found.length > FILES_MAX) return;
  if (entry.isFile) {
    const file = (): Promise<File> => new Promise((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
    found.push({ path: path || entry.name, file });
  } else if (SKIPPED_FOLDERS.has(entry.name)) {
    skippedFolders.add(entry.name);
  } else {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const read = (): Promise<FileSystemEntry[]> => new Promise((done, failed) => reader.readEntries(done, failed));
    // Each call returns some of the entries, and the last one none.
    for (let batch = await read(); batch.length > 0; batch = await read()) {
      for (const each of batch) await walkEntry(each, path === "" ? "" : `${path}/`, found, skippedFolders);
    }
  }
}

/** Reads the project from the files of an `<input webkitdirectory>` or of a file input. */
export function projectOfInput(list: FileList, progress: Progress): Promise<Project> {
  const files = [...list];
  const skippedFolders = new Set<string>();
  const found: Found[] = [];
  let name = files.length === 1 ? (files[0]?.name ?? "") : `${files.length} files`;
  for (const file of files) {
    const full = file.webkitRelativePath;
    if (full !== "") name = full.slice(0, full.indexOf("/"));
    const path = full === "" ? file.name : full.slice(full.indexOf("/") + 1);
    const skipped = path
      .split("/")
      .slice(0, -1)
      .find((part) => SKIPPED_FOLDERS.has(part));
    if (skipped !== undefined) skippedFolders.add(skipped);
    else if (found.length <= FILES_MAX) found.push({ path, file: () => Promise.resolve(file) });
  }
  return readAll(name, found, skippedFolders, null, progress);
}

async function walk(
  directory: FileSystemDirectoryHandle,
  prefix: string,
  found: Found[],
  skippedFolders: Set<string>,
): Promise<void> {
  for await (const [name, handle] of directory.entries()) {
    if (found.length > FILES_MAX) return;
    if (handle.kind === "file") {
      const fileHandle = handle as FileSystemFileHandle;
      found.push({ path: prefix + name, file: () => fileHandle.getFile() });
    } else if (SKIPPED_FOLDERS.has(name)) {
      skippedFolders.add(name);
    } else {
      await walk(handle as FileSystemDirectoryHandle, `${prefix}${name}/`, found, skippedFolders);
    }
  }
}

async function readAll(
  name: string,
  found: readonly Found[],
  skippedFolders: ReadonlySet<string>,
  directory: FileSystemDirectoryHandle | null,
  progress: Progress,
): Promise<Project> {
  // Without a prototype, so that a file can be named `__proto__`.
  const files: Record<string, string | Uint8Array> = Object.create(null);
  const skipped = [...skippedFolders].map((folder) => `${folder}/`);
  const unreadable: string[] = [];
  let large = 0;
  let bytesTotal = 0;
  let overflow = found.length > FILES_MAX;
  const wanted = found.slice(0, FILES_MAX);
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    // A file without permission, or one that has just disappeared, must not keep the others closed.
    const read = await Promise.all(wanted.slice(at, at + READ_AT_ONCE).map(orUnreadable(fileOf)));
    const blobs = read.flatMap((each) => (typeof each === "string" ? [] : [each]));
    const small = blobs.filter(([, blob]) => blob.size <= FILE_BYTES_MAX);
    large += blobs.length - small.length;
    bytesTotal += small.reduce((sum, [, blob]) => sum + blob.size, 0);
    if (bytesTotal > TOTAL_BYTES_MAX) {
      overflow = true;
      break;
    }
    const contents = await Promise.all(small.map(orUnreadable(readBytes)));
    for (const each of contents) if (typeof each !== "string") files[each[0]] = decode(each[1]) ?? each[1];
    unreadable.push(...[...read, ...contents].filter((each) => typeof each === "string"));
    progress(at + read.length);
  }
  if (large > 0) skipped.push(large === 1 ? "1 file over 2 MB" : `${large} files over 2 MB`);
  const [first] = unreadable;
  if (first !== undefined) {
    skipped.push(unreadable.length === 1 ? `${first}, which cannot be read` : `${unreadable.length} unreadable files`);
  }
  if (overflow) skipped.push("all files beyond 5,000 files or 64 MB");
  return { name, files, directory, skipped };
}

/** Wraps the reading of a file: its result is the path alone if the browser refuses it. */
function orUnreadable<From extends Found | readonly [string, File], To>(
  read: (from: From) => Promise<readonly [string, To]>,
): (from: From) => Promise<readonly [string, To] | string> {
  return (from) => read(from).catch(() => ("path" in from ? from.path : from[0]));
}

async function fileOf({ path, file }: Found): Promise<readonly [string, File]> {
  return [path, await file()];
}

async function readBytes([path, blob]: readonly [string, File]): Promise<readonly [string, Uint8Array]> {
  return [path, new Uint8Array(await blob.arrayBuffer())];
}

/** Asks the browser for the permission to write into a folder. Call it from a click. Returns whether it is granted. */
export async function allowWriting(directory: FileSystemDirectoryHandle): Promise<boolean> {
  if (!directory.requestPermission) return true;
  return (await directory.requestPermission({ mode: "readwrite" })) === "granted";
}

/** Returns the current text of a file on the user's disk, or null if it does not exist or is not text. */
export async function readBack(directory: FileSystemDirectoryHandle, path: string): Promise<string | null> {
  try {
    const { parent, name } = await parentOf(directory, path, false);
    const file = await (await parent.getFileHandle(name)).getFile();
    return decode(new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotFoundError") return null;
    throw error;
  }
}

/** Writes a file in the user's folder, or removes it if `content` is null. */
export async function writeBack(
  directory: FileSystemDirectoryHandle,
  path: string,
  content: string | Uint8Array | null,
): Promise<void> {
  const { parent, name } = await parentOf(directory, path, content !== null);
  if (content === null) {
    await parent.removeEntry(name);
    return;
  }
  const stream = await (await parent.getFileHandle(name, { create: true })).createWritable();
  await stream.write(content as string | Uint8Array<ArrayBuffer>);
  await stream.close();
}

async function parentOf(
  directory: FileSystemDirectoryHandle,
  path: string,
  create: boolean,
): Promise<{ parent: FileSystemDirectoryHandle; name: string }> {
  const names = path.split("/");
  const name = names.pop() ?? path;
  let parent = directory;
  for (const part of names) parent = await parent.getDirectoryHandle(part, { create });
  return { parent, name };
}

/** Offers a file as a download. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads the URL after the click returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

declare global {
  interface Window {
    showDirectoryPicker(options?: { mode?: "read" | "readwrite" }): Promise<FileSystemDirectoryHandle>;
  }
  interface FileSystemHandle {
    queryPermission?(options: { mode: "read" | "readwrite" }): Promise<PermissionState>;
    requestPermission?(options: { mode: "read" | "readwrite" }): Promise<PermissionState>;
  }
  interface DataTransferItem {
    getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
  }
}
