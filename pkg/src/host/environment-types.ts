/** What an environment is: the files, and perhaps a shell, that a host lends its agent in place of files in memory. */

/** What takes a while may be a promise. */
export type Later<T> = T | PromiseLike<T>;

/** What every method is given last. */
export interface CallOptions {
  /** Fires when nobody waits for the answer any more, e.g. because the run was cancelled. */
  readonly signal: AbortSignal;
}

/** What stands at a path, links not followed. */
export interface FileStat {
  kind: "file" | "directory" | "link" | "other";
  /** Bytes of a file. */
  size?: number | undefined;
  /** When it was last changed, in milliseconds since 1970. Nothing is verified by it: contents are compared. */
  modifiedMs?: number | undefined;
  /** What a link says: a path from its own directory, or an absolute one under `workingDirectory`. */
  target?: string | undefined;
}

/** What {@link ExecutionEnvironment.list} gives of an entry. What it leaves out is asked of `stat`. */
export interface ListEntry extends Partial<FileStat> {
  name: string;
}

/** What {@link ExecutionEnvironment.glob} gives of a file. What it leaves out is asked of `stat`. */
export interface FoundFile extends Partial<FileStat> {
  /** Its path from the root. */
  path: string;
}

export interface HostGlobOptions extends CallOptions {
  /** The directory to look in. The pattern is relative to it. */
  readonly path: string;
}

export interface HostGrepOptions extends CallOptions {
  /** The directory to search. */
  readonly path: string;
  readonly ignoreCase: boolean;
  /** Only files whose path from `path`, or whose name, matches this. */
  readonly glob: string | undefined;
}

export interface ExecOptions extends CallOptions {
  /** Where it runs: a path from the root. */
  readonly workingDirectory: string;
  /** Variables beside the environment's own. */
  readonly env: Readonly<Record<string, string>>;
  /** When `signal` will fire at the latest. What has not ended two seconds after that is no longer waited for. */
  readonly timeoutMs: number;
  /** Shows what it prints, as it comes. */
  readonly onOutput: (text: string, stream?: "stdout" | "stderr") => void;
}

/** How a command ended. */
export interface ExecResult {
  exitCode: number;
  /** What it printed, beside what `onOutput` was given. */
  stdout?: string | undefined;
  stderr?: string | undefined;
}

/**
 * Where an agent works: an editor's files, a directory that the user picked, a server. Every method may return a promise.
 *
 * Paths are relative to the root, with `/` between, without `.` and `..`; the root itself is the empty path. The agent
 * never asks for what is outside: it follows links by itself, so **do not follow them in `stat` and `list`**.
 *
 * What a method throws is told to the model. An `error.code` of Node's (`ENOENT`, `EACCES`, `EISDIR`, `ENOTDIR`, `EEXIST`,
 * `ENOSPC`, `EROFS`, …) or of this package's, and the name of a `DOMException` (`NotFoundError`, `NotAllowedError`,
 * `TypeMismatchError`, `QuotaExceededError`, …), say what is wrong; anything else is `io_error` with its message.
 *
 * Files are compared by what they hold before they are written, and a change of several files that fails is taken back.
 */
export interface ExecutionEnvironment {
  /** The root as users and models know it: an absolute path with `/` between. Default `/workspace`. */
  readonly workingDirectory?: string | undefined;
  /** What the model is told it works on; Node's `win32` counts as `windows`. Default `wasm`. */
  readonly platform?: "linux" | "darwin" | "windows" | "win32" | "wasm" | undefined;
  /** The system's version, for the model. */
  readonly osVersion?: string | undefined;

  /** Gets ready. Called before the first task, and again if it failed. */
  initialize?(options: CallOptions): Later<void>;
  /** Returns what a file holds; text is taken as UTF-8. Nothing at all means that there is no such file. */
  read(path: string, options: CallOptions): Later<Uint8Array | ArrayBuffer | string | null | undefined>;
  /** Writes a file, and makes the directories above it. It is waited for, also when the run is cancelled. */
  write(path: string, content: Uint8Array, options: CallOptions): Later<void>;
  /** Removes a file. It is waited for, also when the run is cancelled. */
  remove(path: string, options: CallOptions): Later<void>;
  /** Returns what stands at a path; nothing at all if nothing does. */
  stat(path: string, options: CallOptions): Later<FileStat | null | undefined>;
  /** Returns the entries of a directory, by name or with what is known of them, in any order. */
  list(path: string, options: CallOptions): Later<Iterable<string | ListEntry> | AsyncIterable<string | ListEntry>>;
  /**
   * Finds files faster than by walking. It may find too many, since they are matched again; it has to leave out what is
   * hidden or ignored.
   */
  glob?(
    pattern: string,
    options: HostGlobOptions,
  ): Later<Iterable<string | FoundFile> | AsyncIterable<string | FoundFile>>;
  /**
   * Finds the files that may have a line which matches, a regular expression in the syntax of Rust's `regex`. They are
   * read and searched again, so it may find too many; it has to leave out what is hidden or ignored.
   */
  grep?(
    pattern: string,
    options: HostGrepOptions,
  ): Later<Iterable<string | FoundFile> | AsyncIterable<string | FoundFile>>;
  /** Runs a command in a shell until it ends. With it the model has a tool for that; it needs `mode: "direct"`. */
  exec?(command: string, options: ExecOptions): Later<ExecResult>;
}
