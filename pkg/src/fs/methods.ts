/** The paths and the errors of the ready-made environments. */

import { bytesOf, sameBytes } from "../bytes.js";
import { AbortError, ConflictError, EmendError } from "../errors.js";
import { fieldOf, messageOf } from "../exceptions.js";
import { codeOf } from "../host/environment-errors.js";
import type { CallOptions, HostWriteOptions } from "../host/environment-types.js";
import { invalid, requireText } from "../validate.js";

/**
 * Returns the segments of a path below the root; none for the root. `windows` also refuses what Windows reads as a
 * separator, as a drive, or as a stream of a file.
 *
 * @throws {EmendError} with code `permission_denied` if the path leads out of the root.
 */
export function namesOf(path: string, windows = false): string[] {
  if (path.includes("\0")) throw invalid("a path contains no NUL character");
  // File systems would replace it by U+FFFD, which is the name of another file.
  if (/\p{Surrogate}/u.test(path)) throw invalid("the path has half of a surrogate pair");
  if (path.startsWith("/")) throw refused("the path is absolute, and paths are relative to the root");
  if (windows && /[\\:]/.test(path)) throw refused("the path contains a backslash or a colon");
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw refused("the path leads out of the root");
  return names;
}

/** Returns whether a path ends in a slash or in the segment `.`, which only a directory has. */
export function namesDirectory(path: string): boolean {
  return /\/\.?$/.test(path);
}

/** As {@link namesOf}, for the path of a file. */
export function fileNames(path: string, windows = false): string[] {
  const names = namesOf(path, windows);
  if (names.length > 0 && namesDirectory(path)) throw invalid("the path ends in a slash, so it names a directory");
  return names;
}

/** Returns the names above a file, and its own name. */
export function parentAndName(path: string, windows = false): [above: string[], name: string] {
  const above = fileNames(path, windows);
  const name = above.pop();
  if (name === undefined) throw invalid("the path is the root");
  return [above, name];
}

/** Returns the error for a path that may not be used. */
export function refused(message: string): EmendError {
  return new EmendError("permission_denied", message);
}

/** Returns the error for a change of a file that another program has changed. */
export function changedMeanwhile(): EmendError {
  const message = "another program has changed the file meanwhile; read it again";
  return new ConflictError("stale", message, { retryable: true });
}

/** Returns the content that a change replaces, `null` for none; `undefined` if the caller does not know it. */
export function replacedBy({ replaces }: Partial<HostWriteOptions> = {}): Uint8Array | null | undefined {
  if (replaces === undefined || replaces === null) return replaces;
  const bytes = bytesOf(replaces);
  if (bytes === undefined) throw invalid("`replaces` must be a Uint8Array or null");
  return bytes;
}

/** Throws if a file does not have the content that a change replaces. `now` is its content, `undefined` for none. */
export function requireReplaced(now: Uint8Array | undefined, replaces: Uint8Array | null | undefined): void {
  if (replaces === undefined) return;
  const isSame =
    now === undefined || replaces === null ? now === undefined && replaces === null : sameBytes(now, replaces);
  if (!isSame) throw changedMeanwhile();
}

/** Returns an exception with one of Node's codes, from which its code and its message are made. */
export function failed(code: "EISDIR" | "ENOENT" | "ENOTDIR"): Error {
  return Object.assign(new Error(code), { code });
}

/** Returns whether an exception means that there is no such path. */
export function isMissing(thrown: unknown, operation = "stat"): boolean {
  return codeOf(thrown, operation).code === "not_found";
}

/** Checks the arguments of a method, and makes its exceptions errors of this package. */
export function method<More extends unknown[], Result>(
  operation: "read" | "write" | "remove" | "stat" | "list",
  work: (path: string, ...more: More) => Promise<Result>,
): (path: string, ...more: More) => Promise<Result> {
  return async (path, ...more) => {
    requireText("the path", path);
    try {
      return await work(path, ...more);
    } catch (thrown) {
      throw errorOf(operation, path, thrown);
    }
  };
}

/** Throws if the caller's signal has fired. */
export function throwIfAborted({ signal }: Partial<CallOptions> = {}): void {
  if (signal?.aborted) throw new AbortError("aborted", "the call was cancelled", { cause: signal.reason });
}

const NO_SUCH_PATH = "there is no such file or directory";
const ASK_AGAIN = 'ask for the permission in a click: `await handle.requestPermission({ mode: "readwrite" })`';

function errorOf(operation: string, path: string, thrown: unknown): EmendError {
  const isOwn = thrown instanceof EmendError;
  if (isOwn && (thrown instanceof AbortError || thrown.data !== undefined)) return thrown;
  const { code, reason } = codeOf(thrown, operation);
  const name = fieldOf(thrown, "name");
  // Node's messages name the function and the place on the disk: `EACCES: permission denied, open '/home/…'`.
  const stated = /^[A-Z0-9]+: (.*?)(, \w+.*)?$/s.exec(messageOf(thrown))?.[1] ?? messageOf(thrown);
  const message = reason ?? (!isOwn && code === "not_found" ? NO_SUCH_PATH : stated);
  const details = { data: { path }, retryable: isOwn && thrown.retryable, ...(!isOwn && { cause: thrown }) };
  if (isOwn && thrown.code === "stale") return new ConflictError(thrown.code, message, details);
  return new EmendError(name === "TypeError" ? "invalid_argument" : isOwn ? thrown.code : code, message, {
    ...details,
    ...(name === "NotAllowedError" && { suggestions: [ASK_AGAIN] }),
  });
}
