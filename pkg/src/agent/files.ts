/** The files of an agent's project, as the user reads and writes them. */

import type { AgentHandle } from "../core.js";
import { isEmendError } from "../errors.js";
import type { Bytes } from "../files/types.js";
import { optionalCount, optionalFlag, optionsOf, requireText } from "../validate.js";
import type { AgentChange } from "./changes.js";
import type { HandleBridge } from "./handle-bridge.js";
import type {
  ExportOptions,
  FileInfo,
  FileMatches,
  FileState,
  GlobOptions,
  GrepOptions,
  Review,
  WriteOptions,
} from "./types.js";

/** The largest number of results that fits into 32 bits. */
const RESULTS_MAX = 2 ** 32 - 1;

/** The project's files. Reading shows the visible content, which includes pending edits, unless stated otherwise. */
export class Files {
  readonly #bridge: HandleBridge;
  readonly #tell: (change: AgentChange) => void;

  /** @internal */
  constructor(bridge: HandleBridge, tell: (change: AgentChange) => void = () => {}) {
    this.#bridge = bridge;
    this.#tell = tell;
  }

  /** @internal */
  static handleOf(files: Files): AgentHandle {
    return files.#bridge.call((handle) => handle);
  }

  /** Lists all files, sorted by path. Files that a pending edit deletes are included. */
  list(): Promise<FileInfo[]> {
    return this.#bridge.callAsync((handle) => handle.listFiles());
  }

  /** Returns the visible content of a file, pending edits included, or `null` if there is no such file. */
  async read(path: string): Promise<FileState | null> {
    const file = requireText("the path", path);
    return this.#bridge.callAsync((handle) => handle.readFile(file));
  }

  /**
   * Returns whether there is a visible file at a path. A binary file, which cannot be read as text, is one.
   * @internal
   */
  async exists(path: string): Promise<boolean> {
    try {
      return (await this.read(path)) !== null;
    } catch (error) {
      if (isEmendError(error, "unsupported")) return true;
      throw error;
    }
  }

  /** Returns the saved content of a file, without pending edits, or `null` if there is no such file. */
  async readDisk(path: string): Promise<string | null> {
    const file = requireText("the path", path);
    return this.#bridge.callAsync((handle) => handle.readDisk(file));
  }

  /**
   * Writes a file as the user. The edit is saved at once and needs no review. If `path` is open in the canvas, the
   * canvas is taken back from the agent.
   */
  async write(path: string, text: string, options: WriteOptions = {}): Promise<FileState> {
    const file = requireText("the path", path);
    const content = requireText("the text", text);
    const { base: given } = optionsOf(options, ["base"]);
    const base = given === undefined ? undefined : requireText("`base`", given);
    const state = await this.#bridge.change<FileState>((handle) => handle.writeFile(file, content, base));
    this.#tell({ kind: "write", path: state.path, revision: state.revision });
    return state;
  }

  /** Deletes a file as the user. */
  async remove(path: string): Promise<void> {
    const file = requireText("the path", path);
    await this.#bridge.change((handle) => handle.removeFile(file));
    this.#tell({ kind: "write", path: file });
  }

  /** Returns all pending changes as one unified diff in git's format. */
  diff(): Promise<string> {
    return this.#bridge.callAsync((handle) => handle.diff());
  }

  /**
   * Returns the lines of the visible files that match a regular expression, sorted by path and line. Lines are matched
   * one by one, without their line endings. Hidden files, binary files and files that `.gitignore` excludes are
   * skipped, and files that the environment refuses to read.
   *
   * The regular expression engine is the agent's own: its time is linear in the text for every pattern, and it has
   * neither look-around nor back-references.
   *
   * @throws {EmendError} with code `invalid_argument` if the pattern or a glob is malformed, `not_found` if there is no
   *   `path`.
   */
  async grep(pattern: string, options: GrepOptions = {}): Promise<FileMatches[]> {
    const text = requireText("the pattern", pattern);
    const {
      path = ".",
      glob,
      ignoreCase,
      contextLines,
      maxResults,
    } = optionsOf(options, ["path", "glob", "ignoreCase", "contextLines", "maxResults"]);
    const anyCase = optionalFlag("`ignoreCase`", ignoreCase);
    const start = requireText("`path`", path);
    const filter = glob === undefined ? undefined : requireText("`glob`", glob);
    const context = optionalCount("`contextLines`", contextLines) ?? 0;
    const max = optionalCount("`maxResults`", maxResults) ?? RESULTS_MAX;
    return this.#bridge.callAsync((handle) => handle.grep(text, anyCase, start, filter, context, max));
  }

  /**
   * Returns the paths of the files that match a glob such as `src/**\/*.{ts,tsx}`, sorted. Hidden files and files that
   * `.gitignore` excludes are skipped.
   *
   * @throws {EmendError} with code `invalid_argument` if the glob is malformed, `not_found` if there is no `path`.
   */
  async glob(pattern: string, options: GlobOptions = {}): Promise<string[]> {
    const { path = "." } = optionsOf(options, ["path"]);
    const [text, start] = [requireText("the glob", pattern), requireText("`path`", path)];
    return this.#bridge.callAsync((handle) => handle.glob(text, start));
  }

  /**
   * Returns the bytes of all files, in the form that {@link Agent.create} takes: the saved content or, with `pending`,
   * the visible content. An empty directory is an entry whose path ends in `/`. Symbolic links are omitted.
   */
  async export(options: ExportOptions = {}): Promise<Record<string, Bytes>> {
    const pending = optionalFlag("`pending`", optionsOf(options, ["pending"]).pending);
    const listed = this.#bridge.call((handle) => handle.exportFiles());
    const files = new Map<string, Bytes>();
    for (let at = 0; at < listed.length; at += 2) files.set(listed[at] as string, listed[at + 1] as Bytes);
    if (pending) {
      const review = this.#bridge.callJson<Review>((handle) => handle.review(0));
      // All reads start before the first one is awaited, so they describe one state of the files.
      const visible = review.files.map(async ({ path }) => [path, await this.read(path)] as const);
      for (const [path, state] of await Promise.all(visible)) {
        if (state === null) files.delete(path);
        else files.set(path, new TextEncoder().encode(state.text));
      }
    }
    return Object.fromEntries(files);
  }
}
