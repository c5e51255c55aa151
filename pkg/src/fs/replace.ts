/**
 * Replaces and removes files on disk, unless another program has changed them.
 *
 * The file is compared directly before the change. Node has no call that replaces a file only if it is a certain one, so a
 * program that saves between the last comparison and the rename, a few microseconds later, is not noticed.
 */

import { type BigIntStats, constants, lstatSync, renameSync, unlinkSync } from "node:fs";
import { access, type FileHandle, link, lstat, rm } from "node:fs/promises";
import { join } from "node:path";

import { fieldOf } from "../exceptions.js";
import { invalid } from "../validate.js";
import { changedMeanwhile, failed } from "./methods.js";
import { asRefused, type Held, NOT_A_FILE, openAt, type Root } from "./root.js";
import { sweep, temporaryName } from "./temporary.js";
import { Turns } from "./turns.js";

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, W_OK } = constants;

/** A new content of a file. */
export interface Change {
  readonly bytes: Uint8Array;
  /** The content that is replaced, `null` for none; `undefined` if the caller does not know it. */
  readonly replaces: Uint8Array | null | undefined;
  /** Throws if the caller has given up. */
  mayEnd(): void;
}

/** The changes of this process. Those of one file wait for each other, so that none counts as one of another program. */
const turns = new Turns();

/** The times at which this process has removed what dead processes left in a directory. */
const swept = new Map<string, number>();

/** Time after which a directory is looked at again, in milliseconds. */
const SWEEP_AGAIN_MS = 60_000;

/** Replaces a file, and returns true; returns false if it is a symbolic link. */
export function replace(root: Root, held: Held, name: string, change: Change): Promise<boolean> {
  return turns.take(join(held.place, name), async () => {
    const found = await statOrNothing(join(held.base, name));
    if (found?.isSymbolicLink()) return false;
    if (found?.isDirectory()) throw failed("EISDIR");
    if (found && !found.isFile()) throw invalid(NOT_A_FILE);
    if (isOther(found, change.replaces)) throw changedMeanwhile();
    // Without this, a rename would replace a file that may not be written.
    if (found) await access(join(held.base, name), W_OK);
    // A rename would separate the file from its other names.
    if (found && found.nlink > 1n) await writeInPlace(held, name, found, change);
    else await writeBeside(root, held, name, found, change);
    return true;
  });
}

/** Removes a file or a symbolic link. */
export function remove(root: Root, held: Held, name: string, replaces: Change["replaces"]): Promise<void> {
  return turns.take(join(held.place, name), async () => {
    const at = join(held.base, name);
    const found = await statOrNothing(at);
    if (found === undefined) throw replaces instanceof Uint8Array ? changedMeanwhile() : failed("ENOENT");
    if (found.isDirectory()) throw failed("EISDIR");
    if (!found.isFile()) {
      await root.check(held);
      unlinkSync(at);
      return;
    }
    const last = await compared(held, name, found, replaces);
    await root.check(held);
    requireSame(at, last);
    unlinkSync(at);
  });
}

async function writeBeside(root: Root, held: Held, name: string, found: BigIntStats | undefined, change: Change) {
  const { bytes, replaces, mayEnd } = change;
  const at = join(held.base, name);
  const time = performance.now();
  if (time - (swept.get(held.place) ?? -Infinity) > SWEEP_AGAIN_MS) {
    swept.set(held.place, time);
    await sweep(held.base);
  }
  const temporary = temporaryName();
  const beside = join(held.base, temporary);
  let file: FileHandle;
  try {
    // No one else may read the content of a private file meanwhile.
    file = await openAt(held, temporary, O_WRONLY | O_CREAT | O_EXCL, found ? 0o600 : 0o666).catch(asRefused);
  } catch (thrown) {
    if (found && ["EACCES", "EPERM"].includes(String(fieldOf(thrown, "code"))))
      return writeInPlace(held, name, found, change);
    throw thrown;
  }
  try {
    await fill(file, bytes, async () => found && keepOwner(file, found));
    await root.check(held);
    const last = found && (await compared(held, name, found, replaces));
    mayEnd();
    if (found === undefined && (await linked(beside, at))) {
      await rm(beside, { force: true });
      return;
    }
    // The calls do not wait between the comparison and the rename. If the directory is replaced by a link now, there is
    // no such temporary file behind the link.
    requireSame(at, last);
    renameSync(beside, at);
  } catch (thrown) {
    await rm(beside, { force: true }).catch(() => {});
    throw thrown;
  }
}

