/** A folder of a browser as an environment: one that the user picked, or one of the private file system. */

import { bytesOf } from "../bytes.js";
import { EmendError } from "../errors.js";
import { fieldOf } from "../exceptions.js";
import type { BlobLike, Bytes, DirectoryHandle } from "../files/types.js";
import type { ListEntry } from "../host/environment-types.js";
import { invalid, requireText } from "../validate.js";
import {
  changedMeanwhile,
  failed,
  isMissing,
  method,
  namesDirectory,
  namesOf,
  parentAndName,
  replacedBy,
  requireReplaced,
  throwIfAborted,
} from "./methods.js";
import { Turns } from "./turns.js";
import type { FsEnvironment } from "./types.js";

interface WritableFile {
  write(bytes: Bytes): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
}

interface FileHandle {
  readonly kind: "file";
  getFile(): Promise<BlobLike & { readonly size: number; readonly lastModified: number }>;
  createWritable?(): Promise<WritableFile>;
}

/** The methods of a directory handle. The public type omits those that older DOM declarations lack. */
interface Directory {
  readonly kind: "directory";
  entries(): AsyncIterable<[string, Directory | FileHandle]>;
  getDirectoryHandle(name: string, options: { create: boolean }): Promise<Directory>;
  getFileHandle(name: string, options: { create: boolean }): Promise<FileHandle>;
  removeEntry(name: string): Promise<void>;
}

/** Files of a directory that are described at the same time. */
const CONCURRENT_MAX = 16;

/**
 * Returns an environment over a folder that the user picked, e.g. with `showDirectoryPicker({ mode: "readwrite" })`.
 *
 * The browser confines a handle to its folder. It replaces a file as a whole when the new content is complete. A save of
 * another program in the milliseconds between the last comparison and this replacement is lost. Without the user's permission, a
 * call fails with code `permission_denied`.
 */
export function directoryFs(handle: DirectoryHandle): FsEnvironment {
  if (fieldOf(handle, "kind") !== "directory") throw invalid("the handle must be a directory handle");
  return overHandle(async () => handle as unknown as Directory);
}

/**
 * Returns an environment over a directory of the browser's private file system, by default over all of it. The directory
 * is created with the first call.
 *
 * @throws {EmendError} with code `permission_denied` if `directory` is absolute or has a `..` segment. A call fails with
 *   code `unsupported` if the browser has no private file system.
 */
export function opfsFs(directory = ""): FsEnvironment {
  const names = namesOf(requireText("the directory", directory));
  return overHandle(async () => {
    const storage = (globalThis as { navigator?: { storage?: { getDirectory?(): Promise<unknown> } } }).navigator
      ?.storage;
    if (storage?.getDirectory === undefined)
      throw new EmendError("unsupported", "there is no private file system here (`navigator.storage.getDirectory`)");
    return below((await storage.getDirectory()) as Directory, names, true);
  });
}

