/**
 * Temporary files of writes: their names, and the removal of those that killed processes left.
 *
 * A name has the process that writes the file, and the system on which this process runs: a number of a process means nothing
 * on another computer or in another container that shares the directory.
 */

import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

import { fieldOf } from "../exceptions.js";

/** Age from which a temporary file of another system counts as left behind, in milliseconds. No write takes that long. */
const LEFT_AFTER_MS = 24 * 60 * 60 * 1_000;

const NAME = /^\.emend-([0-9a-f]{12})-([1-9][0-9]{0,9})-([0-9]{1,20})-[0-9a-f]{16}\.tmp$/;

/** The system as names have it: the computer, its start, and the name space of process numbers. */
let system: string | undefined;

/** The start of this process as names have it. */
let ownStart: string | undefined;

function ownSystem(): string {
  if (system !== undefined) return system;
  const start = orNothing(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  const space = orNothing(() => readlinkSync("/proc/self/ns/pid"));
  const text = [hostname(), process.platform, start, space].join("\0");
  system = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return system;
}

/** Returns a new name for a temporary file of this process. */
export function temporaryName(): string {
  const random = Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(8))).toString("hex");
  ownStart ??= startOf(process.pid) ?? "0";
  return `.emend-${ownSystem()}-${process.pid}-${ownStart}-${random}.tmp`;
}

/** Returns whether a file has a name of temporary files, which do not belong to a project. */
export function isTemporaryName(name: string): boolean {
  return NAME.test(name);
}

/** Removes the temporary files that dead processes of this user left in a directory. A file that cannot be removed stays. */
export async function sweep(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter(isTemporaryName)) {
    const place = join(directory, name);
    try {
      const found = await lstat(place);
      const isOwn = found.isFile() && (process.geteuid === undefined || found.uid === process.geteuid());
      if (isOwn && isLeft(name, Date.now() - found.mtimeMs)) await unlink(place);
    } catch {
      // Another process has removed it.
    }
  }
}

/** Returns whether the process of a temporary file is dead. `age` is the time since the last change of the file. */
function isLeft(name: string, age: number): boolean {
  const [, madeOn, pid, start] = NAME.exec(name) ?? [];
  if (madeOn !== ownSystem()) return age > LEFT_AFTER_MS;
  const process = Number(pid);
  if (!isAlive(process)) return true;
  // Another process may have the number now.
  const started = startOf(process);
  return started !== undefined && start !== "0" && started !== start;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    return fieldOf(thrown, "code") !== "ESRCH";
  }
}

/** Returns the start of a process in ticks since that of the system, where the system says it. */
function startOf(pid: number): string | undefined {
  // The name of the program is in parentheses, and can contain spaces and parentheses.
  const stat = orNothing(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return stat === undefined
    ? undefined
    : /^[0-9]+$/.exec(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "")?.[0];
}

function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
