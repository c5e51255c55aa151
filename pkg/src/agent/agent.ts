/// <reference lib="esnext.disposable" preserve="true" />

/** The agent: one project in memory, one model, and the review between them. */

import { asker } from "./approvals.js";
import { HostFiles } from "./environment.js";
import { BusyError, ClosedError, ConfigError, EmendError, NotInitializedError } from "./errors.js";
import type { AgentHandle } from "./core.js";
import { core, glue } from "./core-module.js";
import { opener, settingsOf } from "./custom-provider.js";
import { Tools } from "./custom-tools.js";
import { EventFeed } from "./event-feed.js";
import type { Core, Driver, Task } from "./instance.js";
import { offlineFetch } from "./offline.js";
import { optionalCount, requireText } from "./plain.js";
import { Run } from "./run.js";
import { publicFetch } from "#platform";
import { shellOf } from "./shell.js";
import { removeSession, type SessionStore, storeCall, summaries } from "./stores.js";
import type {
  AgentChanges,
  AgentOptions,
  CanvasState,
  Compaction,
  CustomModel,
  EventsOptions,
  ExecutionEnvironment,
  ExportOptions,
  FileInfo,
  FilesIn,
  FileMatches,
  FileState,
  ForkOptions,
  GlobOptions,
  GrepOptions,
  ModelOptions,
  OfflineModel,
  Quota,
  RejectOptions,
  Review,
  RunOptions,
  SessionSummary,
  Turn,
  WriteOptions,
} from "./types.js";

type Settings = Record<string, unknown>;
/** What the core asks for answers, where it sends no request to a network. */
type Opener = ReturnType<typeof opener> | ReturnType<typeof offlineFetch>;

/** As many as there can be. */
const ALL = 2 ** 32 - 1;

/** Shows that {@link Agent.create} is at work. */
const CREATE = Symbol("create");

/** A coding agent over files in memory. It proposes edits; whoever embeds it decides on them hunk by hunk. */
export class Agent {
  /** The files as the user sees them. */
  readonly files: Files;
  /** The one file that an editor shows. */
  readonly canvas: Canvas;

  readonly #link: Link;
  readonly #tools: Tools;
  /** The options as the core has them, but for functions. */
  #settings: Settings;
  #open: Opener | undefined;
  #run: Run | undefined;

  private constructor(create: symbol, link: Link, tools: Tools, settings: Settings, open: Opener | undefined) {
    if (create !== CREATE) {
      throw new NotInitializedError("not_initialized", "an agent is made by `await Agent.create(options)`");
    }
    this.#link = link;
    this.#tools = tools;
    this.#settings = settings;
    this.#open = open;
    this.files = new Files(link);
    this.canvas = new Canvas(link);
  }

  /**
   * Makes an agent, and loads the core if that has not happened yet.
   *
   * @throws {ConfigError} if the options are wrong.
   */
  static async create(options: AgentOptions = {}): Promise<Agent> {
    const { files = {}, environment, quota, fetch: given, store, model, tools, approve, shell, ...rest } = options;
    const send = given ?? globalThis.fetch;
    if (typeof send !== "function") throw new ConfigError("configuration", "`fetch` must be a function");
    const source = files instanceof Files ? files : undefined;
    const contents = source === undefined ? contentsOf(files as FilesIn) : [];
    const host = environment === undefined ? undefined : hostOf(environment, options);
    const chosen = chooseModel(model ?? { provider: "offline" });
    const settings = { ...rest, ...limits(quota), model: chosen.settings, tools: Tools.describe(tools) };
    const json = toJson(settings);
    const keep = store === undefined ? undefined : storeCall(store);
    const ask = asker(approve);
    const own = new Tools();
    own.set(tools);
    const living = await core.loaded();
    const commands = shellOf(living, shell);
    const fetches = later(send, given ?? publicFetch);
    const make = () => new glue.AgentHandle(json, fetches, chosen.open, own.start, keep, ask, commands, host);
    const link = new Link(living, make, host);
    try {
      if (source !== undefined) {
        const other = Files.handleOf(source);
        link.tell((handle) => handle.adoptFiles(other));
      }
      for (const [path, bytes] of contents) link.tell((handle) => handle.addFile(path, bytes));
    } catch (error) {
      link.close();
      throw error;
    }
    return new Agent(CREATE, link, own, settings, chosen.open);
  }

