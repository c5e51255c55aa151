/// <reference lib="esnext.disposable" preserve="true" />

/** The agent: one project, one model, one session, and the review of the model's edits. */

import { toCamel } from "../case.js";
import type { AgentHandle } from "../core.js";
import { BusyError, ConfigError, EmendError, NotInitializedError } from "../errors.js";
import { CustomTools } from "../host/custom-tools.js";
import { COMPACTION, TURN } from "../names.js";
import type { SessionStore, SessionSummary, Turn } from "../sessions/types.js";
import { optionalFlag, optionsOf, requireCount, requireId, requireOptions, requireText } from "../validate.js";
import { coreModule, glue } from "../wasm/core.js";
import type { Task } from "../wasm/instance.js";
import { AgentBridge } from "./bridge.js";
import { Canvas } from "./canvas.js";
import { type AgentChange, Changes } from "./changes.js";
import { prepare, senderOf } from "./create.js";
import type { EventFeed } from "./event-feed.js";
import { Files } from "./files.js";
import { imagesOf } from "./images.js";
import { newestCursor } from "./newest-cursor.js";
import { OWN_OPTIONS, withOwnNames } from "./option-names.js";
import type {
  AcceptOptions,
  AgentChanges,
  AgentOptions,
  EventsOptions,
  ForkOptions,
  MessageOptions,
  ModelOptions,
  NewSessionOptions,
  RejectOptions,
  RunOptions,
} from "./options.js";
import type { Run } from "./run.js";
import {
  checkedOptions,
  type Opener,
  type Protection,
  refuseInternalNames,
  type Settings,
  selectModel,
  settingsForCore,
} from "./settings.js";
import type { Tracing } from "./telemetry.js";
import type { Compaction, Review } from "./types.js";

type DecisionKind = Extract<AgentChange, { kind: "decision" }>["action"];

/** Proves that the constructor is called by {@link Agent.create}. */
const CREATE = Symbol("create");

const DEFAULT_MODEL: ModelOptions = { provider: "offline" };

const CORE = { glue, loaded: () => coreModule.loaded() };

/**
 * A coding agent over files in memory or in a host's environment. It proposes edits; the user accepts or rejects them.
 */
export class Agent {
  /** The project's files. */
  readonly files: Files;
  /** The file that the user's editor shows. */
  readonly canvas: Canvas;

  readonly #bridge: AgentBridge;
  readonly #changes: Changes;
  readonly #tools: CustomTools;
  /** The options as the core has them, without functions. */
  #settings: Settings;
  #open: Opener | undefined;
  /** Sends the requests of models. */
  readonly #send: NonNullable<AgentOptions["fetch"]>;
  readonly #protection: Protection;
  readonly #tracing: Tracing | undefined;
  #run: Run | undefined;

  private constructor(
    create: symbol,
    bridge: AgentBridge,
    tools: CustomTools,
    settings: Settings,
    open: Opener | undefined,
    send: NonNullable<AgentOptions["fetch"]>,
    protection: Protection,
    tracing: Tracing | undefined,
  ) {
    if (create !== CREATE) {
      throw new NotInitializedError("not_initialized", "create an agent with `await Agent.create(options)`");
    }
    this.#bridge = bridge;
    this.#tools = tools;
    this.#settings = settings;
    this.#open = open;
    this.#send = send;
    this.#protection = protection;
    this.#tracing = tracing;
    this.#changes = new Changes((after) => bridge.subscribe(after));
    this.files = new Files(bridge, (change) => this.#changes.tell(change));
    this.canvas = new Canvas(bridge);
  }

  /**
   * Creates an agent. Loads the core first if necessary.
   *
   * @throws {ConfigError} if the options are wrong.
   * @throws {EmendError} with code `load_failed` if the core cannot be loaded.
   */
  static async create(options: AgentOptions = {}): Promise<Agent> {
    const { telemetry: given, ...checked } = checkedOptions(options);
    const tracing = given === undefined ? undefined : (await import("./telemetry.js")).tracingOf(given);
    const selected = selectModel(checked.model ?? DEFAULT_MODEL, senderOf(checked));
    const prepared = await prepare(checked, selected);
    const { tools, settings, host, link, send, protection } = prepared;
    const { wasm, create } = await prepared.open(CORE);
    const bridge = withOwnNames(OWN_OPTIONS, () => new AgentBridge(wasm, create, host, link));
    try {
      await prepared.fill(bridge, CORE);
    } catch (error) {
      bridge.close();
      throw error;
    }
    return new Agent(CREATE, bridge, tools, settings, selected.open, send, protection, tracing);
  }

  /**
   * Creates an agent that continues a saved session, in the same document of `options.store`. A tool call whose result
   * was lost in a crash gets a result that says so. Files are not saved with a session: pass them again. Damaged lines of
   * the document are skipped: then the {@link events} begin with a `WARNING` with code `session_damaged`.
   *
   * @throws {ConfigError} if the options are wrong or have no store.
   * @throws {EmendError} with code `not_found` if the store has no such session, `unsupported` if another version of
   *   this package saved it.
   */
  static resume(id: string, options: AgentOptions): Promise<Agent> {
    return Agent.#continue(requireText("the id", id), options, false, undefined);
  }

  /** Creates an agent as {@link resume} does, but in a new session: the saved one does not change. */
  static fork(id: string, options: ForkOptions): Promise<Agent> {
    const { turns, ...rest } = requireOptions("the options", options);
    if (turns !== undefined && !(Number.isInteger(turns) && turns >= 0)) {
      throw new EmendError("invalid_argument", "`turns` must be a whole number");
    }
    return Agent.#continue(requireText("the id", id), rest, true, turns);
  }

  static async #continue(id: string, options: AgentOptions, forks: boolean, turns: number | undefined): Promise<Agent> {
    const agent = await Agent.create(options);
    try {
      await agent.#bridge.callAsync((handle) => handle.resume(id, forks, turns));
    } catch (error) {
      agent.close();
      throw error;
    }
    return agent;
  }

