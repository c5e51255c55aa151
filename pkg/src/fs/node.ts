/** A directory of Node as an environment. */

import { lstat, mkdir, readdir, readlink } from "node:fs/promises";
import { release } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";

import { bytesOf } from "../bytes.js";
import { fieldOf } from "../exceptions.js";
import type { FileStat, ListEntry } from "../host/environment-types.js";
import { invalid } from "../validate.js";
import { diskPath } from "./disk-path.js";
import {
  fileNames,
  isMissing,
  method,
  namesDirectory,
  namesOf,
  parentAndName,
  refused,
  replacedBy,
  throwIfAborted,
} from "./methods.js";
import { type Change, remove, replace } from "./replace.js";
import { CHANGES, isBelow, Root } from "./root.js";
import { isTemporaryName } from "./temporary.js";
import { Limit } from "./turns.js";
import type { FsEnvironment } from "./types.js";

const WINDOWS = process.platform === "win32";
const LEADS_NOWHERE = "a symbolic link on the way leads nowhere";

/** Calls at the same time, each with at most three open files: many systems allow a process 256. */
const calls = new Limit(32);

/** Entries of a directory that are described at the same time. */
const DESCRIBED_MAX = 64;

/**
 * Returns an environment over a directory on disk. A root that is a symbolic link is followed once, here; a root that does not
 * exist yet, with each call. It has no `exec`, so the model gets no shell; add one with `{ ...nodeFs(root), exec }`.
 *
 * Symbolic links that lead out of the root are refused in reads, listings and writes. **A hard link leads out of it:** a file
 * that has a second name outside is the same file there, and is read and written in place. So do not use this function as a
 * boundary against a program that can make hard links below the root.
 *
 * A write replaces the file by a temporary file beside it, with the same owner and mode; without the right to give the owner,
 * it has no set-id bits. A file with several hard links, or in a directory that takes no new files, is written in place.
 * If another program saves the file during a write, the write fails with code `stale`, and the file stays. A save in the
 * microseconds between the last comparison and the rename is lost. Writes of a program to a file that it opened before the
 * rename are lost, too.
 */
export function nodeFs(root: string): FsEnvironment {
  const given = resolve(diskPath("the root", root));
  const workingDirectory = slashed(given);
  const { platform } = process;
  const disk = new Disk(given, workingDirectory);
  return {
    workingDirectory,
    platform: platform === "darwin" || platform === "win32" ? platform : "linux",
    osVersion: release(),
    read: limited("read", async (path, options) => {
      throwIfAborted(options);
      const file = await disk.root.open(fileNames(path, WINDOWS));
      try {
        return new Uint8Array(await file.readFile());
      } finally {
        await file.close();
      }
    }),
    write: limited("write", async (path, content, options) => {
      const bytes = bytesOf(content);
      if (bytes === undefined) throw invalid("the content must be a Uint8Array");
      const [above, name] = parentAndName(path, WINDOWS);
      if (isTemporaryName(name)) throw invalid("the name is one of temporary files, which are removed");
      throwIfAborted(options);
      await disk.write(above, name, { bytes, replaces: replacedBy(options), mayEnd: () => throwIfAborted(options) });
    }),
    remove: limited("remove", async (path, options) => {
      const [above, name] = parentAndName(path, WINDOWS);
      throwIfAborted(options);
      const replaces = replacedBy(options);
      await disk.root.within(above, (held) => remove(disk.root, held, name, replaces));
    }),
    stat: limited("stat", async (path, options) => {
      throwIfAborted(options);
      try {
        const found = await disk.stat(namesOf(path, WINDOWS));
        return namesDirectory(path) && !["directory", "link"].includes(found.kind) ? null : found;
      } catch (thrown) {
        if (isMissing(thrown)) return null;
        throw thrown;
      }
    }),
    list: limited("list", async (path, options) => {
      throwIfAborted(options);
      return disk.list(namesOf(path, WINDOWS));
    }),
  };
}

/** As {@link method}, with a limited number of calls at the same time. */
function limited<More extends unknown[], Result>(
  operation: Parameters<typeof method>[0],
  work: (path: string, ...more: More) => Promise<Result>,
): (path: string, ...more: More) => Promise<Result> {
  return method<More, Result>(operation, (...args) => calls.run(() => work(...args)));
}

/** The accesses below a root. */
class Disk {
  readonly root: Root;
  readonly #shown: string;

  /** `shown` is the root as it is told to the agent. */
  constructor(given: string, shown: string) {
    this.root = new Root(given);
    this.#shown = shown;
  }

