/** A session store of files, for Node. One writer at a time checks and appends, in this process and in all others. */

import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";

import { EmendError } from "../errors.js";
import { diskPath } from "../fs/disk-path.js";
import { shown } from "../validate.js";
import { conflict, continued } from "./stores.js";
import type { SessionStore } from "./types.js";

const EXTENSION = ".jsonl";

/** Age at which a lock counts as left behind, in milliseconds. One append takes a few milliseconds. */
const LOCK_MAX_MS = 10_000;

/** Time between two attempts to take a lock, in milliseconds. */
const LOCK_RETRY_MS = 5;

/**
 * Returns a session store of files in `directory`. The directory is created when the first session is saved. Only the
 * current user may read the files.
 *
 * Several agents may use the directory, in one process or in several. If two of them continue one session, the first
 * writer wins and the other one gets a `conflict`. The `emend` command reads and writes the same format.
 */
export function fileStore(directory: string): SessionStore {
  diskPath("the directory", directory);
  const path = (name: string): string => join(directory, wordOf(name) + EXTENSION);
  /** Sizes of the files in bytes, and the lengths of their texts. */
  const known = new Map<string, { size: number; length: number }>();
  const lengthOf = async (name: string, file: FileHandle, size: number): Promise<number> => {
    const last = known.get(name);
    if (size === 0 || last?.size === size) return size === 0 ? 0 : (last as { length: number }).length;
    return (await bytesAt(file, 0, size)).toString("utf8").length;
  };
  const appendAlone = async (name: string, lines: string, expected: number | undefined): Promise<void> => {
    const file = await open(path(name), "a+", 0o600);
    try {
      const { size } = await file.stat();
      const last = await bytesAt(file, Math.max(0, size - 1), Math.min(1, size));
      const length = await lengthOf(name, file, size);
      if (expected !== undefined && expected !== length) throw conflict(name);
      const text = continued(last.toString("latin1"), lines);
      const bytes = Buffer.from(text);
      await file.writeFile(bytes);
      await file.datasync();
      // A program that takes no lock may have appended between the check and the write.
      if (expected !== undefined && !(await bytesAt(file, size, bytes.length)).equals(bytes)) throw conflict(name);
      known.set(name, { size: size + bytes.length, length: length + text.length });
    } finally {
      await file.close();
    }
  };
  return {
    async append(name, lines, { expected } = {}) {
      const place = resolve(path(name));
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await inTurn(place, () => locked(`${place}.lock`, () => appendAlone(name, lines, expected)));
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

function missing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}

/** Returns the name of a document if it is one word, which cannot lead out of a directory. */
function wordOf(name: string): string {
  if (typeof name === "string" && /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(name)) return name;
  throw new EmendError("invalid_argument", `${shown(name)} cannot name a document`);
}

async function bytesAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, start);
  return bytes.subarray(0, bytesRead);
}

/** The last append of this process to each file, whichever store made it. */
const queues = new Map<string, Promise<void>>();

/** Runs `work` after the earlier calls for `place` have ended. */
async function inTurn(place: string, work: () => Promise<void>): Promise<void> {
  const before = queues.get(place);
  const turn = before === undefined ? work() : before.then(work);
  const settled = turn.catch(() => {});
  queues.set(place, settled);
  try {
    await turn;
  } finally {
    if (queues.get(place) === settled) queues.delete(place);
  }
}

/** Runs `work` while no other process holds the lock file `place`. */
async function locked(place: string, work: () => Promise<void>): Promise<void> {
  while (!(await taken(place))) {
    if (await isLeftBehind(place)) await setAside(place);
    else await new Promise((done) => setTimeout(done, LOCK_RETRY_MS));
  }
  try {
    await work();
  } finally {
    await rm(place, { force: true });
  }
}

/** Creates a lock file with the name of this process. Returns whether it is ours. */
async function taken(place: string): Promise<boolean> {
  try {
    const file = await open(place, "wx", 0o600);
    await file.writeFile(`${process.pid} ${hostname()}`).finally(() => file.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Returns whether the owner of a lock file has ended, or has held it for longer than an append can take. */
async function isLeftBehind(place: string): Promise<boolean> {
  const [found, owner] = await Promise.all([stat(place).catch(missing), readFile(place, "utf8").catch(missing)]);
  if (found === null || owner === null) return false;
  if (Date.now() - found.mtimeMs > LOCK_MAX_MS) return true;
  const [, pid, host] = /^(\d+) (.+)$/s.exec(owner) ?? [];
  if (pid === undefined || host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Removes a lock file that was left behind. Of several processes that try, one moves it. */
async function setAside(place: string): Promise<void> {
  const aside = `${place}.${process.pid}`;
  await rename(place, aside).catch(missing);
  await rm(aside, { force: true });
}