  /**
   * Makes an agent that goes on with a saved conversation, in the same document of `options.store`. A call whose result a
   * crash has lost is answered by saying so. Files are not saved with it: give them anew.
   *
   * @throws {ConfigError} if the options are wrong or have no store.
   * @throws {EmendError} with code `not_found`; `unsupported` if another version of this package saved it.
   */
  static resume(id: string, options: AgentOptions): Promise<Agent> {
    return Agent.#goOn(requireText("the id", id), options, false, undefined);
  }

  /** As {@link resume}, but in a new session: the saved one stays as it is. */
  static fork(id: string, options: ForkOptions): Promise<Agent> {
    const { turns, ...rest } = options;
    if (turns !== undefined && !(Number.isInteger(turns) && turns >= 0)) {
      throw new EmendError("invalid_argument", "`turns` must be a whole number");
    }
    return Agent.#goOn(requireText("the id", id), rest, true, turns);
  }

  static async #goOn(id: string, options: AgentOptions, forks: boolean, turns: number | undefined): Promise<Agent> {
    const agent = await Agent.create(options);
    try {
      await agent.#link.ask((handle) => handle.resume(id, forks, turns));
    } catch (error) {
      agent.close();
      throw error;
    }
    return agent;
  }

  /** Lists the sessions of a store, the one used last first. */
  static async sessions(store: SessionStore): Promise<SessionSummary[]> {
    return summaries(store);
  }

  /** Removes a session from a store, with everything kept for it. Returns whether there was one. */
  static async removeSession(store: SessionStore, id: string): Promise<boolean> {
    return removeSession(store, requireText("the id", id));
  }

  /** The session's id, by which {@link resume} finds it. It changes if a provider's refusal has ended the session. */
  get sessionId(): string {
    return this.#link.tell((handle) => handle.sessionId());
  }

  /** Returns the conversation so far. */
  turns(): Turn[] {
    return this.#link.tell((handle) => handle.turns());
  }

  /**
   * Gives the agent a task.
   *
   * @throws {BusyError} if it still works on the last one.
   * @throws {EmendError} with code `invalid_argument` if the task is empty.
   */
  run(text: string, options: RunOptions = {}): Run {
    this.#refuseIfBusy();
    const task = requireText("the task", text);
    this.#run = this.#link.start(task, options.signal);
    return this.#run;
  }

  /**
   * Queues a task for when the present one is done: the same run goes on with it. Without a run it waits for the next.
   *
   * @throws {EmendError} with code `invalid_argument` if it is empty.
   */
  followUp(text: string): void {
    const task = requireText("the task", text);
    this.#link.tell((handle) => handle.say(task, false));
  }

  /**
   * Returns the session's events behind a cursor, now and later, however the run is driven. Any number of readers may
   * subscribe; one that is late gets pieces of text joined together and misses nothing else.
   *
   * @throws {EmendError} with code `resync_required` if events behind the cursor are no longer kept: show the state anew
   * from {@link turns} and {@link review}, and go on from `error.data.last`.
   */
  events(options: EventsOptions = {}): EventFeed {
    const { after = 0 } = options;
    if (!(Number.isSafeInteger(after) && after >= 0)) throw new EmendError("invalid_argument", "`after` must be a cursor");
    return this.#link.follow(after);
  }

  /**
   * Makes room in the conversation: outputs of old calls go first.
   *
   * @throws {BusyError} during a run.
   */
  async compact(): Promise<Compaction> {
    this.#refuseIfBusy();
    return this.#link.ask((handle) => handle.compact());
  }

  /**
   * Changes the model, its tools or its limits. What runs goes by it from the next call to the model on; conversation,
   * files and review stay as they are. `null` takes an option back to its default.
   *
   * @throws {ConfigError} if the options are wrong; nothing changed then.
   */
  configure(changes: AgentChanges): void {
    const { model, tools, ...rest } = changes;
    const fixed = ["files", "environment", "quota", "mode", "store", "fetch", "approve", "shell"].find((name) => name in rest);
    if (fixed !== undefined) throw new ConfigError("configuration", `\`${fixed}\` is fixed when the agent is made`);
    const chosen = model === undefined ? { settings: this.#settings["model"], open: this.#open } : chooseModel(model);
    const described = tools === undefined ? this.#settings["tools"] : Tools.describe(tools);
    const settings = { ...this.#settings, ...rest, model: chosen.settings, tools: described };
    const json = toJson(settings);
    this.#link.tell((handle) => handle.configure(json, chosen.open));
    if (tools !== undefined) this.#tools.set(tools);
    [this.#settings, this.#open] = [settings, chosen.open];
  }

  /** Returns the hunks that wait for a decision. */
  review(): Review {
    return this.#link.tell((handle) => handle.review());
  }

  /** Accepts hunks: they are saved. */
  async accept(hunkIds: readonly string[]): Promise<Review> {
    const ids = requireIds(hunkIds);
    return this.#link.ask((handle) => handle.accept(ids));
  }

  /**
   * Rejects hunks: what they added goes, what they removed comes back. The user's own lines always stay.
   *
   * @throws {ConflictError} if later changes stand on one and `dependents` is `refuse`; nothing changed then.
   */
  async reject(hunkIds: readonly string[], options: RejectOptions = {}): Promise<Review> {
    const ids = requireIds(hunkIds);
    const dependents = requireText("`dependents`", options.dependents ?? "refuse");
    return this.#link.ask((handle) => handle.reject(ids, dependents));
  }

  /** Accepts every pending hunk, of one file or of all. */
  async acceptAll(path?: string): Promise<Review> {
    const file = path === undefined ? undefined : requireText("the path", path);
    return this.#link.ask((handle) => handle.acceptAll(file));
  }

  /** Rejects every pending hunk, of one file or of all. The user's own lines always stay. */
  async rejectAll(path?: string): Promise<Review> {
    const file = path === undefined ? undefined : requireText("the path", path);
    return this.#link.ask((handle) => handle.rejectAll(file));
  }

  /**
   * Takes back the user's last edit or decision.
   *
   * @throws {EmendError} with code `not_found` if there is none.
   */
  undo(): Promise<Review> {
    return this.#link.ask((handle) => handle.undo());
  }

  /**
   * Takes back the last {@link undo}.
   *
   * @throws {EmendError} with code `not_found` if there is none.
   */
  redo(): Promise<Review> {
    return this.#link.ask((handle) => handle.redo());
  }

  /**
   * Lets another model answer from now on. Conversation, files and review stay as they are.
   *
   * @throws {BusyError} during a run.
   * @throws {ConfigError} if the options are wrong.
   */
  setModel(model: ModelOptions): void {
    this.#refuseIfBusy();
    this.configure({ model });
  }

  /** Ends everything and frees the memory. A run under way and all pending calls fail with a {@link ClosedError}. */
  close(): void {
    this.#link.close();
  }

  #refuseIfBusy(): void {
    if (this.#run?.isActive) throw new BusyError("busy", "the agent still works on the last task");
  }
}

// Older browsers lack the symbol; there `using` needs a compiler, which brings it along.
export interface Agent extends Disposable {}
if (Symbol.dispose !== undefined) {
  Agent.prototype[Symbol.dispose] = function (this: Agent): void {
    this.close();
  };
}

/** The project's files. */
export class Files {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /** @internal */
  static handleOf(files: Files): AgentHandle {
    return files.#link.take((handle) => handle);
  }

  /** Lists every file, by path; those that a pending edit deletes, too. */
  list(): Promise<FileInfo[]> {
    return this.#link.ask((handle) => handle.listFiles());
  }

  /** Reads what the user sees, pending edits included; `null` if there is no such file. */
  async read(path: string): Promise<FileState | null> {
    const file = requireText("the path", path);
    return this.#link.ask((handle) => handle.readFile(file));
  }

  /** Reads what is saved: pending edits are off; `null` if there is no such file. */
  async readDisk(path: string): Promise<string | null> {
    const file = requireText("the path", path);
    return this.#link.ask((handle) => handle.readDisk(file));
  }

  /** Writes as the user: it always lands, needs no acceptance, and takes the canvas back if `path` is open in it. */
  async write(path: string, text: string, options: WriteOptions = {}): Promise<FileState> {
    const file = requireText("the path", path);
    const content = requireText("the text", text);
    const base = options.base === undefined ? undefined : requireText("`base`", options.base);
    return this.#link.ask((handle) => handle.writeFile(file, content, base));
  }

  /** Deletes as the user. */
  async remove(path: string): Promise<void> {
    const file = requireText("the path", path);
    await this.#link.ask((handle) => handle.removeFile(file));
  }

  /** Returns everything pending as one unified diff, as git writes them. */
  diff(): Promise<string> {
    return this.#link.ask((handle) => handle.diff());
  }

  /**
   * Finds the lines that match a regular expression, in what the user sees; by path, then by line. The engine is the
   * agent's own: linear in the text whatever the pattern, without look-around and back-references. A line stands for
   * itself, without its ending. Hidden files, binary ones and what `.gitignore` excludes are left out.
   *
   * @throws {EmendError} with code `invalid_argument` if the pattern or a glob is malformed, `not_found` if `path` is.
   */
  async grep(pattern: string, options: GrepOptions = {}): Promise<FileMatches[]> {
    const text = requireText("the pattern", pattern);
    const { path = ".", glob, ignoreCase = false, contextLines, maxResults } = options;
    const start = requireText("`path`", path);
    const filter = glob === undefined ? undefined : requireText("`glob`", glob);
    const context = optionalCount("`contextLines`", contextLines) ?? 0;
    const max = optionalCount("`maxResults`", maxResults) ?? ALL;
    return this.#link.ask((handle) => handle.grep(text, ignoreCase === true, start, filter, context, max));
  }

  /**
   * Returns the paths of the files that match a glob such as `src/**\/*.{ts,tsx}`, sorted. Hidden files and what
   * `.gitignore` excludes are left out.
   *
   * @throws {EmendError} with code `invalid_argument` if the glob is malformed, `not_found` if `path` is.
   */
  async glob(pattern: string, options: GlobOptions = {}): Promise<string[]> {
    const [text, start] = [requireText("the glob", pattern), requireText("`path`", options.path ?? ".")];
    return this.#link.ask((handle) => handle.glob(text, start));
  }

  /**
   * Returns all files with their bytes as {@link Agent.create} takes them: what is saved or, with `pending`, what the user
   * sees. A directory that holds nothing is there with a `/` at its end; links are left out.
   */
  async export(options: ExportOptions = {}): Promise<Record<string, Uint8Array>> {
    const listed = this.#link.take((handle) => handle.exportFiles());
    const files = new Map<string, Uint8Array>();
    for (let at = 0; at < listed.length; at += 2) files.set(listed[at] as string, listed[at + 1] as Uint8Array);
    if (options.pending === true) {
      const review = this.#link.tell<Review>((handle) => handle.review());
      // All are asked before any is waited for: it is one state of the files.
      const seen = review.files.map(async ({ path }) => [path, await this.read(path)] as const);
      for (const [path, state] of await Promise.all(seen)) {
        if (state === null) files.delete(path);
        else files.set(path, new TextEncoder().encode(state.text));
      }
    }
    return Object.fromEntries(files);
  }
}

/** The file that is open in an editor. The agent edits it under a lease; the user takes it back at any time. */
export class Canvas {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /** Shows a file. Opening another one takes the canvas back from the agent. */
  open(path: string): CanvasState {
    const file = requireText("the path", path);
    return this.#link.tell((handle) => handle.openCanvas(file));
  }

  /** Shows no file. */
  close(): CanvasState {
    return this.#link.tell((handle) => handle.openCanvas(undefined));
  }

  /** Returns which file is open and whether the agent holds it. */
  state(): CanvasState {
    return this.#link.tell((handle) => handle.canvas());
  }

  /** Takes the canvas back at once: call it at the first keystroke and at Esc. */
  takeBack(): CanvasState {
    return this.#link.tell((handle) => handle.takeBack());
  }
}

/** One agent's way into the core. Knows what is pending, so that closing ends it. */
class Link {
  readonly #core: Core;
  readonly #handle: AgentHandle;
  readonly #host: HostFiles | undefined;
  readonly #drivers = new Set<Driver>();
  #closed = false;

  constructor(core: Core, create: () => AgentHandle, host: HostFiles | undefined) {
    this.#core = core;
    this.#host = host;
    this.#handle = core.call(create);
  }

  /** Calls what answers at once. `work` runs inside the guard: it does nothing but the call. */
  tell<T>(work: (handle: AgentHandle) => string): T {
    this.#refuseIfClosed();
    return JSON.parse(this.#core.call(() => work(this.#handle))) as T;
  }

  /** As {@link tell}, of what is no JSON text. */
  take<T>(work: (handle: AgentHandle) => T): T {
    this.#refuseIfClosed();
    return this.#core.call(() => work(this.#handle));
  }

  /** Calls what takes time. */
  async ask<T>(work: (handle: AgentHandle) => Task): Promise<T> {
    this.#refuseIfClosed();
    return this.#core.run<T>(() => work(this.#handle), this.#drivers);
  }

  start(task: string, signal: AbortSignal | undefined): Run {
    this.#refuseIfClosed();
    const say = (text: string): void => {
      const message = requireText("the message", text);
      this.tell((handle) => handle.say(message, true));
    };
    const giveUp = (): void => this.#host?.giveUp();
    return new Run(this.#core, () => this.#handle.run(task), this.#drivers, signal, { say, giveUp });
  }

  follow(after: number): EventFeed {
    this.#refuseIfClosed();
    return new EventFeed(this.#core, () => this.#handle.events(after), this.#drivers);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const driver of [...this.#drivers]) driver.fail(new ClosedError("closed", "the agent was closed"));
    if (!this.#core.isDead) this.#core.call(() => this.#handle.free());
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new ClosedError("closed", "the agent is closed; create a new one");
  }
}

// Options are checked before they reach the core: what goes wrong inside its guard counts as a defect of the core.

function requireIds(value: readonly string[]): string[] {
  if (!Array.isArray(value) || value.some((id) => typeof id !== "string")) {
    throw new EmendError("invalid_argument", "hunk ids must be an array of strings");
  }
  return [...value];
}

/** Parts a model's settings from what is not plain data. */
function chooseModel(given: ModelOptions): { settings: unknown; open?: Opener | undefined } {
  const { provider } = Object(given) as ModelOptions;
  if (provider === "offline") {
    const { wasm, ...settings } = given as OfflineModel;
    return { settings, open: offlineFetch(given as OfflineModel) };
  }
  if (typeof provider !== "object" || provider === null) return { settings: given };
  const { model } = given as CustomModel;
  return { settings: { provider: "custom", ...settingsOf(provider), model }, open: opener(provider) };
}

/** Takes a host's environment, with which some options make no sense. */
function hostOf(environment: ExecutionEnvironment, { files, quota, shell, mode }: AgentOptions): HostFiles {
  const refuse = (why: string): never => {
    throw new ConfigError("configuration", why);
  };
  if (files !== undefined) refuse("give `files` or an `environment`, not both");
  if (quota !== undefined) refuse("`quota` is for `files`; an environment has limits of its own");
  if (shell) refuse("`shell` runs over `files`; an environment has its own `exec`");
  const host = new HostFiles(environment);
  if (host.has("exec") && mode !== "direct") {
    refuse("the environment's `exec` needs `mode: \"direct\"`: its commands do not see edits that are pending");
  }
  return host;
}

/** The files as bytes, by path. */
function contentsOf(files: FilesIn): [path: string, bytes: Uint8Array][] {
  if (typeof Object(files).readDisk === "function") {
    throw new ConfigError("configuration", "`files` are an agent's of another copy of this package; give `await files.export()`");
  }
  return Object.entries(files).map(([path, content]) => [path, toBytes(path, content)]);
}

function toBytes(path: string, content: unknown): Uint8Array {
  if (typeof content === "string") return new TextEncoder().encode(content);
  if (content instanceof Uint8Array) return content;
  throw new ConfigError("configuration", `files[${JSON.stringify(path)}] must be a string or a Uint8Array`);
}

function limits(quota: Quota | undefined): Settings {
  const { bytes, files, ...others } = Object(quota) as Quota;
  const isLimit = (value: unknown): boolean => value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);
  if (!isLimit(bytes) || !isLimit(files) || Object.keys(others).length > 0 || (quota !== undefined && typeof quota !== "object")) {
    throw new ConfigError("configuration", "`quota` may have `bytes` and `files`, whole numbers, and nothing else");
  }
  return { quotaBytes: bytes, quotaFiles: files };
}

function toJson(settings: unknown): string {
  try {
    return JSON.stringify(settings) ?? "null";
  } catch (cause) {
    throw new ConfigError("configuration", "the options hold something that is not plain data", { cause });
  }
}

type Fetch = NonNullable<AgentOptions["fetch"]>;

/**
 * Makes `send` run after the core has returned: it is the caller's code, and may call back in. What asks a model allows no
 * redirect, since it holds a key; everything else is a page.
 */
function later(send: Fetch, pages: Fetch): (url: string, options: RequestInit) => Promise<Response> {
  return (url, options) => Promise.resolve().then(() => (options.redirect === "error" ? send : pages)(url, options));
}
