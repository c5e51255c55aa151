/** Public types of the ready-made environments. */

import type { Bytes } from "../files/types.js";
import type {
  CallOptions,
  ExecutionEnvironment,
  FileStat,
  HostWriteOptions,
  ListEntry,
} from "../host/environment-types.js";

/**
 * An environment whose files are all below one root. Its methods need no `this`: `{ ...nodeFs(root), exec }` adds a shell.
 *
 * A path that is absolute, has a `..` segment, or leads out of the root over a symbolic link fails with code
 * `permission_denied`. A path of a file that ends in a slash, and a path with half of a surrogate pair, fail with code
 * `invalid_argument`. Every failure is an `EmendError`; `error.data.path` is the path.
 */
export interface FsEnvironment extends ExecutionEnvironment {
  /** @throws {EmendError} with code `not_found` if there is no such file. */
  read(path: string, options?: Partial<CallOptions>): Promise<Bytes>;
  /**
   * Writes a file, and creates its parent directories. The array `content` must stay as it is until the end of the call.
   *
   * @throws {ConflictError} with code `stale` if the file does not have the content `options.replaces`, or if another
   *   program is seen to change it during the write. The file keeps the content of the other program.
   */
  write(path: string, content: Uint8Array, options?: Partial<HostWriteOptions>): Promise<void>;
  /** Removes a file. Throws as {@link write} does. */
  remove(path: string, options?: Partial<HostWriteOptions>): Promise<void>;
  /** Returns `null` if there is no such path. */
  stat(path: string, options?: Partial<CallOptions>): Promise<FileStat | null>;
  list(path: string, options?: Partial<CallOptions>): Promise<ListEntry[]>;
}

/** Files in memory: the result of `memoryFs`. */
export interface MemoryFs extends FsEnvironment {
  /** Returns a copy of all files by path. The path of an empty directory ends in `/`. */
  export(): Record<string, Bytes>;
}
