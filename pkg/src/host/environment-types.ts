/** Public types of an environment: files, and optionally a shell, that a host provides instead of files in memory. */

import type { Bytes } from "../files/types.js";

/** A value or a promise of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** The last argument of every method. */
export interface CallOptions {
  /** Fires when the result is no longer needed, e.g. because the run was cancelled. */
  readonly signal: AbortSignal;
}

/** Options of {@link ExecutionEnvironment.write} and {@link ExecutionEnvironment.remove}. */
export interface HostWriteOptions extends CallOptions {
  /**
   * The content with which the agent has compared the file, `null` if there was none. If the file has another content by now, an
   * environment can throw an error with code `stale` in place of the change, so that no save of another program is lost.
   */
  readonly replaces?: Uint8Array | null | undefined;
}

/** Properties of a path. Symbolic links are not followed. */
export interface FileStat {
  kind: "file" | "directory" | "link" | "other";
  /** Size of a file, in bytes. */
  size?: number | undefined;
  /** Modification time, in milliseconds since 1970. The agent compares contents, not times, to detect changes. */
  modifiedMs?: number | undefined;
  /**
   * A text that is another one after every change of the file, also if its time is set back, such as an inode and its time of change.
   * A {@link SearchIndex} notices such a change by it.
   */
  version?: string | undefined;
  /** Target of a symbolic link: a path relative to its directory, or an absolute path below `workingDirectory`. */
  target?: string | undefined;
  /**
   * Text that files with several names (hard links) have in common. When edits of several names are accepted at once and agree,
   * the first write saves them all. The agent reads it from `stat` only.
   */
  identity?: string | undefined;
}

/** A directory entry from {@link ExecutionEnvironment.list}. The agent calls `stat` for missing properties. */
export interface ListEntry extends Partial<FileStat> {
  name: string;
}

/** A file from {@link ExecutionEnvironment.glob}. The agent calls `stat` for missing properties. */
export interface FoundFile extends Partial<FileStat> {
  /** Path relative to the root. */
  path: string;
}

/** Options of {@link ExecutionEnvironment.glob}. */
export interface HostGlobOptions extends CallOptions {
  /** Directory that the pattern is relative to. */
  readonly path: string;
}

/** Options of {@link ExecutionEnvironment.grep}. */
export interface HostGrepOptions extends CallOptions {
  /** Directory to search. */
  readonly path: string;
  readonly ignoreCase: boolean;
  /** Glob that selects files by their path relative to `path`, or by their name. */
  readonly glob: string | undefined;
}

/** Options of {@link ExecutionEnvironment.exec}. */
export interface ExecOptions extends CallOptions {
  /** Working directory of the command, relative to the root. */
  readonly workingDirectory: string;
  /** Environment variables, in addition to the environment's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Time after which `signal` fires, in milliseconds. Two seconds later the agent stops waiting for the command. */
  readonly timeoutMs: number;
  /** Reports output while the command runs. */
  readonly onOutput: (text: string, stream?: "stdout" | "stderr") => void;
}

/** Result of a command. */
export interface ExecResult {
  exitCode: number;
  /** Output that was not reported with `onOutput`. */
  stdout?: string | undefined;
  stderr?: string | undefined;
}

/**
 * The knowledge of searches about files that they have not read. `indexed` of `emend/index` gives an environment one. All methods answer at
 * once; a search uses none of them in a project with fewer files than `filesMin`.
 */
export interface SearchIndex {
  readonly filesMin: number;
  /** Returns whether a file whose properties are `stat` certainly has no match of a pattern of Rust's `regex`. */
  excludes(path: string, stat: FileStat, pattern: string, ignoreCase: boolean): boolean;
  /** Is told the content of a file that a search has read. `stat` are its properties before. */
  learn(path: string, stat: FileStat, content: Uint8Array): void;
  /** Is told that the agent has changed a file. */
  forget(path: string): void;
}

