/**
 * Files with several names (hard links) in one change of the user, such as `acceptAll`.
 *
 * The core compares and writes the names one after another. The first write changes what all of them lead to, so that the core
 * would take the others for files that another program has changed. Until the core writes such a name itself, it is told the
 * content from before the change.
 */

import { sameBytes } from "../bytes.js";
import { changedMeanwhile } from "../fs/methods.js";

/** A file that a change has written. */
interface Written {
  before: Uint8Array;
  /** The content that all names lead to. */
  now: Uint8Array;
  /** The contents of the names that the core has written. */
  readonly told: Map<string, Uint8Array>;
}

interface Change {
  /** The identities of files with several names, by path. */
  readonly identities: Map<string, string>;
  readonly written: Map<string, Written>;
}

/** The files of one environment. */
export class SharedNames {
  readonly #changes = new WeakMap<object, Change>();

  /** A change of the user begins. Runs are not followed: in a run, the model reads what is on disk. */
  begin(change: object): void {
    this.#changes.set(change, { identities: new Map(), written: new Map() });
  }

  /** Records the identity of a file, which is `undefined` if it has one name. */
  identify(change: object | undefined, path: string, identity: string | undefined): void {
    if (identity !== undefined) this.#of(change)?.identities.set(path, identity);
  }

  /** Returns what the core is told of a file that has the content `bytes`. */
  told(change: object | undefined, path: string, bytes: Uint8Array): Uint8Array {
    const written = this.#writtenAt(change, path);
    if (written === undefined || !sameBytes(bytes, written.now)) return bytes;
    return written.told.get(path) ?? written.before;
  }

  /**
   * Returns whether the content was saved by another name.
   *
   * @throws {ConflictError} if another content was.
   */
  isSaved(change: object | undefined, path: string, content: Uint8Array): boolean {
    const written = this.#writtenAt(change, path);
    if (written === undefined || sameBytes(written.told.get(path) ?? written.before, written.now)) return false;
    if (!sameBytes(content, written.now)) throw changedMeanwhile();
    written.told.set(path, content);
    return true;
  }

  /** Records that a change has written a file. `before` is the content that it has replaced, if it is known. */
  wrote(change: object | undefined, path: string, before: Uint8Array | null | undefined, content: Uint8Array): void {
    const identity = this.#of(change)?.identities.get(path);
    if (identity === undefined || !before) return;
    const written = this.#writtenAt(change, path) ?? { before, now: content, told: new Map() };
    written.now = content;
    written.told.set(path, content);
    this.#of(change)?.written.set(identity, written);
  }

  #of(change: object | undefined): Change | undefined {
    return change === undefined ? undefined : this.#changes.get(change);
  }

  #writtenAt(change: object | undefined, path: string): Written | undefined {
    const found = this.#of(change);
    return found?.written.get(found.identities.get(path) ?? "");
  }
}
