/// <reference lib="esnext.disposable" preserve="true" />

/** The line log: one file under review, with every change to it and every decision about them. */

import { camelKeys } from "../case.js";
import type { LogHandle } from "../edit-core.js";
import { ClosedError } from "../errors.js";
import { invalid, optionsJson, requireCount, requireId, requireRecord, requireText } from "../validate.js";
import { editModule, glue, putText } from "../wasm/edit.js";
import type { WasmInstance } from "../wasm/instance.js";
import type {
  Applied,
  DecisionInfo,
  HunkQuery,
  LogChange,
  LogEntry,
  LogHunk,
  RejectInfo,
  WriteInfo,
} from "./log-types.js";

/** The id of a change, or the id of a hunk. */
export type ChangeRef = number | string;

/**
 * The log of one file. Changes can be switched off and on again in any order, and no line is lost.
 *
 * Times default to `Date.now()`. Call {@link close} when the file is closed, to free the memory.
 */
export class LineLog {
  readonly #wasm: WasmInstance;
  readonly #handle: LogHandle;
  #closed = false;

  /** @internal */
  constructor(create: () => LogHandle) {
    this.#wasm = editModule.live();
    this.#handle = this.#wasm.call(create);
  }

  /**
   * The text that agent and user see, with all changes that are on. `null` if the file does not exist in this state.
   */
  get visibleText(): string | null {
    return this.#text("visible");
  }

  /** The text that a save writes: without pending changes, except those on which the user's own lines depend. */
  get diskText(): string | null {
    return this.#text("disk");
  }

  /** The text without any pending change: the old side of the review. */
  get settledText(): string | null {
    return this.#text("settled");
  }

  /** The initial text of the log. */
  get baseText(): string | null {
    return this.#text("base");
  }

  /** The text that is on disk as far as known; see {@link markSaved}. */
  get savedText(): string | null {
    return this.#text("saved");
  }

  /** The path of the file in the visible state if it was renamed, else `null`. */
  get visiblePath(): string | null {
    return this.#call((handle) => handle.path(false)) ?? null;
  }

  /** The path of the file in the state to be saved if it was renamed, else `null`. */
  get diskPath(): string | null {
    return this.#call((handle) => handle.path(true)) ?? null;
  }

  /** Number that grows with every entry of the log. */
  get revision(): number {
    return this.#call((handle) => handle.revision);
  }

  /** Number of lines of the visible text. */
  get visibleLines(): number {
    return this.#call((handle) => handle.visibleLines);
  }

  /**
   * Records that the visible text became `text`. Creates the file if it does not exist.
   *
   * Only the differences become changes, so whole texts can be passed. Returns the ids of the changes, none if the text
   * is unchanged.
   */
  write(text: string, info: WriteInfo): number[] {
    const [content, options] = [requireText("the text", text), writeInfoJson(info)];
    return this.#json((handle) => handle.write(putText(0, content), options));
  }

  /** Records that the file was deleted. Returns the id of the change, or `null` if there was no file. */
  delete(info: WriteInfo): number | null {
    const options = writeInfoJson(info);
    return this.#json((handle) => handle.delete(options));
  }

  /** Records that the file was renamed. Returns the id of the change, or `null` if it already had that path. */
  rename(to: string, info: WriteInfo): number | null {
    const [path, options] = [requireText("the path", to), writeInfoJson(info)];
    return this.#json((handle) => handle.rename(path, options));
  }

  /** Records the text that another program wrote to disk, or `null` if it removed the file. Pending changes stay. */
  external(text: string | null, info: Omit<WriteInfo, "origin" | "status"> = {}): number[] {
    const content = text === null ? undefined : requireText("the text", text);
    const options = writeInfoJson({ ...(requireRecord("the options", info) as typeof info), origin: "external" });
    return this.#json((handle) => handle.external(content, options));
  }

  /** Records that {@link diskText} is now on disk. */
  markSaved(): void {
    this.#call((handle) => handle.markSaved());
  }

  /** Returns all changes, oldest first. */
  changes(): LogChange[] {
    return this.#json((handle) => handle.changes());
  }

  /** Returns one change, or `null` if there is none with that id or it was split. */
  change(id: number): LogChange | null {
    const number = requireId("the id", id);
    return this.#json((handle) => handle.changes(number));
  }

  /** Returns the ids of the pending changes. */
  pending(): number[] {
    return this.#json((handle) => handle.pending());
  }

  /** Returns the ids of the pending changes that are on disk. */
  keptOnDisk(): number[] {
    return this.#json((handle) => handle.keptOnDisk());
  }

  /** Returns the changes that are on and depend, directly or indirectly, on one of these. */
  dependents(ids: readonly ChangeRef[]): number[] {
    const refs = requireRefs(ids);
    return this.#json((handle) => handle.dependents(refs));
  }

  /** Returns the hunks of a review, in the order of the text. */
  hunks(query: HunkQuery = {}): LogHunk[] {
    const {
      statuses = ["pending"],
      origin = "agent",
      context = 3,
      ...rest
    } = requireRecord("the query", query) as HunkQuery;
    const json = optionsJson("the query", { ...rest, statuses, origin, context: requireCount("`context`", context) });
    return this.#json((handle) => handle.hunks(json));
  }

  /** Accepts changes: they are on, in the visible text and on disk. */
  accept(ids: readonly ChangeRef[], info: DecisionInfo = {}): Applied {
    return this.#decide("accept", ids, info);
  }

  /**
   * Rejects changes: they are off.
   *
   * @throws {ConflictError} if later changes depend on them and `dependents` is `refuse`. Then nothing changes.
   */
  reject(ids: readonly ChangeRef[], info: RejectInfo = {}): Applied {
    return this.#decide("reject", ids, info);
  }