  async write(above: string[], name: string, change: Change, isReal = false): Promise<void> {
    await this.#makeDirectory(above);
    if (await this.root.within(above, (held) => replace(this.root, held, name, change))) return;
    if (isReal) throw refused(CHANGES);
    const names = await this.root.followed([...above, name]).catch((thrown: unknown) => {
      throw isMissing(thrown) ? refused(LEADS_NOWHERE) : thrown;
    });
    await this.write(names.slice(0, -1), names.at(-1) ?? "", change, true);
  }

  async #makeDirectory(names: readonly string[]): Promise<void> {
    const exists = await this.root
      .within(names, async () => true)
      .catch((thrown: unknown) => {
        if (fieldOf(thrown, "code") !== "ENOENT") throw thrown;
        return false;
      });
    for (const [depth, name] of exists ? [] : names.entries()) {
      await this.root.within(names.slice(0, depth), async (held) => {
        await mkdir(join(held.base, name)).catch((thrown: unknown) => {
          if (fieldOf(thrown, "code") !== "EEXIST") throw thrown;
        });
        if ((await lstat(join(held.base, name))).isSymbolicLink())
          await this.root.inside(join(held.place, name)).catch((thrown: unknown) => {
            throw isMissing(thrown) ? refused(LEADS_NOWHERE) : thrown;
          });
      });
    }
  }

  /** Describes a path. Only its last segment is not followed. */
  async stat(names: readonly string[]): Promise<FileStat> {
    const name = names.at(-1);
    if (name === undefined) return this.root.within([], async () => ({ kind: "directory" }));
    return this.root.within(names.slice(0, -1), async (held) => {
      const described = await this.#describe(join(held.base, name), true);
      await this.root.check(held);
      return described;
    });
  }

  async list(names: readonly string[]): Promise<ListEntry[]> {
    return this.root.within(names, async (held) => {
      const described = async (name: string): Promise<ListEntry | undefined> => {
        try {
          const found = await this.#describe(join(held.base, name));
          return found.kind === "file" && isTemporaryName(name) ? undefined : { name, ...found };
        } catch (thrown) {
          // The entry has gone since.
          if (isMissing(thrown)) return undefined;
          throw thrown;
        }
      };
      const entries = (await readdir(held.base, { encoding: "buffer" }))
        .map(textOf)
        .filter((name) => name !== undefined);
      const ahead = entries.entries();
      const listed: (ListEntry | undefined)[] = [];
      const some = async (): Promise<void> => {
        for (const [index, name] of ahead) listed[index] = await described(name);
      };
      await Promise.all(Array.from({ length: DESCRIBED_MAX }, some));
      await this.root.check(held);
      return listed.filter((entry) => entry !== undefined);
    });
  }

  async #describe(at: string, identifies = false): Promise<FileStat> {
    const found = await lstat(at);
    if (found.isSymbolicLink()) {
      const target = await this.#target(at);
      return target === undefined ? { kind: "other" } : { kind: "link", target };
    }
    if (found.isDirectory()) return { kind: "directory" };
    if (!found.isFile()) return { kind: "other" };
    const version = `${found.ino}-${found.ctimeMs}`;
    const described: FileStat = { kind: "file", size: found.size, modifiedMs: found.mtimeMs, version };
    if (!identifies || found.nlink < 2) return described;
    const { dev, ino } = await lstat(at, { bigint: true });
    return { ...described, identity: `${dev}:${ino}` };
  }

  /** Returns the target of a link. An absolute one below the root is told as a path below the root that is shown. */
  async #target(at: string): Promise<string | undefined> {
    const target = textOf(await readlink(at, { encoding: "buffer" }));
    if (target === undefined) return undefined;
    if (!isAbsolute(target)) return WINDOWS ? target.replaceAll("\\", "/") : target;
    const root = [await this.root.real(), this.root.given].find((each) => isBelow(each, target));
    return slashed(root === undefined ? target : join(this.#shown, relative(root, target)));
  }
}

/** Returns a name of the file system as text, or `undefined` if it is not UTF-8: its text would be the name of another file. */
function textOf(name: Buffer): string | undefined {
  const text = name.toString();
  return name.equals(Buffer.from(text)) ? text : undefined;
}

/** Returns an absolute path as the core has them: it begins with a slash, on Windows too. */
function slashed(path: string): string {
  if (!WINDOWS) return path;
  const text = path.replaceAll("\\", "/");
  return text.startsWith("/") ? text : `/${text}`;
}