/**
 * The files that an agent works on: those of an editor, of a directory that the user picked, or of a server. Every
 * method may return a promise.
 *
 * Paths are relative to the root, use `/` as separator, and contain neither `.` nor `..`. The root is the empty path.
 * The agent never requests a path outside the root. It resolves symbolic links itself, so **do not follow them in
 * `stat` and `list`**.
 *
 * The model is shown the exceptions of these methods. The error code is derived from an `error.code` of Node (`ENOENT`,
 * `EACCES`, `EISDIR`, `ENOTDIR`, `EEXIST`, `ENOSPC`, `EROFS`, …) or of this package, or from the name of a
 * `DOMException` (`NotFoundError`, `NotAllowedError`, `TypeMismatchError`, `QuotaExceededError`, …). Every other
 * exception has code `io_error`. A search skips files and directories that are gone or that may not be read
 * (`permission_denied`); it fails with every other exception.
 *
 * The agent compares the content of a file before it writes it, and passes that content to `write` and `remove`. An error with
 * code `stale` means that the file has another content by now: the change fails with this code, and the file stays. If a change of several files fails, the files that were
 * already written are restored. If that fails too, `data.originals` of the error has their texts by path, and the next
 * call that reads such a file first writes its text again.
 */
export interface ExecutionEnvironment {
  /** Path of the root as shown to users and models: absolute, with `/` as separator. Default `/workspace`. */
  readonly workingDirectory?: string | undefined;
  /** Platform that the model is told. Node's `win32` means `windows`. Default `wasm`. */
  readonly platform?: "linux" | "darwin" | "windows" | "win32" | "wasm" | undefined;
  /** Version of the operating system that the model is told. */
  readonly osVersion?: string | undefined;
  /**
   * Maximum time of one call, in milliseconds. Then `signal` fires, and the call fails with code `timeout`; for the model the code
   * is `io_error`. The time of an iterable begins anew with each item. 0 means no limit. It does not apply to `initialize`, which
   * may ask the user, and to `exec`, whose commands have limits of their own. Default: 5 minutes.
   */
  readonly timeoutMs?: number | undefined;

  /** Prepares the environment. Called before the first run, and again after a failure. */
  initialize?(options: CallOptions): MaybePromise<void>;
  /** Returns the content of a file, a string being UTF-8. Returns `null` or `undefined` if there is no such file. */
  read(path: string, options: CallOptions): MaybePromise<Uint8Array | ArrayBuffer | string | null | undefined>;
  /**
   * Writes a file, and creates its parent directories. If the run is cancelled, the agent waits five more seconds; then
   * `signal` fires and the write counts as failed. If it happens later, it counts as a change by another program.
   */
  write(path: string, content: Bytes, options: HostWriteOptions): MaybePromise<void>;
  /** Removes a file. A cancellation has the same effect as for `write`. */
  remove(path: string, options: HostWriteOptions): MaybePromise<void>;
  /** Returns the properties of a path, or `null` or `undefined` if it does not exist. */
  stat(path: string, options: CallOptions): MaybePromise<FileStat | null | undefined>;
  /** Returns the entries of a directory in any order: their names, or objects with known properties. */
  list(
    path: string,
    options: CallOptions,
  ): MaybePromise<Iterable<string | ListEntry> | AsyncIterable<string | ListEntry>>;
  /**
   * Finds files faster than a walk with `list`. The agent matches the results again, so there may be too many. Hidden
   * and ignored files must not be among them.
   */
  glob?(
    pattern: string,
    options: HostGlobOptions,
  ): MaybePromise<Iterable<string | FoundFile> | AsyncIterable<string | FoundFile>>;
  /**
   * Finds files that may have a matching line. The pattern has the syntax of Rust's `regex`. The agent reads and
   * searches the results again, so there may be too many. Hidden and ignored files must not be among them.
   */
  grep?(
    pattern: string,
    options: HostGrepOptions,
  ): MaybePromise<Iterable<string | FoundFile> | AsyncIterable<string | FoundFile>>;
  /** Tells which files a search need not read. It is not used with `grep`, nor by an agent in a worker. */
  readonly searchIndex?: SearchIndex | undefined;
  /** Runs a command in a shell until it ends. It gives the model the shell tool, and requires `mode: "direct"`. */
  exec?(command: string, options: ExecOptions): MaybePromise<ExecResult>;
}
