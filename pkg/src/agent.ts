/// <reference lib="esnext.disposable" preserve="true" />

/** The agent: one project in memory, one model, and the review between them. */

import { BusyError, ClosedError, ConfigError, EmendError, NotInitializedError } from "./errors.js";
import type { AgentHandle } from "./core.js";
import { core, glue } from "./core-module.js";
import { opener, settingsOf } from "./custom-provider.js";
import type { Core, Driver, Task } from "./instance.js";
import { Run } from "./run.js";
import type {
  AgentOptions,
  CanvasState,
  CustomModel,
  FileInfo,
  FileState,
  ModelOptions,
  RejectOptions,
  Review,
  RunOptions,
  WriteOptions,
} from "./types.js";

/** Shows that {@link Agent.create} is at work. */
const CREATE = Symbol("create");

/** A coding agent over files in memory. It proposes edits; whoever embeds it decides on them hunk by hunk. */
export class Agent {
  /** The files as the user sees them. */
  readonly files: Files;
  /** The one file that an editor shows. */
  readonly canvas: Canvas;

  readonly #link: Link;
  #run: Run | undefined;

  private constructor(create: symbol, link: Link) {
    if (create !== CREATE) {
      throw new NotInitializedError("not_initialized", "an agent is made by `await Agent.create(options)`");
    }
    this.#link = link;
    this.files = new Files(link);
    this.canvas = new Canvas(link);
  }

  /**
   * Makes an agent, and loads the core if that has not happened yet.
   *
   * @throws {ConfigError} if the options are wrong.
   */
  static async create(options: AgentOptions = {}): Promise<Agent> {
    const { files = {}, fetch: send = globalThis.fetch, model, ...settings } = options;
    if (typeof send !== "function") throw new ConfigError("configuration", "`fetch` must be a function");
    const contents = Object.entries(files).map(([path, content]) => [path, toBytes(path, content)] as const);
    const chosen = model === undefined ? {} : chooseModel(model);
    const json = toJson({ ...settings, model: chosen.settings });
    const link = new Link(await core.loaded(), () => new glue.AgentHandle(json, later(send), chosen.open));
    try {
      for (const [path, bytes] of contents) link.tell((handle) => handle.addFile(path, bytes));
    } catch (error) {
      link.close();
      throw error;
    }
    return new Agent(CREATE, link);
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
    const { settings, open } = chooseModel(model);
    const json = toJson(settings);
    this.#link.tell((handle) => handle.setModel(json, open));
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
  readonly #drivers = new Set<Driver>();
  #closed = false;

  constructor(core: Core, create: () => AgentHandle) {
    this.#core = core;
    this.#handle = core.call(create);
  }

  /** Calls what answers at once. `work` runs inside the guard: it does nothing but the call. */
  tell<T>(work: (handle: AgentHandle) => string): T {
    this.#refuseIfClosed();
    return JSON.parse(this.#core.call(() => work(this.#handle))) as T;
  }

  /** Calls what takes time. */
  async ask<T>(work: (handle: AgentHandle) => Task): Promise<T> {
    this.#refuseIfClosed();
    return this.#core.run<T>(() => work(this.#handle), this.#drivers);
  }

  start(task: string, signal: AbortSignal | undefined): Run {
    this.#refuseIfClosed();
    return new Run(this.#core, () => this.#handle.run(task), this.#drivers, signal);
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

function requireText(what: string, value: unknown): string {
  if (typeof value !== "string") throw new EmendError("invalid_argument", `${what} must be a string`);
  return value;
}

function requireIds(value: readonly string[]): string[] {
  if (!Array.isArray(value) || value.some((id) => typeof id !== "string")) {
    throw new EmendError("invalid_argument", "hunk ids must be an array of strings");
  }
  return [...value];
}

/** Parts a provider written in JavaScript from its settings. */
function chooseModel(given: ModelOptions): { settings?: unknown; open?: ReturnType<typeof opener> } {
  const { provider } = Object(given) as ModelOptions;
  if (typeof provider !== "object" || provider === null) return { settings: given };
  const { model } = given as CustomModel;
  return { settings: { provider: "custom", ...settingsOf(provider), model }, open: opener(provider) };
}

function toBytes(path: string, content: unknown): Uint8Array {
  if (typeof content === "string") return new TextEncoder().encode(content);
  if (content instanceof Uint8Array) return content;
  throw new ConfigError("configuration", `files[${JSON.stringify(path)}] must be a string or a Uint8Array`);
}

function toJson(settings: unknown): string {
  try {
    return JSON.stringify(settings) ?? "null";
  } catch (cause) {
    throw new ConfigError("configuration", "the options hold something that is not plain data", { cause });
  }
}

/** Makes `send` run after the core has returned: it is the caller's code, and may call back in. */
function later(send: NonNullable<AgentOptions["fetch"]>): (url: string, options: RequestInit) => Promise<Response> {
  return (url, options) => Promise.resolve().then(() => send(url, options));
}