  /** Lists the sessions of a store, most recently used first. */
  static async sessions(store: SessionStore): Promise<SessionSummary[]> {
    const { listSessions } = await import("../sessions/list.js");
    return listSessions(store);
  }

  /** Removes a session and its other documents from a store. Returns whether the session existed. */
  static async removeSession(store: SessionStore, id: string): Promise<boolean> {
    const wanted = requireText("the id", id);
    const { removeSession } = await import("../sessions/list.js");
    return removeSession(store, wanted);
  }

  /**
   * Starts a new session over the same files, review and undo order. The last one stays in the store, for
   * {@link openSession}. A session without history goes on. With `turns` the new session begins with that many history
   * entries of the last one, e.g. those before a message that the user wants to send again in other words.
   *
   * @throws {BusyError} during a run.
   * @throws {ConfigError} if the agent has no store.
   */
  async newSession(options: NewSessionOptions = {}): Promise<void> {
    this.#refuseIfBusy();
    const { turns = 0 } = optionsOf(options, ["turns"]);
    if (!(Number.isInteger(turns) && turns >= 0))
      throw new EmendError("invalid_argument", "`turns` must be a whole number");
    if (this.turns().length === 0) return;
    if (!this.#bridge.hasStore) {
      const why = "`newSession` keeps the last session in a `store`, and the agent has none";
      throw new ConfigError("configuration", `${why}; create it with one, e.g. \`memoryStore()\``);
    }
    const id = this.sessionId;
    await this.#bridge.callAsync((handle) => handle.resume(id, true, turns));
    this.#changes.sessionOpened();
  }

  /**
   * Continues a session of the store over the present files, review and undo order.
   *
   * @throws {BusyError} during a run.
   * @throws {ConfigError} if the agent has no store.
   * @throws {EmendError} with code `not_found` if the store has no such session.
   */
  async openSession(id: string): Promise<void> {
    this.#refuseIfBusy();
    const wanted = requireText("the id", id);
    await this.#bridge.callAsync((handle) => handle.resume(wanted, false, undefined));
    this.#changes.sessionOpened();
  }

  /** The session's id, for {@link resume}. Only {@link newSession} and {@link openSession} change it. */
  get sessionId(): string {
    return this.#bridge.callJson((handle) => handle.sessionId());
  }

  /** Returns the history: all entries of the session so far. */
  turns(): Turn[] {
    return toCamel(
      this.#bridge.callJson((handle) => handle.turns()),
      TURN,
    );
  }

  /**
   * Starts a run with a task for the agent.
   *
   * @throws {BusyError} if the last run has not ended.
   * @throws {EmendError} with code `invalid_argument` if the task is empty, or `signal` is not an `AbortSignal`;
   *   `unsupported` if the model does not take one of the images: it takes none, or the image is too large, one too many,
   *   or of another format.
   */
  run(text: string, options: RunOptions = {}): Run {
    this.#refuseIfBusy();
    const task = requireText("the task", text);
    const { signal, images: given } = optionsOf(options, ["signal", "images"]);
    const images = imagesOf(given);
    const follow = (after: number): EventFeed => this.#bridge.subscribe(after);
    const feed = this.#tracing && follow(newestCursor(follow));
    try {
      this.#run = this.#bridge.startRun(task, images, signal);
    } catch (error) {
      void feed?.return();
      throw error;
    }
    if (feed) this.#tracing?.(feed, this.#settings.model);
    return this.#run;
  }

