/** Public types of the index for searches. */

import type { MaybePromise } from "../host/environment-types.js";

/** Keeps the bytes of an index between two visits. */
export interface IndexStore {
  /** Returns what {@link save} got last; nothing if there is none. */
  load(): MaybePromise<Uint8Array | null | undefined>;
  save(bytes: Uint8Array): MaybePromise<void>;
}

/** Options of `indexed`. */
export interface IndexOptions {
  /** Projects with fewer files are searched without the index. Default 2,000. */
  filesMin?: number | undefined;
  /** Keeps the index. Default: it is in memory only. */
  store?: IndexStore | undefined;
}

/** The methods that `indexed` adds to an environment. */
export interface IndexedEnvironment {
  /** Returns the number of files in the index, and the bytes of their signatures. */
  indexSize(): { files: number; bytes: number };
  /** Stores the index now. Otherwise that happens some seconds after its last change. */
  saveIndex(): Promise<void>;
}
