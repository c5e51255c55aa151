/**
 * Reads the user's files into the page and writes them back.
 *
 * With `showDirectoryPicker` the folder is writable. Other browsers read it with an `<input>`, and saving is a
 * download. Nothing is uploaded.
 *
 * The package's `fromDirectory` is not used: it rejects a folder that exceeds its limits, while the page opens such a
 * folder without its large files and reports what it skipped.
 */

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

/** Folders that are not read: version control, dependencies, build output. */
const SKIPPED_FOLDERS = new Set([".git", ".hg", ".svn", "node_modules", "target", ".venv", "__pycache__", ".next"]);
const FILE_BYTES_MAX = 2 * 1024 * 1024;
const FILES_MAX = 5_000;
const TOTAL_BYTES_MAX = 64 * 1024 * 1024;

interface Found {
  readonly path: string;
  readonly file: () => Promise<File>;
}

export function canPickDirectory(): boolean {
  return "showDirectoryPicker" in window;
}

/** Asks for a folder and reads it. Returns null if the user closed the dialog. */
export async function pickDirectory(): Promise<Project | null> {
  let directory: FileSystemDirectoryHandle;
  try {
    directory = await window.showDirectoryPicker({ mode: "readwrite" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw error;
  }
  const skippedFolders = new Set<string>();
  const found: Found[] = [];
  await walk(directory, "", found, skippedFolders);
  return readAll(directory.name, found, skippedFolders, directory);
}

/** Reads the project from the files of an `<input webkitdirectory>` or of a file input. */
export function projectOfInput(list: FileList): Promise<Project> {
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
  return readAll(name, found, skippedFolders, null);
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
): Promise<Project> {
  const files: Record<string, string | Uint8Array> = {};
  const skipped = [...skippedFolders].map((folder) => `${folder}/`);
  let large = 0;
  let bytesTotal = 0;
  let overflow = found.length > FILES_MAX;
  for (const { path, file } of found.slice(0, FILES_MAX)) {
    const blob = await file();
    if (blob.size > FILE_BYTES_MAX) {
      large += 1;
      continue;
    }
    if (bytesTotal + blob.size > TOTAL_BYTES_MAX) {
      overflow = true;
      break;
    }
    bytesTotal += blob.size;
    const bytes = new Uint8Array(await blob.arrayBuffer());
    files[path] = decode(bytes) ?? bytes;
  }
  if (large > 0) skipped.push(large === 1 ? "1 file over 2 MB" : `${large} files over 2 MB`);
  if (overflow) skipped.push("all files beyond 5,000 files or 64 MB");
  return { name, files, directory, skipped };
}

/** Decodes UTF-8 and keeps a byte order mark. Returns null if the bytes are not UTF-8 text. */
export function decode(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8_000).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
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

/** Writes a file in the user's folder, or removes it if `text` is null. */
export async function writeBack(
  directory: FileSystemDirectoryHandle,
  path: string,
  text: string | null,
): Promise<void> {
  const { parent, name } = await parentOf(directory, path, text !== null);
  if (text === null) {
    await parent.removeEntry(name);
    return;
  }
  const stream = await (await parent.getFileHandle(name, { create: true })).createWritable();
  await stream.write(text);
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
}
