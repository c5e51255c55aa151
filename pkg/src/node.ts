/** `emend/node`: functions that need Node. A session store of files, and folders by their paths. */

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { EmendError } from "./errors.js";
import { cleanPath, contentsOf, Gathered, onFolder } from "./files/project-files.js";
import type { Bytes, FilesIn, ImportOptions } from "./files/types.js";
import { conflict, continued } from "./sessions/stores.js";
import type { SessionStore } from "./sessions/types.js";
import { requireText, shown } from "./validate.js";

const EXTENSION = ".jsonl";

/**
 * Returns a session store of files in `directory`. The directory is created when the first session is saved. Only the
 * current user may read the files.
 *
 * Only one process at a time may write a session; a second writer gets a `conflict`. The `emend` command reads and
 * writes the same format.
 */
export function fileStore(directory: string): SessionStore {
  requireText("the directory", directory);
  const path = (name: string): string => join(directory, wordOf(name) + EXTENSION);
  /** Sizes of the files in bytes, and the lengths of their texts. */
  const known = new Map<string, { size: number; length: number }>();
  const lengthOf = async (name: string, file: FileHandle, size: number): Promise<number> => {
    const last = known.get(name);
    if (size === 0 || last?.size === size) return size === 0 ? 0 : (last as { length: number }).length;
    const bytes = Buffer.alloc(size);
    await file.read(bytes, 0, size, 0);
    return bytes.toString("utf8").length;
  };
  const missing = (error: unknown): null => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  };
  return {
    async append(name, lines, { expected } = {}) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await open(path(name), "a+", 0o600);
      try {
        const { size } = await file.stat();
        const last = Buffer.alloc(size > 0 ? 1 : 0);
        if (size > 0) await file.read(last, 0, 1, size - 1);
        const length = await lengthOf(name, file, size);
        if (expected !== undefined && expected !== length) throw conflict(name);
        const text = continued(last.toString("latin1"), lines);
        await file.writeFile(text);
        await file.datasync();
        const end = size + Buffer.byteLength(text);
        // Another process may have appended between the check and the write.
        if (expected !== undefined && (await file.stat()).size !== end) throw conflict(name);
        known.set(name, { size: end, length: length + text.length });
      } finally {
        await file.close();
      }
    },
    async load(name) {
      const bytes = await readFile(path(name)).catch(missing);
      const text = bytes?.toString("utf8") ?? null;
      known.set(name, { size: bytes?.length ?? 0, length: text?.length ?? 0 });
      return text;
    },
    async names() {
      const files = (await readdir(directory).catch(missing)) ?? [];
      return files.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
    },
    remove: async (name) => (await rm(path(name)).catch(missing)) !== null,
  };
}

/** Returns the name of a document if it is one word, which cannot lead out of a directory. */
function wordOf(name: string): string {
  if (typeof name === "string" && /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(name)) return name;
  throw new EmendError("invalid_argument", `${shown(name)} cannot name a document`);
}

/**
 * Reads the folder at `path` into a record of files for `Agent.create`. Symbolic links, devices and other special files
 * are skipped. `filter` is called for directories too, with a path that ends in `/`; a rejected directory is not read.
 *
 * @throws {EmendError} with code `limit_reached` past `maxBytes` or `maxFiles`, before the excess is read.
 */
export async function fromDirectory(path: string, options: ImportOptions = {}): Promise<Record<string, Bytes>> {
  requireText("the path", path);
  const gathered = new Gathered(options);
  await onFolder(() => takeBelow(path, "", gathered));
  return gathered.files();
}

/**
 * Writes files in the form that `files.export()` returns into the folder at `path`, and creates the folder if
 * necessary. Other files in the folder stay.
 *
 * @throws {EmendError} with code `permission_denied` if a symbolic link is in the way: nothing is written through it.
 */
export async function toDirectory(path: string, files: FilesIn): Promise<void> {
  requireText("the path", path);
  const contents = contentsOf(files);
  await onFolder(async () => {
    await mkdir(path, { recursive: true });
    const made = new Set<string>();
    for (const [below, bytes] of contents) {
      for (let slash = below.indexOf("/"); slash !== -1; slash = below.indexOf("/", slash + 1)) {
        const directory = below.slice(0, slash);
        if (!made.has(directory)) await makeDirectory(join(path, directory));
        made.add(directory);
      }
      if (!below.endsWith("/")) await writeFile(join(path, below), bytes);
    }
  });
}

// These flags prevent following symbolic links and blocking on FIFOs. Windows has neither flag.
const { O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

async function takeBelow(root: string, below: string, gathered: Gathered): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  if (entries.length === 0 && below !== "") gathered.add(cleanPath(below), new Uint8Array());
  for (const entry of entries) {
    const path = below + entry.name;
    if (entry.isDirectory()) {
      if (gathered.wants(`${path}/`)) await takeBelow(root, `${path}/`, gathered);
    } else if (entry.isFile() && gathered.wants(path)) {
      await takeFile(join(root, path), cleanPath(path), gathered);
    }
  }
}

async function takeFile(place: string, path: string, gathered: Gathered): Promise<void> {
  const file = await open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    gathered.reserve(path, (await file.stat()).size);
    gathered.add(path, new Uint8Array(await file.readFile()));
  } finally {
    await file.close();
  }
}

async function makeDirectory(place: string): Promise<void> {
  await mkdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  if ((await lstat(place)).isDirectory()) return;
  throw new EmendError(
    "permission_denied",
    `${place} is a symbolic link or a file where a directory is needed; nothing was written through it`,
  );
}

async function writeFile(place: string, bytes: Uint8Array): Promise<void> {
  const file = await open(place, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o666);
  try {
    await file.writeFile(bytes);
  } finally {
    await file.close();
  }
}