  /** Makes changes of the agent pending again. Changes of the user are not affected. */
  reopen(ids: readonly ChangeRef[], info: DecisionInfo = {}): Applied {
    return this.#decide("reopen", ids, info);
  }

  /** Switches changes off as {@link reject} does, with the status `rolled_back`. */
  rollback(ids: readonly ChangeRef[], info: RejectInfo = {}): Applied {
    return this.#decide("rollback", ids, info);
  }

  /** Returns the changes of a hunk, including those that result from a split. */
  changesOf(hunkId: string): number[] {
    const name = requireText("the hunk's id", hunkId);
    return this.#json((handle) => handle.changesOf(name));
  }

  /** Undoes the last edit or decision of `by`. Returns `null` if there is none. Later entries of others stay. */
  undo(info: DecisionInfo = {}): Applied | null {
    const options = decisionInfoJson(info);
    return countedFrom1(this.#json((handle) => handle.step(false, options)));
  }

  /** Reverts the last undo of `by`. Returns `null` if there is none. */
  redo(info: DecisionInfo = {}): Applied | null {
    const options = decisionInfoJson(info);
    return countedFrom1(this.#json((handle) => handle.step(true, options)));
  }

  /** Creates a checkpoint of the current state for {@link rollbackTo}, and returns its number. */
  checkpoint(): number {
    return this.#call((handle) => handle.checkpoint());
  }

  /** Removes a checkpoint. Returns whether it existed. */
  release(checkpoint: number): boolean {
    const number = requireId("the checkpoint", checkpoint);
    return this.#call((handle) => handle.release(number));
  }

  /** Returns the changes that {@link rollbackTo} would switch off. */
  changesSince(checkpoint: number): number[] {
    const number = requireId("the checkpoint", checkpoint);
    return this.#json((handle) => handle.changesSince(number));
  }

  /** Restores the text of a checkpoint, whatever the origin of the later changes. One {@link undo} reverts it. */
  rollbackTo(checkpoint: number, info: DecisionInfo = {}): Applied {
    const [number, options] = [requireId("the checkpoint", checkpoint), decisionInfoJson(info)];
    return countedFrom1<Applied>(this.#json((handle) => handle.rollbackTo(number, options)));
  }

  /**
   * Splits a change in two. The first part gets its first `line` lines, removed lines counted before added lines.
   *
   * From then on the old id means both parts. Returns the ids of the parts, or `null` if one of them would be empty.
   */
  split(id: number, line: number): [first: number, second: number] | null {
    const [number, at] = [requireId("the id", id), requireCount("`line`", line)];
    return this.#json((handle) => handle.split(number, at));
  }

  /** Returns the entries of the log, oldest first. The log only grows. */
  entries(): LogEntry[] {
    return this.#json((handle) => handle.entries());
  }

  /**
   * Drops everything except the current text if nothing is pending, there is no checkpoint, and all is saved. Returns
   * whether it did.
   */
  compact(): boolean {
    return this.#call((handle) => handle.compact());
  }

  /** Serializes the log for {@link Edit.loadLog}. */
  save(): string {
    return this.#call((handle) => handle.save());
  }

  /** Frees the memory. Every later call throws a {@link ClosedError}. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#wasm.isDead) this.#wasm.call(() => this.#handle.free());
  }

  #text(view: string): string | null {
    return this.#call((handle) => handle.text(view)) ?? null;
  }

  #decide(decision: string, ids: readonly ChangeRef[], info: RejectInfo): Applied {
    const [refs, options] = [requireRefs(ids), decisionInfoJson(info)];
    return countedFrom1<Applied>(this.#json((handle) => handle.decide(JSON.stringify(decision), refs, options)));
  }

  #json<T>(work: (handle: LogHandle) => string): T {
    return camelKeys<T>(JSON.parse(this.#call(work)));
  }

  #call<T>(work: (handle: LogHandle) => T): T {
    if (this.#closed) throw new ClosedError("closed", "the log is closed");
    return this.#wasm.call(() => work(this.#handle));
  }
}

export interface LineLog extends Disposable {}
if (Symbol.dispose !== undefined) {
  LineLog.prototype[Symbol.dispose] = function (this: LineLog): void {
    this.close();
  };
}

export function openLog(base: string | null): LineLog {
  const text = base === null ? undefined : requireText("the text", base);
  return new LineLog(() => new glue.LogHandle(text));
}

export function loadLog(saved: string): LineLog {
  const text = requireText("the saved log", saved);
  return new LineLog(() => glue.LogHandle.load(text));
}

function writeInfoJson(info: WriteInfo): string {
  return optionsJson("the options", { ...requireRecord("the options", info), atMs: moment(info.atMs) });
}

function decisionInfoJson(info: DecisionInfo): string {
  return optionsJson("the options", { by: "user", ...requireRecord("the options", info), atMs: moment(info.atMs) });
}

function moment(given: number | undefined): number {
  return requireId("`atMs`", given ?? Date.now());
}

function requireRefs(ids: readonly ChangeRef[]): string {
  const isRef = (id: unknown): boolean => typeof id === "string" || (Number.isSafeInteger(id) && (id as number) >= 0);
  if (!Array.isArray(ids) || !ids.every(isRef)) throw invalid("ids must be an array of change ids and hunk ids");
  return JSON.stringify(ids);
}

/** Converts the line numbers of the edits, which Rust counts from 0, to numbers from 1. */
function countedFrom1<T extends Applied | null>(given: T): T {
  for (const edit of given?.edits ?? []) edit.line += 1;
  return given;
}
