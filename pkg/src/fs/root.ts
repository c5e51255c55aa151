/**
 * Accesses that stay below a root on disk.
 *
 * Another program can put a symbolic link in the way between a check and an access, and Node has no `openat`. On Linux, each
 * access goes through an open directory below `/proc/self/fd`, so it stays in the directory that was checked. Elsewhere
 * places are compared again after each access, and a temporary file is renamed only within its own directory.
 */

import { type BigIntStats, constants, realpathSync } from "node:fs";
import { access, type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";

import { fieldOf } from "../exceptions.js";
import { invalid } from "../validate.js";
import { failed, refused } from "./methods.js";

// These flags prevent following symbolic links and blocking on FIFOs. Windows has neither flag.
const { O_DIRECTORY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

const LEADS_OUT = "a symbolic link on the way leads out of the root";
export const CHANGES = "the path changes while it is used";
export const NOT_A_FILE = "it is not a regular file";

/** The open files of this process, on Linux: a path below an open directory is a path in that directory. */
const HELD = "/proc/self/fd";

/** Attempts to open a file that other programs replace. */
const ATTEMPTS = 5;

/** A directory below the root during an access. */
export interface Held {
  /** Its place, without symbolic links. */
  readonly place: string;
  /** The place to use for accesses. */
  readonly base: string;
}

/** Thrown if an opened file is not the one at its place. */
const MOVED = new Error("moved");

export function asRefused(thrown: unknown): never {
  throw thrown === MOVED ? refused(CHANGES) : thrown;
}

/** A root, and the ways to directories and files below it. */
export class Root {
  readonly given: string;
  #real: Promise<string> | undefined;
  #canHold: Promise<boolean> | undefined;

  /** The root may be a symbolic link: the directory that it leads to now stays the root. */
  constructor(given: string) {
    this.given = given;
    try {
      this.#real = Promise.resolve(realpathSync(given));
    } catch {
      // Each call tries again, and reports it.
    }
  }

  /** Returns the root without symbolic links. */
  real(): Promise<string> {
    this.#real ??= realpath(this.given).catch((thrown: unknown) => {
      this.#real = undefined;
      throw thrown;
    });
    return this.#real;
  }

  /** Returns a place without symbolic links. */
  async inside(place: string): Promise<string> {
    const real = await realpath(place);
    if (!isBelow(await this.real(), real)) throw refused(LEADS_OUT);
    return real;
  }

  /** Returns a path without symbolic links. */
  async followed(names: readonly string[]): Promise<string[]> {
    const root = await this.real();
    return relative(root, await this.inside(join(root, ...names))).split(sep);
  }

  /** Runs `work` in a directory, which stays the same even if another program puts a link in its place. */
  async within<T>(names: readonly string[], work: (held: Held) => Promise<T>): Promise<T> {
    const root = await this.real();
    const wanted = join(root, ...names);
    this.#canHold ??=
      process.platform === "linux"
        ? access(HELD).then(
            () => true,
            () => false,
          )
        : Promise.resolve(false);
    if (!(await this.#canHold)) {
      const place = await this.inside(wanted);
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
  async check({ place, base }: Held): Promise<void> {
    if (base === place && (await this.inside(place)) !== place) throw refused(CHANGES);
  }

  /** Opens a regular file to read it. */
  async open(names: string[]): Promise<FileHandle> {
    for (let attempt = 1; ; attempt += 1) {
      const name = names.at(-1);
      if (name === undefined) throw failed("EISDIR");
      try {
        return await this.within(names.slice(0, -1), (held) => openAt(held, name, O_RDONLY));
      } catch (thrown) {
        // A link; or another program replaces the file.
        if (thrown !== MOVED && fieldOf(thrown, "code") !== "ELOOP") throw thrown;
        if (attempt === ATTEMPTS) throw refused(CHANGES);
        names = await this.followed(names);
      }
    }
  }
}

/** Opens the file at a place. Throws {@link MOVED} if another file is there afterwards. */
export async function openAt({ place, base }: Held, name: string, flags: number, mode?: number): Promise<FileHandle> {
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

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

export function isBelow(root: string, place: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
}
