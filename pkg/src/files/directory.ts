/** Reads and writes the folders that a user gives to a page. */

import { invalid } from "../validate.js";
import { cleanPath, contentsOf, Gathered, onFolder } from "./project-files.js";
import type { BlobLike, Bytes, DirectoryHandle, FilesIn, ImportOptions, PickedFile } from "./types.js";

interface WritableFile {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

interface FileHandle {
  readonly kind: "file";
  getFile(): Promise<BlobLike & { readonly size: number }>;
  createWritable(): Promise<WritableFile>;
}

/** The methods of a directory handle. The public type omits those that older DOM declarations lack. */
interface Directory {
  readonly kind: "directory";
  entries(): AsyncIterable<[string, Directory | FileHandle]>;
  getDirectoryHandle(name: string, options: { create: boolean }): Promise<Directory>;
  getFileHandle(name: string, options: { create: boolean }): Promise<FileHandle>;
}

/**
 * Reads a folder into a record of files for `Agent.create`. The folder is a handle from `showDirectoryPicker()` or from
 * the browser's private file system, or the `files` of an `<input webkitdirectory>`. `filter` is called for directories
 * too, with a path that ends in `/`; a rejected directory is not read.
 *
 * @throws {EmendError} with code `limit_reached` past `maxBytes` or `maxFiles`, before the excess is read.
 */
export async function fromDirectory(
  source: DirectoryHandle | Iterable<PickedFile>,
  options: ImportOptions = {},
): Promise<Record<string, Bytes>> {
  const gathered = new Gathered(options);
  const { kind, [Symbol.iterator]: list } = Object(source) as { kind?: unknown; [Symbol.iterator]?: unknown };
  if (list !== undefined) await onFolder(() => takePicked(source as Iterable<PickedFile>, gathered), gathered);
  else if (kind === "directory")
    await onFolder(() => takeBelow(source as unknown as Directory, "", gathered), gathered);
  else throw invalid("the source must be a directory handle or a list of files");
  return gathered.files();
}

/** Writes files in the form that `files.export()` returns into a folder. Other files in the folder stay. */
export async function toDirectory(target: DirectoryHandle, files: FilesIn): Promise<void> {
  if (Object(target).kind !== "directory") throw invalid("the target must be a directory handle");
  const contents = contentsOf(files);
  await onFolder(async () => {
    for (const [path, bytes] of contents) await put(target as unknown as Directory, path.split("/"), bytes);
  });
}

async function put(directory: Directory, names: string[], bytes: Uint8Array): Promise<void> {
  // Empty if the path is a directory's.
  const name = names.pop() as string;
  for (const above of names) directory = await directory.getDirectoryHandle(above, { create: true });
  if (name === "") return;
  const file = await (await directory.getFileHandle(name, { create: true })).createWritable();
  await file.write(bytes);
  await file.close();
}

async function takeBelow(directory: Directory, path: string, gathered: Gathered): Promise<void> {
  let isEmpty = true;
  for await (const [name, entry] of directory.entries()) {
    isEmpty = false;
    const below = path + name;
    if (entry.kind === "directory") {
      if (gathered.wants(`${below}/`)) await takeBelow(entry, `${below}/`, gathered);
    } else if (gathered.wants(below)) {
      await takeFile(await entry.getFile(), below, gathered);
    }
  }
  if (isEmpty && path !== "") gathered.add(cleanPath(path), new Uint8Array());
}

async function takePicked(files: Iterable<PickedFile>, gathered: Gathered): Promise<void> {
  const refused = new Set<string>();
  for (const file of files) {
    // The first segment is the name of the picked folder.
    const path = file.webkitRelativePath.replace(/^[^/]*\//, "") || file.name;
    const above = path
      .split("/")
      .slice(0, -1)
      .map((_, index, names) => `${names.slice(0, index + 1).join("/")}/`);
    const stops = above.find((directory) => refused.has(directory) || !gathered.wants(directory));
    if (stops !== undefined) refused.add(stops);
    else if (gathered.wants(path)) await takeFile(file, path, gathered);
  }
}

async function takeFile(file: BlobLike & { readonly size: number }, path: string, gathered: Gathered): Promise<void> {
  const clean = cleanPath(path);
  gathered.reserve(clean, file.size);
  gathered.add(clean, new Uint8Array(await file.arrayBuffer()));
}
