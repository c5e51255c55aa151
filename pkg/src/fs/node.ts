/**
 * A directory of Node as an environment.
 *
 * Another program can put a symbolic link in the way between a check and an access, and Node has no `openat`. On Linux, each
 * access goes through an open directory below `/proc/self/fd`, so it stays in the directory that was checked. Elsewhere
 * places are compared again after each access, and a temporary file is renamed only within its own directory.
 */

import { type BigIntStats, constants, type Stats } from "node:fs";
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  unlink,
} from "node:fs/promises";
import { release } from "node:os";
import { isAbsolute, join, relative, resolve, sep } from "node:path";

import { bytesOf } from "../bytes.js";
import { fieldOf } from "../exceptions.js";
import type { FileStat, ListEntry } from "../host/environment-types.js";
import { invalid, requireText } from "../validate.js";
import { failed, isMissing, method, namesOf, parentAndName, refused, throwIfAborted } from "./methods.js";
import type { FsEnvironment } from "./types.js";

// These flags prevent following symbolic links and blocking on FIFOs. Windows has neither flag.
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY, W_OK } = constants;

const WINDOWS = process.platform === "win32";
const LEADS_OUT = "a symbolic link on the way leads out of the root";
const LEADS_NOWHERE = "a symbolic link on the way leads nowhere";
const CHANGES = "the path changes while it is used";
const NOT_A_FILE = "it is not a regular file";

/** The open files of this process, on Linux: a path below an open directory is a path in that directory. */
const HELD = "/proc/self/fd";

/** Attempts to open a file that other programs replace. */
const ATTEMPTS = 5;

/**
 * Returns an environment over a directory on disk. It reads nothing before its first call. It has no `exec`, so the model gets no
 * shell; add one with `{ ...nodeFs(root), exec }`.
 *
 * Symbolic links that lead out of the root are refused in reads, listings and writes. A write replaces the file by a
 * temporary file beside it, with the same owner and mode; without the right to give the owner, it has no set-id bits. A
 * file with several hard links, or in a directory that takes no new files, is written in place.
 */
export function nodeFs(root: string): FsEnvironment {
  const given = resolve(requireText("the root", root));
  const workingDirectory = slashed(given);
  const { platform } = process;
  const disk = new Disk(given, workingDirectory);
  return {
    workingDirectory,
    platform: platform === "darwin" || platform === "win32" ? platform : "linux",
    osVersion: release(),
    read: method("read", async (path, options) => {
      throwIfAborted(options);
      const file = await disk.open(namesOf(path, WINDOWS));
      try {
        return new Uint8Array(await file.readFile());
      } finally {
        await file.close();
      }
    }),
    write: method("write", async (path, content, options) => {
      const bytes = bytesOf(content);
      if (bytes === undefined) throw invalid("the content must be a Uint8Array");
      const [above, name] = parentAndName(path, WINDOWS);
      throwIfAborted(options);
      await disk.write(above, name, bytes, () => throwIfAborted(options));
    }),
    remove: method("remove", async (path, options) => {
      const [above, name] = parentAndName(path, WINDOWS);
      throwIfAborted(options);
      await disk.remove(above, name);
    }),
    stat: method("stat", async (path, options) => {
      throwIfAborted(options);
      try {
        return await disk.stat(namesOf(path, WINDOWS));
      } catch (thrown) {
        if (isMissing(thrown)) return null;
        throw thrown;
      }
    }),
    list: method("list", async (path, options) => {
      throwIfAborted(options);
      return disk.list(namesOf(path, WINDOWS));
    }),
  };
}

/** A directory below the root during an access. */
interface Held {
  /** Its place, without symbolic links. */
  readonly place: string;
  /** The place to use for accesses. */
  readonly base: string;
}

/** The accesses below a root. */
class Disk {
  readonly #given: string;
  readonly #shown: string;
  #root: Promise<string> | undefined;
  #canHold: Promise<boolean> | undefined;

  /** `shown` is the root as it is told to the agent. */
  constructor(given: string, shown: string) {
    this.#given = given;
    this.#shown = shown;
  }

