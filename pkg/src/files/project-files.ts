/** Checks the paths of imported and exported files, and counts imported files against limits. */

import { bytesOf } from "../bytes.js";
import { EmendError } from "../errors.js";
import { wellFormed } from "../texts.js";
import { filesProblem, invalid, optionsOf } from "../validate.js";
import type { Bytes, FilesIn, ImportOptions } from "./types.js";

const BYTES_DEFAULT = 256 * 1024 * 1024;
const FILES_DEFAULT = 50_000;

/**
 * Returns `path` without empty and `.` segments. The path of a directory keeps its final `/`.
 *
 * @throws {EmendError} with code `permission_denied` if the path could lead out of its folder on any operating system.
 */
export function cleanPath(given: string): string {
  // UTF-8 has no lone surrogates: two names that differ by them only are one name in an archive and in the core.
  const path = wellFormed(given);
  const refuse = (why: string): never => {
    throw new EmendError(
      "permission_denied",
      `the path ${JSON.stringify(path)} ${why}; nothing was imported or exported`,
      {
        suggestions: ["use relative paths only, or exclude this path with `filter`"],
      },
    );
  };
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) refuse("is absolute");
  if (path.includes("\\")) refuse("contains a backslash, which some systems read as a slash");
  if (path.includes("\0")) refuse("contains a NUL character");
  const segments = path.split("/");
  if (segments.includes("..")) refuse("leads out of its folder");
  const clean = segments.filter((segment) => segment !== "" && segment !== ".").join("/");
  return clean !== "" && /\/\.?$/.test(path) ? `${clean}/` : clean;
}

/** Collects files up to a limit. Every path occurs once, and no path is below a file. */
export class Gathered {
  readonly #files = new Map<string, Bytes>();
  /** The parent directories of the collected files, without a final slash. */
  readonly #above = new Set<string>();
  readonly #filter: (path: string) => boolean;
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  #thrown: { exception: unknown } | undefined;
  #bytes = 0;

  constructor(options: ImportOptions) {
    const { filter, maxBytes, maxFiles } = optionsOf(options, ["filter", "maxBytes", "maxFiles"]);
    if (filter !== undefined && typeof filter !== "function") throw invalid("`filter` must be a function");
    this.#filter = filter ?? (() => true);
    this.#maxBytes = limit("`maxBytes`", maxBytes ?? BYTES_DEFAULT);
    this.#maxFiles = limit("`maxFiles`", maxFiles ?? FILES_DEFAULT);
  }

  wants(path: string): boolean {
    try {
      return this.#filter(path);
    } catch (exception) {
      this.#thrown = { exception };
      throw exception;
    }
  }

  /** Returns whether the caller's filter threw this exception. */
  isOfFilter(exception: unknown): boolean {
    return this.#thrown !== undefined && Object.is(this.#thrown.exception, exception);
  }

  /** Number of bytes until the limit. */
  get room(): number {
    return this.#maxBytes - this.#bytes;
  }

  /** Throws if `bytes` more would exceed the limit. */
  reserve(path: string, bytes: number): void {
    if (bytes <= this.room) return;
    throw new EmendError("limit_reached", `with ${path} the files exceed \`maxBytes\`, ${this.#maxBytes} bytes`, {
      suggestions: ["exclude files with `filter`", "raise `maxBytes`"],
    });
  }

  /** Adds a file, or a directory if `path` ends in `/`. The path must be clean. */
  add(path: string, bytes: Uint8Array): void {
    const name = path.endsWith("/") ? path.slice(0, -1) : path;
    // Archives often have an entry for a directory in addition to those of its files.
    if (name !== path && this.#above.has(name)) return;
    const twice = this.#files.has(name) || this.#above.has(name) || (name === path && this.#files.has(`${path}/`));
    if (twice) throw this.#clash(path);
    if (this.#files.size >= this.#maxFiles && !this.#files.has(path)) {
      throw new EmendError("limit_reached", `there are more files than \`maxFiles\`, ${this.#maxFiles}`, {
        suggestions: ["exclude files with `filter`", "raise `maxFiles`"],
      });
    }
    this.reserve(path, bytes.length);
    for (let slash = name.lastIndexOf("/"); slash > 0; slash = name.lastIndexOf("/", slash - 1)) {
      const directory = name.slice(0, slash);
      if (this.#above.has(directory)) break;
      if (this.#files.has(directory)) throw this.#clash(directory);
      this.#above.add(directory);
      this.#files.delete(`${directory}/`);
    }
    this.#bytes += bytes.length;
    this.#files.set(path, bytes as Bytes);
  }

  /** Returns the files as a record for `Agent.create`. */
  files(): Record<string, Bytes> {
    return Object.fromEntries(this.#files);
  }

  #clash(path: string): EmendError {
    return new EmendError("already_exists", `${JSON.stringify(path)} occurs twice, or is both a file and a directory`, {
      suggestions: ["exclude one of them with `filter`, or rename it"],
    });
  }
}

function limit(what: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) throw invalid(`${what} must be a number, 0 or more`);
  return value;
}

/** Returns the clean path and the bytes of each file to export, sorted by path. */
export function contentsOf(files: FilesIn): [path: string, bytes: Bytes][] {
  const problem = filesProblem("the files", files);
  if (problem !== undefined) throw invalid(problem);
  const encoder = new TextEncoder();
  // The same checks as on import, so that every export can be imported again.
  const gathered = new Gathered({ maxBytes: Infinity, maxFiles: Infinity });
  for (const [path, content] of Object.entries(files)) {
    const bytes = typeof content === "string" ? encoder.encode(content) : bytesOf(content);
    if (bytes === undefined) throw invalid(`files[${JSON.stringify(path)}] must be a string or a Uint8Array`);
    const clean = cleanPath(path);
    if (clean === "" || (clean.endsWith("/") && bytes.length > 0))
      throw invalid(`${JSON.stringify(path)} is not a file path`);
    gathered.add(clean, bytes);
  }
  return Object.entries(gathered.files()).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Error codes by Node's error codes and by the names of DOM exceptions. */
const CODES: Readonly<Record<string, string>> = {
  ENOENT: "not_found",
  NotFoundError: "not_found",
  EACCES: "permission_denied",
  ELOOP: "permission_denied",
  EPERM: "permission_denied",
  NotAllowedError: "permission_denied",
  SecurityError: "permission_denied",
};

/** Runs `work` on a folder, and converts exceptions to {@link EmendError}s, except those of the filter of `gathered`. */
export async function onFolder<T>(work: () => Promise<T>, gathered?: Gathered): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EmendError || gathered?.isOfFilter(cause)) throw cause;
    const { code, name, message } = Object(cause) as { code?: unknown; name?: unknown; message?: unknown };
    throw new EmendError(
      CODES[String(code)] ?? CODES[String(name)] ?? "io_error",
      `the folder: ${String(message ?? cause)}`,
      { cause },
    );
  }
}
