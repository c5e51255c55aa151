/**
 * The contents with which the core compares files before it changes them, and changes that an environment refuses because
 * another program has changed the file since.
 *
 * The core restores a file after every failed change. After a refused one, that would replace the text of the other program.
 */

import { sameBytes } from "../bytes.js";
import { ConflictError, EmendError } from "../errors.js";

/** Number of contents that are kept, and their size in bytes. The last content is always kept. */
const KEPT_MAX = 16;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/** Time in which the core restores a file, in milliseconds. */
const RESTORED_WITHIN_MS = 5_000;

/** The content of a file, `null` if there is no file. */
export type Content = Uint8Array | null;

/** A refused change, until the core has restored the file. */
interface Refused {
  before: Content;
  /** The run or the change that was refused. */
  by: object | undefined;
  reads: number;
  until: number;
}

/** The files of one environment. */
export class Compared {
  readonly #contents = new Map<string, Content>();
  readonly #refused = new Map<string, Refused>();
  /** The reasons of the last refused changes by path. */
  readonly #reasons = new Map<string, string>();

  /** Records what a read of `by` has found: the content of a file, or that there is none. */
  saw(path: string, content: Content, by: object | undefined): void {
    this.forget(path);
    this.#contents.set(path, content);
    let bytes = 0;
    for (const [index, [old, kept]] of [...this.#contents].reverse().entries()) {
      bytes += kept?.length ?? 0;
      if (index > 0 && (index >= KEPT_MAX || bytes > KEPT_BYTES_MAX)) this.#contents.delete(old);
    }
    const refused = this.#refused.get(path);
    if (refused === undefined || refused.by !== by) return;
    refused.reads += 1;
    // The core restores nothing then. A second read is that of another change.
    if (refused.reads > 1 || isSame(content, refused.before)) this.#refused.delete(path);
  }

  /** Records that the content of a file is unknown. */
  forget(path: string): void {
    this.#contents.delete(path);
  }

  /** Returns the content that a change replaces; `undefined` if it is unknown. */
  replacedBy(path: string): Content | undefined {
    return this.#contents.get(path);
  }

  /** Records that the environment has refused a change. */
  refuse(path: string, by: object | undefined, reason: string): void {
    const before = this.#contents.get(path);
    this.#reasons.delete(path);
    this.#reasons.set(path, reason);
    for (const [old] of this.#reasons) if (this.#reasons.size > KEPT_MAX) this.#reasons.delete(old);
    if (before === undefined) return;
    this.#refused.set(path, { before, by, reads: 0, until: performance.now() + RESTORED_WITHIN_MS });
  }

  /** Returns whether a change would restore a file after a refused change. Such a change must not be made. */
  restores(path: string, by: object | undefined, content: Content): boolean {
    const refused = this.#refused.get(path);
    if (refused === undefined || refused.by !== by) return false;
    this.#refused.delete(path);
    return performance.now() < refused.until && isSame(content, refused.before);
  }

  /** Returns the conflict behind an error of the core; returns other errors as they are. */
  explained(error: unknown): unknown {
    if (!(error instanceof EmendError) || error.code !== "io_error") return error;
    for (const [path, reason] of this.#reasons) {
      if (error.message !== `${path}: ${reason}`) continue;
      const { data, suggestions, cause } = error;
      return new ConflictError("stale", error.message, { data, suggestions, retryable: true, cause });
    }
    return error;
  }
}

function isSame(one: Content, other: Content): boolean {
  return one === null || other === null ? one === other : sameBytes(one, other);
}