  /** The root without symbolic links. The root itself may be one. */
  #realRoot(): Promise<string> {
    this.#root ??= realpath(this.#given).catch((thrown: unknown) => {
      this.#root = undefined;
      throw thrown;
    });
    return this.#root;
  }

  async #inside(place: string): Promise<string> {
    const real = await realpath(place);
    if (!isBelow(await this.#realRoot(), real)) throw refused(LEADS_OUT);
    return real;
  }

  /** Returns a path without symbolic links. */
  async #followed(names: readonly string[]): Promise<string[]> {
    const root = await this.#realRoot();
    return relative(root, await this.#inside(join(root, ...names))).split(sep);
  }

  /** Runs `work` in a directory, which stays the same even if another program puts a link in its place. */
  async #within<T>(names: readonly string[], work: (held: Held) => Promise<T>): Promise<T> {
    const root = await this.#realRoot();
    const wanted = join(root, ...names);
    this.#canHold ??=
      process.platform === "linux"
        ? access(HELD).then(
            () => true,
            () => false,
          )
        : Promise.resolve(false);
    if (!(await this.#canHold)) {
      const place = await this.#inside(wanted);
      if (!(await lstat(place)).isDirectory()) throw failed("ENOTDIR");
      return work({ place, base: place });
    }
    const directory = await open(wanted, O_RDONLY | O_DIRECTORY);
    try {
      const base = `${HELD}/${directory.fd}`;
      const place = await readlink(base);
      if (!isBelow(root, place)) throw refused(LEADS_OUT);
      return await work({ place, base });
    } finally {
      await directory.close();
    }
  }

  /** Throws if a directory that cannot be held is another one now. */
  async #check({ place, base }: Held): Promise<void> {
    if (base === place && (await this.#inside(place)) !== place) throw refused(CHANGES);
  }

  /** Opens a regular file to read it. */
  async open(names: string[]): Promise<FileHandle> {
    for (let attempt = 1; ; attempt += 1) {
      const name = names.at(-1);
      if (name === undefined) throw failed("EISDIR");
      try {
        return await this.#within(names.slice(0, -1), (held) => this.#openAt(held, name, O_RDONLY));
      } catch (thrown) {
        // A link; or another program replaces the file.
        if (thrown !== MOVED && fieldOf(thrown, "code") !== "ELOOP") throw thrown;
        if (attempt === ATTEMPTS) throw refused(CHANGES);
        names = await this.#followed(names);
      }
    }
  }

  /** Opens the file at a place. Throws {@link MOVED} if another file is there afterwards. */
  async #openAt({ place, base }: Held, name: string, flags: number, mode?: number): Promise<FileHandle> {
    const at = join(base, name);
    const file = await open(at, flags | O_NOFOLLOW | O_NONBLOCK, mode);
    try {
      const opened = await file.stat({ bigint: true });
      if (opened.isDirectory()) throw failed("EISDIR");
      if (!opened.isFile()) throw invalid(NOT_A_FILE);
      if (base !== place) return file;
      if ((await realpath(at)) !== at || !isSame(opened, await lstat(at, { bigint: true }))) throw MOVED;
      return file;
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  }

  async write(above: string[], name: string, bytes: Uint8Array, mayEnd: () => void, isReal = false): Promise<void> {
    await this.#makeDirectory(above);
    const linked = await this.#within(above, async (held) => {
      const found = await statOrNothing(join(held.base, name));
      if (found?.isSymbolicLink()) return true;
      await this.#replace(held, name, found, bytes, mayEnd);
      return false;
    });
    if (!linked) return;
    if (isReal) throw refused(CHANGES);
    const names = await this.#followed([...above, name]).catch((thrown: unknown) => {
      throw isMissing(thrown) ? refused(LEADS_NOWHERE) : thrown;
    });
    await this.write(names.slice(0, -1), names.at(-1) ?? "", bytes, mayEnd, true);
  }

  async #makeDirectory(names: readonly string[]): Promise<void> {
    const exists = await this.#within(names, async () => true).catch((thrown: unknown) => {
      if (fieldOf(thrown, "code") !== "ENOENT") throw thrown;
      return false;
    });
    for (const [depth, name] of exists ? [] : names.entries()) {
      await this.#within(names.slice(0, depth), async (held) => {
        await mkdir(join(held.base, name)).catch((thrown: unknown) => {
          if (fieldOf(thrown, "code") !== "EEXIST") throw thrown;
        });
        if ((await lstat(join(held.base, name))).isSymbolicLink())
          await this.#inside(join(held.place, name)).catch((thrown: unknown) => {
            throw isMissing(thrown) ? refused(LEADS_NOWHERE) : thrown;
          });
      });
    }
  }

  async #replace(held: Held, name: string, found: Stats | undefined, bytes: Uint8Array, mayEnd: () => void) {
    const at = join(held.base, name);
    if (found?.isDirectory()) throw failed("EISDIR");
    if (found && !found.isFile()) throw invalid(NOT_A_FILE);
    // Without this, a rename would replace a file that may not be written.
    if (found) await access(at, W_OK);
    const writeInPlace = async (): Promise<void> => {
      const file = await this.#openAt(held, name, O_WRONLY).catch(asRefused);
      mayEnd();
      await fill(file, bytes, () => file.truncate());
    };
    // A rename would separate the file from its other names.
    if (found && found.nlink > 1) return writeInPlace();
    const temporary = `.emend-${globalThis.crypto.randomUUID()}.tmp`;
    let file: FileHandle;
    try {
      file = await this.#openAt(held, temporary, O_WRONLY | O_CREAT | O_EXCL, 0o666).catch(asRefused);
    } catch (thrown) {
      if (found && ["EACCES", "EPERM"].includes(String(fieldOf(thrown, "code")))) return writeInPlace();
      throw thrown;
    }
    try {
      await fill(file, bytes, async () => found && keepOwner(file, found));
      await this.#check(held);
      mayEnd();
      // If the directory is replaced by a link now, there is no such temporary file behind the link.
      await rename(join(held.base, temporary), at);
    } catch (thrown) {
      await rm(join(held.base, temporary), { force: true }).catch(() => {});
      throw thrown;
    }
  }

  async remove(above: readonly string[], name: string): Promise<void> {
    await this.#within(above, async (held) => {
      const at = join(held.base, name);
      if ((await lstat(at)).isDirectory()) throw failed("EISDIR");
      await this.#check(held);
      await unlink(at);
    });
  }

  /** Describes a path. Only its last segment is not followed. */
  async stat(names: readonly string[]): Promise<FileStat> {
    const name = names.at(-1);
    if (name === undefined) return this.#within([], async () => ({ kind: "directory" }));
    return this.#within(names.slice(0, -1), async (held) => {
      const described = await this.#describe(join(held.base, name));
      await this.#check(held);
      return described;
    });
  }

  async list(names: readonly string[]): Promise<ListEntry[]> {
    return this.#within(names, async (held) => {
      const described = async (name: string): Promise<ListEntry | undefined> => {
        try {
          return { name, ...(await this.#describe(join(held.base, name))) };
        } catch (thrown) {
          // The entry has gone since.
          if (isMissing(thrown)) return undefined;
          throw thrown;
        }
      };
      const listed = await Promise.all((await readdir(held.base)).map(described));
      await this.#check(held);
      return listed.filter((entry) => entry !== undefined);
    });
  }

  async #describe(at: string): Promise<FileStat> {
    const found = await lstat(at);
    if (found.isSymbolicLink()) return { kind: "link", target: await this.#target(at) };
    if (found.isDirectory()) return { kind: "directory" };
    if (!found.isFile()) return { kind: "other" };
    return { kind: "file", size: found.size, modifiedMs: found.mtimeMs };
  }

  /** Returns the target of a link. An absolute one below the root is told as a path below the root that is shown. */
  async #target(at: string): Promise<string> {
    const target = await readlink(at);
    if (!isAbsolute(target)) return WINDOWS ? target.replaceAll("\\", "/") : target;
    const root = [await this.#realRoot(), this.#given].find((each) => isBelow(each, target));
    return slashed(root === undefined ? target : join(this.#shown, relative(root, target)));
  }
}

/** Thrown if an opened file is not the one at its place. */
const MOVED = new Error("moved");

function asRefused(thrown: unknown): never {
  throw thrown === MOVED ? refused(CHANGES) : thrown;
}

/** Gives a new file the owner and the mode of the one that it replaces. */
async function keepOwner(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const made = await file.stat();
  const isOther = made.uid !== uid || made.gid !== gid;
  const isRefused =
    isOther &&
    (await file.chown(uid, gid).then(
      () => false,
      () => true,
    ));
  // After the owner, because a change of it takes these bits away. With the owner of this process they would give its rights.
  await file.chmod(mode & (isRefused ? 0o1777 : 0o7777));
}

/** Writes and closes an open file, after `prepare`. */
async function fill(file: FileHandle, bytes: Uint8Array, prepare: () => Promise<unknown>): Promise<void> {
  try {
    await prepare();
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

function isBelow(root: string, place: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Returns an absolute path as the core has them: it begins with a slash, on Windows too. */
function slashed(path: string): string {
  if (!WINDOWS) return path;
  const text = path.replaceAll("\\", "/");
  return text.startsWith("/") ? text : `/${text}`;
}

async function statOrNothing(place: string): Promise<Stats | undefined> {
  try {
    return await lstat(place);
  } catch (thrown) {
    if (fieldOf(thrown, "code") === "ENOENT") return undefined;
    throw thrown;
  }
}