  /**
   * Queues a task. The current run continues with it when the present task is done. Without a run it waits for the
   * next.
   *
   * @throws {EmendError} with code `invalid_argument` if the task is empty, `unsupported` if the model does not take an
   *   image.
   */
  followUp(text: string, options: MessageOptions = {}): void {
    this.#bridge.say(requireText("the task", text), options, false);
  }

  /**
   * Subscribes to the session's events after a cursor, past and future, independently of who reads the run. Any number
   * of readers may subscribe. A slow reader gets coalesced text deltas and misses nothing else.
   *
   * @throws {EmendError} with code `resync_required` if events after the cursor are no longer kept. Rebuild the state
   *   from {@link turns} and {@link review}, and subscribe again after `error.data.last`.
   */
  events(options: EventsOptions = {}): EventFeed {
    const { after = 0 } = optionsOf(options, ["after"]);
    if (!(Number.isSafeInteger(after) && after >= 0))
      throw new EmendError("invalid_argument", "`after` must be a cursor");
    return this.#bridge.subscribe(after);
  }

  /**
   * Calls `listener` after each change of files, review or run. It is told that something changed; it reads what it needs,
   * e.g. {@link review}. Returns the function that ends the subscription.
   */
  subscribe(listener: (change: AgentChange) => void): () => void {
    return this.#changes.subscribe(listener);
  }

