/** Files on their way in from an archive or a folder: their paths are checked, and they are counted against limits. */

import { EmendError } from "../errors.js";
import { invalid, requireRecord } from "../validate.js";
import type { FilesIn, ImportOptions } from "./types.js";

const BYTES_DEFAULT = 256 * 1024 * 1024;
const FILES_DEFAULT = 50_000;

/**
 * Returns `path` without empty segments and `.`; with a `/` at its end if it is a directory's.
 *
 * @throws {EmendError} if it could lead anywhere but below the folder that it is relative to, on any system.
 */
export function cleanPath(path: string): string {
  const refuse = (why: string): never => {
    throw new EmendError("permission_denied", `the path ${JSON.stringify(path)} ${why}; nothing was taken over`, {
      suggestions: ["make it again with relative paths, or leave this one out with `filter`"],
    });
  };
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) refuse("is absolute");
  if (path.includes("\\")) refuse("holds a backslash, which some systems take for a slash");
  if (path.includes("\0")) refuse("holds a zero character");
  const segments = path.split("/");
  if (segments.includes("..")) refuse("leads out of its folder");
  const clean = segments.filter((segment) => segment !== "" && segment !== ".").join("/");
  return clean !== "" && /\/\.?$/.test(path) ? `${clean}/` : clean;
}

/** Gathers files until a limit is passed. Every path is there once, and nothing is below a file. */
export class Gathered {
  readonly #files = new Map<string, Uint8Array>();
  /** The directories above what was gathered, without their slashes. */
  readonly #above = new Set<string>();
  readonly #filter: (path: string) => boolean;
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  #bytes = 0;

  constructor(options: ImportOptions) {
    const { filter, maxBytes, maxFiles } = requireRecord("the options", options) as ImportOptions;
    if (filter !== undefined && typeof filter !== "function") throw invalid("`filter` must be a function");
    this.#filter = filter ?? (() => true);
    this.#maxBytes = limit("`maxBytes`", maxBytes ?? BYTES_DEFAULT);
    this.#maxFiles = limit("`maxFiles`", maxFiles ?? FILES_DEFAULT);
  }

  wants(path: string): boolean {
    return this.#filter(path);
  }

  /** Bytes that may still come. */
  get room(): number {
    return this.#maxBytes - this.#bytes;
  }

  /** Refuses what is larger than the room that is left. */
  reserve(path: string, bytes: number): void {
    if (bytes <= this.room) return;
    throw new EmendError(
      "limit_reached",
      `with ${path} there are more than the ${this.#maxBytes} bytes of \`maxBytes\``,
      {
        suggestions: ["leave files out with `filter`", "allow more with `maxBytes`"],
      },
    );
  }

  /** Takes a file, or a directory if `path` ends in `/`; both are clean. */
  add(path: string, bytes: Uint8Array): void {
    const name = path.endsWith("/") ? path.slice(0, -1) : path;
    // Directories are named by what is in them, and often once more by an entry of their own.
    if (name !== path && this.#above.has(name)) return;
    const twice = this.#files.has(name) || this.#above.has(name) || (name === path && this.#files.has(`${path}/`));
    if (twice) throw this.#clash(path);
    if (this.#files.size >= this.#maxFiles && !this.#files.has(path)) {
      throw new EmendError("limit_reached", `there are more than the ${this.#maxFiles} files of \`maxFiles\``, {
        suggestions: ["leave files out with `filter`", "allow more with `maxFiles`"],
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
    this.#files.set(path, bytes);
  }

  /** What `Agent.create` takes. */
  files(): Record<string, Uint8Array> {
    return Object.fromEntries(this.#files);
  }

  #clash(path: string): EmendError {
    return new EmendError(
      "already_exists",
      `${JSON.stringify(path)} is there twice, or once as a file and once as a directory`,
      {
        suggestions: ["leave one out with `filter`, or make it again without"],
      },
    );
  }
}

function limit(what: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) throw invalid(`${what} must be a number, 0 or more`);
  return value;
}

/** Files on their way out: each with its clean path and its bytes, sorted. */
export function contentsOf(files: FilesIn): [path: string, bytes: Uint8Array][] {
  const encoder = new TextEncoder();
  // The same checks as on the way in, so that what goes out can come in again.
  const gathered = new Gathered({ maxBytes: Infinity, maxFiles: Infinity });
  for (const [path, content] of Object.entries(requireRecord("the files", files))) {
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    if (!(bytes instanceof Uint8Array))
      throw invalid(`files[${JSON.stringify(path)}] must be a string or a Uint8Array`);
    const clean = cleanPath(path);
    if (clean === "" || (clean.endsWith("/") && bytes.length > 0))
      throw invalid(`${JSON.stringify(path)} is no file's path`);
    gathered.add(clean, bytes);
  }
  return Object.entries(gathered.files()).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What a folder's own failures mean; by the codes of Node and the names of the DOM. */
const CODES: Readonly<Record<string, string>> = {
  ENOENT: "not_found",
  NotFoundError: "not_found",
  EACCES: "permission_denied",
  ELOOP: "permission_denied",
  EPERM: "permission_denied",
  NotAllowedError: "permission_denied",
  SecurityError: "permission_denied",
};

/** Runs `work` on a folder; what goes wrong there is thrown as an error of this package. */
export async function onFolder<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EmendError) throw cause;
    const { code, name, message } = Object(cause) as { code?: unknown; name?: unknown; message?: unknown };
    throw new EmendError(
      CODES[String(code)] ?? CODES[String(name)] ?? "io_error",
      `the folder: ${String(message ?? cause)}`,
      { cause },
    );
  }
}
