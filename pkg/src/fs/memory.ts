/** Files in memory, as an environment. */

import { bytesOf } from "../bytes.js";
import { contentsOf } from "../files/project-files.js";
import type { Bytes, FilesIn } from "../files/types.js";
import type { FileStat, ListEntry } from "../host/environment-types.js";
import { invalid } from "../validate.js";
import {
  failed,
  fileNames,
  method,
  namesDirectory,
  namesOf,
  parentAndName,
  replacedBy,
  requireReplaced,
  throwIfAborted,
} from "./methods.js";
import type { MemoryFs } from "./types.js";

interface MemoryFile {
  readonly bytes: Bytes;
  readonly modifiedMs: number;
}

type Directory = Map<string, Directory | MemoryFile>;

/**
 * Returns an environment of files in memory, for tests and for projects that come from elsewhere. Unlike the option
 * `files` of an agent, several agents can share it, and `export()` returns what was saved.
 *
 * @throws {EmendError} if a path of `files` leads out of the root or occurs twice.
 */
export function memoryFs(files: FilesIn = {}): MemoryFs {
  const root: Directory = new Map();
  for (const [path, bytes] of contentsOf(files)) {
    if (path.endsWith("/")) makeDirectory(root, namesOf(path));
    else put(root, path, bytes.slice());
  }
  return {
    read: method("read", async (path, options) => {
      throwIfAborted(options);
      const found = at(root, fileNames(path));
      if (found instanceof Map) throw failed("EISDIR");
      return found.bytes.slice();
    }),
    write: method("write", async (path, content, options) => {
      throwIfAborted(options);
      const bytes = bytesOf(content);
      if (bytes === undefined) throw invalid("the content must be a Uint8Array");
      const found = find(root, fileNames(path));
      if (!(found instanceof Map)) requireReplaced(found?.bytes, replacedBy(options));
      put(root, path, bytes.slice());
    }),
    remove: method("remove", async (path, options) => {
      throwIfAborted(options);
      const [above, name] = parentAndName(path);
      const [found, replaces] = [find(root, [...above, name]), replacedBy(options)];
      if (found === undefined && !replaces) throw failed("ENOENT");
      if (found instanceof Map) throw failed("EISDIR");
      requireReplaced(found?.bytes, replaces);
      (at(root, above) as Directory).delete(name);
    }),
    stat: method("stat", async (path, options) => {
      throwIfAborted(options);
      const found = find(root, namesOf(path));
      if (found === undefined || (namesDirectory(path) && !(found instanceof Map))) return null;
      return described(found);
    }),
    list: method("list", async (path, options): Promise<ListEntry[]> => {
      throwIfAborted(options);
      const found = at(root, namesOf(path));
      if (!(found instanceof Map)) throw failed("ENOTDIR");
      return [...found].map(([name, entry]) => ({ name, ...described(entry) }));
    }),
    export: () => Object.fromEntries(allBelow(root, "")),
  };
}

function described(entry: Directory | MemoryFile): FileStat {
  if (entry instanceof Map) return { kind: "directory" };
  return { kind: "file", size: entry.bytes.length, modifiedMs: entry.modifiedMs };
}

function find(root: Directory, names: readonly string[]): Directory | MemoryFile | undefined {
  let found: Directory | MemoryFile | undefined = root;
  for (const name of names) found = found instanceof Map ? found.get(name) : undefined;
  return found;
}

function at(root: Directory, names: readonly string[]): Directory | MemoryFile {
  const found = find(root, names);
  if (found === undefined) throw failed("ENOENT");
  return found;
}

function makeDirectory(root: Directory, names: readonly string[]): Directory {
  let directory = root;
  for (const name of names) {
    const next = directory.get(name) ?? new Map();
    if (!(next instanceof Map)) throw failed("ENOTDIR");
    directory.set(name, next);
    directory = next;
  }
  return directory;
}

function put(root: Directory, path: string, bytes: Bytes): void {
  const [above, name] = parentAndName(path);
  if (find(root, [...above, name]) instanceof Map) throw failed("EISDIR");
  makeDirectory(root, above).set(name, { bytes, modifiedMs: Date.now() });
}

function* allBelow(directory: Directory, prefix: string): Generator<[path: string, bytes: Bytes]> {
  for (const [name, entry] of directory) {
    const path = prefix + name;
    if (!(entry instanceof Map)) yield [path, entry.bytes.slice()];
    else if (entry.size === 0) yield [`${path}/`, new Uint8Array()];
    else yield* allBelow(entry, `${path}/`);
  }
}