function overHandle(open: () => Promise<Directory>): FsEnvironment {
  // The calls of one file wait for each other: a write that fails removes the new file that it made.
  const turns = new Turns();
  const parentOf = async (above: readonly string[], create = false) => below(await open(), above, create);
  return {
    read: method("read", async (path, options) => {
      throwIfAborted(options);
      const [above, name] = parentAndName(path);
      const file = await (await parentOf(above)).getFileHandle(name, { create: false });
      return new Uint8Array(await (await file.getFile()).arrayBuffer());
    }),
    write: method("write", async (path, content, options) => {
      throwIfAborted(options);
      const bytes = bytesOf(content);
      if (bytes === undefined) throw invalid("the content must be a Uint8Array");
      const [above, name] = parentAndName(path);
      const replaces = replacedBy(options);
      await turns.take([...above, name].join("/"), async () => {
        const parent = await parentOf(above, true);
        const isNew = await isAbsent(parent, name);
        if (isNew) requireReplaced(undefined, replaces);
        else if (replaces === null) throw changedMeanwhile();
        const file = await parent.getFileHandle(name, { create: true });
        try {
          await replace(file, bytes as Bytes, async () => {
            throwIfAborted(options);
            if (!isNew) await compare(file, replaces);
          });
        } catch (thrown) {
          if (isNew) await parent.removeEntry(name).catch(() => {});
          throw thrown;
        }
      });
    }),
    remove: method("remove", async (path, options) => {
      throwIfAborted(options);
      const [above, name] = parentAndName(path);
      const replaces = replacedBy(options);
      await turns.take([...above, name].join("/"), async () => {
        const parent = await parentOf(above);
        // A directory is refused, as everywhere; `removeEntry` would remove an empty one.
        if (replaces && (await isAbsent(parent, name))) throw changedMeanwhile();
        await compare(await parent.getFileHandle(name, { create: false }), replaces);
        await parent.removeEntry(name);
      });
    }),
    stat: method("stat", async (path, options) => {
      throwIfAborted(options);
      const names = namesOf(path);
      const name = names.pop();
      try {
        const parent = await parentOf(names);
        if (name === undefined) return { kind: "directory" };
        const found = await described(parent, name);
        return namesDirectory(path) && found.kind !== "directory" ? null : found;
      } catch (thrown) {
        if (isMissing(thrown)) return null;
        throw thrown;
      }
    }),
    list: method("list", async (path, options) => {
      const directory = await below(await open(), namesOf(path), false);
      const found: ListEntry[] = [];
      const waiting: (() => Promise<void>)[] = [];
      for await (const [name, entry] of directory.entries()) {
        throwIfAborted(options);
        if (entry.kind === "directory") found.push({ name, kind: "directory" });
        else waiting.push(async () => void found.push({ name, ...(await fileStat(entry)) }));
      }
      for (let next = 0; next < waiting.length; next += CONCURRENT_MAX) {
        throwIfAborted(options);
        // A file that has gone since is left out.
        const missing = (thrown: unknown): void => {
          if (!isMissing(thrown)) throw thrown;
        };
        await Promise.all(waiting.slice(next, next + CONCURRENT_MAX).map((describe) => describe().catch(missing)));
      }
      return found;
    }),
  };
}

async function below(directory: Directory, names: readonly string[], create: boolean): Promise<Directory> {
  for (const name of names) {
    directory = await directory.getDirectoryHandle(name, { create }).catch((thrown: unknown) => {
      throw fieldOf(thrown, "name") === "TypeMismatchError" ? failed("ENOTDIR") : thrown;
    });
  }
  return directory;
}

async function described(parent: Directory, name: string) {
  try {
    return await fileStat(await parent.getFileHandle(name, { create: false }));
  } catch (thrown) {
    if (fieldOf(thrown, "name") === "TypeMismatchError") return { kind: "directory" as const };
    throw thrown;
  }
}

async function fileStat(handle: FileHandle) {
  const { size, lastModified } = await handle.getFile();
  return { kind: "file" as const, size, modifiedMs: lastModified };
}

async function isAbsent(parent: Directory, name: string): Promise<boolean> {
  try {
    await parent.getFileHandle(name, { create: false });
    return false;
  } catch (thrown) {
    if (isMissing(thrown)) return true;
    throw thrown;
  }
}

/** Throws if a file does not have the content that a change replaces. */
async function compare(file: FileHandle, replaces: Uint8Array | null | undefined): Promise<void> {
  if (replaces === undefined) return;
  const now = await file.getFile();
  if (replaces === null || now.size !== replaces.length) throw changedMeanwhile();
  requireReplaced(new Uint8Array(await now.arrayBuffer()), replaces);
}

/** Replaces the content of a file. The browser writes to a copy, which takes the place of the file when it is closed. */
async function replace(file: FileHandle, bytes: Bytes, mayEnd: () => Promise<void>): Promise<void> {
  if (file.createWritable === undefined)
    throw new EmendError("unsupported", "this browser does not write files of a folder (`createWritable`)");
  const stream = await file.createWritable();
  try {
    await stream.write(bytes);
    await mayEnd();
  } catch (thrown) {
    await stream.abort(thrown).catch(() => {});
    throw thrown;
  }
  await stream.close();
}
