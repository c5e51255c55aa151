/// <reference lib="esnext.disposable" preserve="true" />

/** The line log: one file under review, every change to it, and what was decided about each. */

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

/** A change's number or a hunk's name. */
export type ChangeRef = number | string;

/**
 * The log of one file. Any change can be switched off and on again, in any order, and no line is ever lost by it.
 *
 * Times are taken from `Date.now()` unless given. Free it with {@link close} when the file is closed.
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

  /** What agent and user see: everything that is on. `null` if the file does not exist in it. */
  get visibleText(): string | null {
    return this.#text("visible");
  }

  /** What a save writes: pending changes are off, except those that the user's own lines stand on. */
  get diskText(): string | null {
    return this.#text("disk");
  }

  /** The text with every pending change off: the old side of the review. */
  get settledText(): string | null {
    return this.#text("settled");
  }

  /** The text the log began with. */
  get baseText(): string | null {
    return this.#text("base");
  }

  /** The text last known to be on the disk: see {@link markSaved}. */
  get savedText(): string | null {
    return this.#text("saved");
  }

  /** The path the file was renamed to in the visible state; `null` if it was not renamed. */
  get visiblePath(): string | null {
    return this.#call((handle) => handle.path(false)) ?? null;
  }

  /** The path the file was renamed to in the state that is to be saved; `null` if it was not renamed. */
  get diskPath(): string | null {
    return this.#call((handle) => handle.path(true)) ?? null;
  }

  /** Grows with everything that enters the log. */
  get revision(): number {
    return this.#call((handle) => handle.revision);
  }

  /** How many lines the visible text has. */
  get visibleLines(): number {
    return this.#call((handle) => handle.visibleLines);
  }

  /**
   * Records that the visible text became `text`; creates the file if there is none.
   *
   * Only what differs becomes changes, so whole texts can be written. Returns their ids, none if nothing differs.
   */
  write(text: string, info: WriteInfo): number[] {
    const [content, options] = [requireText("the text", text), written(info)];
    return this.#json((handle) => handle.write(putText(0, content), options));
  }

  /** Records that the file was deleted. Returns the change; `null` if there was no file. */
  delete(info: WriteInfo): number | null {
    const options = written(info);
    return this.#json((handle) => handle.delete(options));
  }

  /** Records that the file has another path. Returns the change; `null` if it had that path already. */
  rename(to: string, info: WriteInfo): number | null {
    const [path, options] = [requireText("the path", to), written(info)];
    return this.#json((handle) => handle.rename(path, options));
  }

  /** Records what another program made of the file on the disk; `null`: it is gone. Pending changes stay. */
  external(text: string | null, info: Omit<WriteInfo, "origin" | "status"> = {}): number[] {
    const content = text === null ? undefined : requireText("the text", text);
    const options = written({ ...info, origin: "external" });
    return this.#json((handle) => handle.external(content, options));
  }

  /** Notes that the disk now holds {@link diskText}. */
  markSaved(): void {
    this.#call((handle) => handle.markSaved());
  }

  /** Every change, in the order they were made. */
  changes(): LogChange[] {
    return this.#json((handle) => handle.changes());
  }

  /** One change; `null` if there is none of that number, or it was split. */
  change(id: number): LogChange | null {
    const number = requireId("the id", id);
    return this.#json((handle) => handle.changes(number));
  }

  /** The changes that wait for a decision. */
  pending(): number[] {
    return this.#json((handle) => handle.pending());
  }

  /** The pending changes that are on the disk all the same. */
  keptOnDisk(): number[] {
    return this.#json((handle) => handle.keptOnDisk());
  }

  /** Every change that is on and directly or indirectly stands on one of these. */
  dependents(ids: readonly ChangeRef[]): number[] {
    const refs = requireRefs(ids);
    return this.#json((handle) => handle.dependents(refs));
  }

  /** The hunks of a review, in text order. */
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

  /** Accepts: on, and on the disk. */
  accept(ids: readonly ChangeRef[], info: DecisionInfo = {}): Applied {
    return this.#decide("accept", ids, info);
  }

  /**
   * Rejects: off.
   *
   * @throws {ConflictError} if later changes stand on them and `dependents` is `refuse`; nothing changed then.
   */
  reject(ids: readonly ChangeRef[], info: RejectInfo = {}): Applied {
    return this.#decide("reject", ids, info);
  }

  /** Makes the agent's changes pending again. The user's stay as they are. */
  reopen(ids: readonly ChangeRef[], info: DecisionInfo = {}): Applied {
    return this.#decide("reopen", ids, info);
  }

  /** Switches off as {@link reject} does, with the status `rolled_back`. */
  rollback(ids: readonly ChangeRef[], info: RejectInfo = {}): Applied {
    return this.#decide("rollback", ids, info);
  }

  /** The changes that a hunk's name stands for, those a split has made of them included. */
  changesOf(hunkId: string): number[] {
    const name = requireText("the hunk's id", hunkId);
    return this.#json((handle) => handle.changesOf(name));
  }

  /** Takes back the last edit or decision of `by`; `null` if there is none. What others did since stays. */
  undo(info: DecisionInfo = {}): Applied | null {
    const options = decided(info);
    return applied(this.#json((handle) => handle.step(false, options)));
  }

  /** Takes back the last undo of `by`; `null` if there is none. */
  redo(info: DecisionInfo = {}): Applied | null {
    const options = decided(info);
    return applied(this.#json((handle) => handle.step(true, options)));
  }

  /** Marks the present state, to come back to with {@link rollbackTo}. */
  checkpoint(): number {
    return this.#call((handle) => handle.checkpoint());
  }

  /** Forgets a checkpoint. Returns whether there was one. */
  release(checkpoint: number): boolean {
    const number = requireId("the checkpoint", checkpoint);
    return this.#call((handle) => handle.release(number));
  }

  /** What {@link rollbackTo} would switch off. */
  changesSince(checkpoint: number): number[] {
    const number = requireId("the checkpoint", checkpoint);
    return this.#json((handle) => handle.changesSince(number));
  }

  /** Takes the text back to a checkpoint, whoever changed it since, as one entry that {@link undo} takes back. */
  rollbackTo(checkpoint: number, info: DecisionInfo = {}): Applied {
    const [number, options] = [requireId("the checkpoint", checkpoint), decided(info)];
    return applied<Applied>(this.#json((handle) => handle.rollbackTo(number, options)));
  }

  /**
   * Splits a change in two: the first gets its first `line` lines, removed ones counted before added ones.
   *
   * The old id stands for both from now on. Returns the parts; `null` if one would be empty.
   */
  split(id: number, line: number): [first: number, second: number] | null {
    const [number, at] = [requireId("the id", id), requireCount("`line`", line)];
    return this.#json((handle) => handle.split(number, at));
  }

  /** The history, oldest first. It only grows. */
  entries(): LogEntry[] {
    return this.#json((handle) => handle.entries());
  }

  /** Drops everything but the present text if nothing is pending, no checkpoint is left and all is saved. */
  compact(): boolean {
    return this.#call((handle) => handle.compact());
  }

  /** All of it as text, for {@link Edit.loadLog}. */
  save(): string {
    return this.#call((handle) => handle.save());
  }

  /** Frees its memory. Every later call throws a {@link ClosedError}. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#wasm.isDead) this.#wasm.call(() => this.#handle.free());
  }

  #text(view: string): string | null {
    return this.#call((handle) => handle.text(view)) ?? null;
  }

  #decide(decision: string, ids: readonly ChangeRef[], info: RejectInfo): Applied {
    const [refs, options] = [requireRefs(ids), decided(info)];
    return applied<Applied>(this.#json((handle) => handle.decide(JSON.stringify(decision), refs, options)));
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

function written(info: WriteInfo): string {
  return optionsJson("the options", { ...requireRecord("the options", info), atMs: moment(info.atMs) });
}

function decided(info: DecisionInfo): string {
  return optionsJson("the options", { by: "user", ...requireRecord("the options", info), atMs: moment(info.atMs) });
}

function moment(given: number | undefined): number {
  return requireId("`atMs`", given ?? Date.now());
}

function requireRefs(ids: readonly ChangeRef[]): string {
  const isRef = (id: unknown): boolean => typeof id === "string" || (Number.isSafeInteger(id) && (id as number) >= 0);
  if (!Array.isArray(ids) || !ids.every(isRef)) throw invalid("ids must be an array of change numbers and hunk names");
  return JSON.stringify(ids);
}

/** Rust counts the lines of these edits from 0. */
function applied<T extends Applied | null>(given: T): T {
  for (const edit of given?.edits ?? []) edit.line += 1;
  return given;
}