async function writeInPlace(held: Held, name: string, found: BigIntStats, { bytes, replaces, mayEnd }: Change) {
  // The other names of the file lead to the same bytes.
  await turns.take(`${found.dev}:${found.ino}`, async () => {
    const file = await openAt(held, name, O_WRONLY).catch(asRefused);
    await fill(file, bytes, async () => {
      // In an overlay, the system makes a copy of the file when it is opened to be written, with another time of change.
      const opened = await file.stat({ bigint: true });
      if (opened.size !== found.size || opened.mtimeNs !== found.mtimeNs) throw changedMeanwhile();
      const last = await compared(held, name, opened, replaces);
      mayEnd();
      if (!isSameState(opened, last)) throw changedMeanwhile();
      requireSame(join(held.base, name), last);
      await file.truncate();
    });
  });
}

/** Puts a new file at its place, unless there is a file. Returns false if the file system has no hard links. */
async function linked(beside: string, at: string): Promise<boolean> {
  try {
    await link(beside, at);
    return true;
  } catch (thrown) {
    if (fieldOf(thrown, "code") === "EEXIST") throw changedMeanwhile();
    return false;
  }
}

/**
 * Returns the state of a file that has the content `replaces`, or that is unchanged since `found`.
 *
 * @throws {ConflictError} if another program has changed the file.
 */
async function compared(held: Held, name: string, found: BigIntStats, replaces: Change["replaces"]) {
  if (replaces === undefined) return found;
  const gone = (thrown: unknown): never => {
    throw fieldOf(thrown, "code") === "ENOENT" ? changedMeanwhile() : thrown;
  };
  const file = await openAt(held, name, O_RDONLY).catch(asRefused).catch(gone);
  try {
    const now = await file.stat({ bigint: true });
    // Also the size is compared: a file that grows without end would be read without end.
    const isEqual = !isOther(now, replaces) && replaces !== null && (await file.readFile()).equals(replaces);
    if (!isEqual) throw changedMeanwhile();
    return now;
  } finally {
    await file.close();
  }
}

/** Returns whether a file cannot have the content that the caller expects. */
function isOther(found: BigIntStats | undefined, expected: Change["replaces"]): boolean {
  if (expected === undefined) return false;
  return expected === null ? found !== undefined : found?.size !== BigInt(expected.length);
}

/** Throws if a place has another file than `expected`, or the same with another content, owner or mode. Does not wait. */
function requireSame(at: string, expected: BigIntStats | undefined): void {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  const isSame = now === undefined || expected === undefined ? now === expected : isSameState(now, expected);
  if (!isSame) throw changedMeanwhile();
}

function isSameState(one: BigIntStats, other: BigIntStats): boolean {
  return (["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const).every((key) => one[key] === other[key]);
}

/** Gives a new file the owner and the mode of the one that it replaces. */
async function keepOwner(file: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  const made = await file.stat({ bigint: true });
  const isOther = made.uid !== uid || made.gid !== gid;
  const isRefused =
    isOther &&
    (await file.chown(Number(uid), Number(gid)).then(
      () => false,
      () => true,
    ));
  // After the owner, because a change of it takes these bits away. With the owner of this process they would give its rights.
  await file.chmod(Number(mode) & (isRefused ? 0o1777 : 0o7777));
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

async function statOrNothing(place: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(place, { bigint: true });
  } catch (thrown) {
    if (fieldOf(thrown, "code") === "ENOENT") return undefined;
    throw thrown;
  }
}
