/** `emend/node`: functions that need Node. A session store of files, folders by their paths, and an environment. */

import { constants } from "node:fs";
import { lstat, mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";

import { EmendError } from "./errors.js";
import { cleanPath, contentsOf, Gathered, onFolder } from "./files/project-files.js";
import type { Bytes, FilesIn, ImportOptions } from "./files/types.js";
import { diskPath } from "./fs/disk-path.js";
import { isTemporaryName } from "./fs/temporary.js";

export { nodeFs } from "./fs/node.js";
export type { FsEnvironment } from "./fs/types.js";
export { fileStore } from "./sessions/file-store.js";

/**
 * Reads the folder at `path` into a record of files for `Agent.create`. Symbolic links, devices and other special files
 * are skipped, and so are temporary files that a killed {@link nodeFs} left. `filter` is called for directories too, with a path that ends in `/`; a rejected directory is not read.
 *
 * @throws {EmendError} with code `limit_reached` past `maxBytes` or `maxFiles`, before the excess is read.
 */
export async function fromDirectory(path: string, options: ImportOptions = {}): Promise<Record<string, Bytes>> {
  diskPath("the path", path);
  const gathered = new Gathered(options);
  await onFolder(() => takeBelow(path, "", gathered), gathered);
  return gathered.files();
}

/**
 * Writes files in the form that `files.export()` returns into the folder at `path`, and creates the folder if
 * necessary. Other files in the folder stay.
 *
 * @throws {EmendError} with code `permission_denied` if a symbolic link is in the way: nothing is written through it.
 */
export async function toDirectory(path: string, files: FilesIn): Promise<void> {
  diskPath("the path", path);
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
    } else if (entry.isFile() && !isTemporaryName(entry.name) && gathered.wants(path)) {
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