  /**
   * Shrinks the history that the model is sent. Outputs of old tool calls are dropped first.
   *
   * @throws {BusyError} during a run.
   */
  async compact(): Promise<Compaction> {
    this.#refuseIfBusy();
    return toCamel(await this.#bridge.callAsync((handle) => handle.compact()), COMPACTION);
  }

  /**
   * Changes the model, its tools or its limits. A run uses the new options from its next model call on. History, files
   * and review do not change. `null` resets an option to its default.
   *
   * @throws {ConfigError} if the options are wrong. Then no option changes.
   */
  configure(changes: AgentChanges): void {
    const { model, tools, ...rest } = requireOptions("the changes", changes);
    refuseInternalNames(rest);
    const fixed = ["files", "environment", "quota", "mode", "store", "fetch", "approve", "shell", "telemetry"].find(
      (name) => name in rest,
    );
    if (fixed !== undefined) throw new ConfigError("configuration", `\`${fixed}\` is fixed when the agent is created`);
    const selected =
      model === undefined
        ? { settings: this.#settings.model, open: this.#open }
        : selectModel(model ?? DEFAULT_MODEL, this.#send);
    const described = tools === undefined ? this.#settings.tools : CustomTools.describe(tools ?? undefined);
    const settings = { ...this.#settings, ...rest, model: selected.settings, tools: described };
    const json = settingsForCore(settings, this.#protection);
    withOwnNames(["readOnly"], () => this.#bridge.callJson((handle) => handle.configure(json, selected.open)));
    if (tools !== undefined) this.#tools.set(tools ?? undefined);
    [this.#settings, this.#open] = [settings, selected.open];
  }

  /** Returns the pending hunks. */
  review(): Review {
    return this.reviewSince(0);
  }

  /**
   * Returns the pending hunks of the files that changed after a revision, e.g. that of the {@link review} that was read last. A
   * file that has no pending hunk any more is listed with none. Without changes it costs nothing.
   */
  reviewSince(revision: number): Review {
    const since = requireId("the revision", revision);
    return this.#bridge.callJson((handle) => handle.review(since));
  }

  /**
   * Accepts hunks, which saves them.
   *
   * @throws {ConflictError} if the user or another program has changed the lines of a hunk since, unless `over` is set.
   * Then nothing changes.
   * @throws {EmendError} with code `not_found` if there is no such hunk.
   */
  async accept(hunkIds: readonly string[], options: AcceptOptions = {}): Promise<Review> {
    const ids = requireIds(hunkIds);
    const over = optionalFlag("`over`", optionsOf(options, ["over"]).over);
    return this.#decide("accept", (handle) => handle.accept(ids, over));
  }

  /**
   * Rejects hunks: the lines they added disappear and the lines they removed return. Lines that the user wrote stay,
   * except with `dependents: "with"`, which also removes those that depend on a hunk. {@link undo} reverts it.
   *
   * @throws {ConflictError} if later changes, the user's included, depend on a hunk and `dependents` is `refuse`. Then
   *   nothing changes.
   * @throws {EmendError} with code `not_found` if there is no such hunk.
   */
  async reject(hunkIds: readonly string[], options: RejectOptions = {}): Promise<Review> {
    const ids = requireIds(hunkIds);
    const { dependents: given = "refuse" } = optionsOf(options, ["dependents"]);
    const dependents = requireText("`dependents`", given);
    return this.#decide("reject", (handle) => handle.reject(ids, dependents));
  }

  /**
   * Accepts every pending hunk of one file, or of all files. Contested hunks stay pending: see {@link Hunk}.
   *
   * @throws {EmendError} with code `not_found` if there is no such file. A file without hunks is not an error.
   */
  async acceptAll(path?: string): Promise<Review> {
    const file = await this.#reviewed(path);
    return this.#decide("accept", (handle) => handle.acceptAll(file));
  }

  /**
   * Rejects every pending hunk of one file, or of all files. The user's own lines always stay.
   *
   * @throws {EmendError} with code `not_found` if there is no such file. A file without hunks is not an error.
   */
  async rejectAll(path?: string): Promise<Review> {
    const file = await this.#reviewed(path);
    return this.#decide("reject", (handle) => handle.rejectAll(file));
  }

  /**
   * Splits a hunk in two. The second one begins with the line `line` of {@link Hunk.lines}, counted from 0. Files do not
   * change. {@link undo} joins the two.
   *
   * @throws {EmendError} with code `not_found` if there is no such hunk, `invalid_argument` if one of the two would have no
   *   changed line.
   */
  async split(hunkId: string, line: number): Promise<Review> {
    const id = requireText("the hunk id", hunkId);
    const at = requireCount("the line", line);
    return this.#decide("split", (handle) => handle.split(id, at));
  }

  async #decide(action: DecisionKind, work: (handle: AgentHandle) => Task): Promise<Review> {
    const review = await this.#bridge.change<Review>(work);
    this.#changes.tell({ kind: "decision", action });
    return review;
  }

  /** Returns the path of a file to decide on. Throws if there is no such file: its name may be misspelled. */
  async #reviewed(path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined;
    const file = requireText("the path", path);
    if (this.review().files.some((changed) => changed.path === file)) return file;
    if ((await this.files.exists(file)) === false)
      throw new EmendError("not_found", `there is no file ${JSON.stringify(file)}; no hunk was decided`);
    return file;
  }

  /**
   * Undoes the user's last edit or decision.
   *
   * @throws {EmendError} with code `not_found` if there is none.
   */
  undo(): Promise<Review> {
    return this.#decide("undo", (handle) => handle.undo());
  }

  /**
   * Reverts the last {@link undo}.
   *
   * @throws {EmendError} with code `not_found` if there is none.
   */
  redo(): Promise<Review> {
    return this.#decide("redo", (handle) => handle.redo());
  }

  /**
   * Switches to another model. History, files and review do not change.
   *
   * @throws {BusyError} during a run.
   * @throws {ConfigError} if the options are wrong.
   */
  setModel(model: ModelOptions): void {
    this.#refuseIfBusy();
    this.configure({ model: requireOptions("`model`", model) });
  }

  /**
   * Closes the agent and frees its memory. The current run and all pending calls fail with a {@link ClosedError}; the
   * loops over {@link events} end.
   */
  close(): void {
    this.#bridge.close();
    this.#changes.tell({ kind: "closed" });
  }

  #refuseIfBusy(): void {
    if (this.#run?.isUnread) {
      const suggestions = ["iterate over the run, await its `result`, or call `cancel()`"];
      throw new BusyError("busy", "the last run has not started: its events and its result were not read", {
        suggestions,
      });
    }
    if (this.#run?.isActive) throw new BusyError("busy", "the agent still works on the last task");
  }
}

// Older browsers lack the symbol. There, `using` needs a compiler, which also defines the symbol.
export interface Agent extends Disposable {}
if (Symbol.dispose !== undefined) {
  Agent.prototype[Symbol.dispose] = function (this: Agent): void {
    this.close();
  };
}

function requireIds(value: readonly string[]): string[] {
  if (!Array.isArray(value) || value.some((id) => typeof id !== "string")) {
    throw new EmendError("invalid_argument", "hunk ids must be an array of strings");
  }
  return [...value];
}
