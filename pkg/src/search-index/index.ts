/** The index of an environment: the signatures of the files that searches have read, with the stamps that they had. */

import type { FileStat, SearchIndex } from "../host/environment-types.js";
import { requiredTexts } from "./required.js";
import { mayContain, signatureOf, trigramsOf } from "./signature.js";

/** The state of a file by its listing: a file with another stamp has another content. */
type Stamp = string;

interface Entry {
  readonly stamp: Stamp;
  readonly signature: Uint8Array;
  /** Whether no change can have left the stamp as it is since the file was read. */
  readonly isSettled: boolean;
  /** When a search first met this stamp, on the clock of this process. */
  readonly firstSeen: number;
}

/** Time after which another change gives another time: that of some file systems has steps of two seconds. */
const SETTLED_MS = 2_500;

/** Age at which the clock of another computer cannot be wrong enough to matter. */
const OLD_MS = 24 * 3_600_000;

/** Larger files are read by each search. */
export const FILE_BYTES_MAX = 4 * 2 ** 20;

/** Projects with fewer files are searched without an index. */
export const FILES_MIN = 2_000;

/** The most files in the index. */
const FILES_MAX = 200_000;

/** The largest number of patterns whose required texts are kept. */
const QUERIES_MAX = 16;

/** The signatures of files, in memory. */
export class SignatureIndex implements SearchIndex {
  readonly filesMin: number;
  readonly #entries = new Map<string, Entry>();
  readonly #queries = new Map<string, readonly number[]>();
  /** Called after a change of the entries. */
  changed: () => void = () => {};

  constructor(filesMin = FILES_MIN) {
    this.filesMin = filesMin;
  }

  excludes(path: string, stat: FileStat, pattern: string, ignoreCase: boolean): boolean {
    const entry = this.#entries.get(path);
    if (entry === undefined || !entry.isSettled || entry.stamp !== stampOf(stat)) return false;
    return !mayContain(entry.signature, this.#required(pattern, ignoreCase));
  }

  learn(path: string, stat: FileStat, content: Uint8Array): void {
    const stamp = stampOf(stat);
    const before = this.#entries.get(path);
    if (stamp === undefined || content.length !== stat.size || content.length > FILE_BYTES_MAX) {
      this.forget(path);
      return;
    }
    const isSame = before?.stamp === stamp;
    if (isSame && before.isSettled) return;
    if (before === undefined && this.#entries.size >= FILES_MAX) return;
    const now = Date.now();
    const firstSeen = isSame ? before.firstSeen : now;
    const isSettled = now - firstSeen > SETTLED_MS || now - (stat.modifiedMs ?? now) > OLD_MS;
    this.#entries.set(path, { stamp, signature: signatureOf(content), isSettled, firstSeen });
    this.changed();
  }

  forget(path: string): void {
    if (this.#entries.delete(path)) this.changed();
  }

  /** The number of files in the index, and the bytes of their signatures. */
  get size(): { files: number; bytes: number } {
    let bytes = 0;
    for (const { signature } of this.#entries.values()) bytes += signature.length;
    return { files: this.#entries.size, bytes };
  }

  /** The settled entries, for a store. */
  *settled(): Iterable<{ path: string; stamp: string; signature: Uint8Array }> {
    for (const [path, { stamp, signature, isSettled }] of this.#entries)
      if (isSettled) yield { path, stamp, signature };
  }

  /** Takes a settled entry of a store, unless the file is known. */
  restore(path: string, stamp: string, signature: Uint8Array): void {
    if (this.#entries.has(path) || this.#entries.size >= FILES_MAX) return;
    this.#entries.set(path, { stamp, signature, isSettled: true, firstSeen: 0 });
  }

  #required(pattern: string, ignoreCase: boolean): readonly number[] {
    const key = `${ignoreCase ? "i" : "c"}${pattern}`;
    const known = this.#queries.get(key);
    if (known !== undefined) return known;
    const trigrams = [...new Set(requiredTexts(pattern, ignoreCase).flatMap(trigramsOf))];
    if (this.#queries.size >= QUERIES_MAX) this.#queries.clear();
    this.#queries.set(key, trigrams);
    return trigrams;
  }
}

/** Returns the stamp of a file; `undefined` if the environment tells no time, which each change would have to alter. */
function stampOf({ size, modifiedMs, version = "" }: FileStat): Stamp | undefined {
  return modifiedMs === undefined || !(modifiedMs > 0) ? undefined : `${size}:${modifiedMs}:${version}`;
}
