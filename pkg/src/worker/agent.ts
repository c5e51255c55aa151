/** The page's side: an agent whose core runs in a worker. */

import type { AgentChange } from "../agent/changes.js";
import { imagesOf } from "../agent/images.js";
import type { EventsOptions, RunOptions } from "../agent/options.js";
import type { AgentEvent } from "../agent/types.js";
import { CallerSignal } from "../caller-signal.js";
import { ClosedError, ConfigError, EmendError, NotInitializedError } from "../errors.js";
import { CustomTools } from "../host/custom-tools.js";
import type { AgentTool } from "../host/types.js";
import { agentJson, optionsOf, requireOptions, requireText } from "../validate.js";
import { Link } from "./link.js";
import { type Called, type Offered, OPEN, type Opening } from "./protocol.js";
import { WorkerRun } from "./run.js";
import { listen, startTimeout, startWorker, Waiting, type WorkerLike } from "./start.js";
import type { WorkerAgentOptions, WorkerCanvas, WorkerFiles, WorkerForkOptions, WorkerMethods } from "./types.js";

const CREATE = Symbol("create");

/** Names of the methods that only pass on their arguments. */
const METHODS = [
  ...[
    "newSession",
    "openSession",
    "turns",
    "followUp",
    "compact",
    "review",
    "reviewSince",
    "accept",
    "reject",
    "acceptAll",
  ],
  ...["rejectAll", "split", "undo", "redo"],
];

/**
 * An agent whose core runs in a worker, so that it never blocks the page. It has the methods of `Agent`, with promises of their
 * results. Tools, providers, environments, stores, `approve` and `fetch` run in the page.
 *
 * In Node, an agent that waits for nothing does not keep the process alive: a program that forgets {@link close} ends.
 */
export class WorkerAgent {
  /** The project's files. */
  readonly files: WorkerFiles;
  /** The file that the user's editor shows. */
  readonly canvas: WorkerCanvas;

  readonly #worker: WorkerLike;
  readonly #link: Link;
  readonly #agent: Called<Offered>;
  readonly #waiting: Waiting;
  #idle: Promise<void> | undefined;
  #closed = false;

  private constructor(create: symbol, worker: WorkerLike, link: Link, agent: Called<Offered>, waiting: Waiting) {
    if (create !== CREATE)
      throw new NotInitializedError("not_initialized", "create an agent with `await WorkerAgent.create(options)`");
    this.#worker = worker;
    this.#link = link;
    this.#agent = agent;
    this.#waiting = waiting;
    this.files = methodsOf<WorkerFiles>((name, args) => this.#call("files", name, args));
    this.canvas = methodsOf<WorkerCanvas>((name, args) => this.#call("canvas", name, args));
    for (const name of METHODS) {
      Object.defineProperty(this, name, { value: (...args: unknown[]) => this.#call("agent", name, args) });
    }
  }

  /**
   * Starts a worker and creates an agent in it.
   *
   * @throws {ConfigError} if the options are wrong.
   * @throws {EmendError} with code `load_failed` if the worker or the core cannot be loaded, or if the script of the worker does
   *   not answer within `startTimeoutMs`.
   */
  static create(options: WorkerAgentOptions = {}): Promise<WorkerAgent> {
    return WorkerAgent.#open("create", "", options);
  }

  /** Creates an agent that continues a saved session, as `Agent.resume` does. */
  static resume(id: string, options: WorkerAgentOptions): Promise<WorkerAgent> {
    return WorkerAgent.#open("resume", requireText("the id", id), options);
  }

  /** Creates an agent that continues a saved session in a new one, as `Agent.fork` does. */
  static fork(id: string, options: WorkerForkOptions): Promise<WorkerAgent> {
    return WorkerAgent.#open("fork", requireText("the id", id), options);
  }

  static async #open(how: Opening["how"], id: string, given: WorkerForkOptions): Promise<WorkerAgent> {
    const { worker: source, wasm, regex, startTimeoutMs, ...options } = requireOptions("the options", given);
    const timeoutMs = startTimeout(startTimeoutMs);
    const opening = { how, id, options: sendable(options), wasm, regex };
    const worker = typeof source === "function" ? source() : (source ?? startWorker());
    const link = new Link((message) => worker.postMessage(message));
    const opened = listen(worker, timeoutMs, {
      message: (message) => link.receive(message),
      failed: (error) => link.end(error),
    });
    const waiting = new Waiting(worker);
    try {
      const offered = await waiting.for(() => link.call(OPEN, [opening]));
      opened();
      return new WorkerAgent(CREATE, worker, link, offered as Called<Offered>, waiting);
    } catch (error) {
      // Stops the timer, too: nothing more is awaited.
      opened();
      waiting.end();
      link.end(new ClosedError("closed", "the agent could not be created"));
      void worker.terminate();
      throw error instanceof EmendError ? error : new ConfigError("configuration", NOT_SENDABLE, { cause: error });
    }
  }

  /** Returns the session's id. */
  sessionId(): Promise<string> {
    return this.#waiting.for(() => this.#agent.sessionId());
  }

  /**
   * Starts a run, which advances as far as its events are read, like one of `Agent`. The exceptions of `Agent.run`, such as a
   * `BusyError`, are thrown by the loop and by `result`.
   */
  run(text: string, options: RunOptions = {}): WorkerRun {
    const { signal, ...rest } = optionsOf(options, ["signal", "images"]);
    imagesOf(rest.images);
    // Throws if it is not a signal.
    new CallerSignal(signal);
    return new WorkerRun((begin) => this.#agent.run(text, { signal, ...rest }, begin), signal, this.#waiting);
  }

  /** Subscribes to the session's events, as `Agent.events` does. */
  async *events(options: EventsOptions = {}): AsyncGenerator<AgentEvent, undefined> {
    try {
      const events = await this.#waiting.for(() => this.#agent.events(options));
      yield* { [Symbol.asyncIterator]: () => this.#delivering(events[Symbol.asyncIterator]()) };
    } catch (error) {
      // The end of the agent is the regular end of its events.
      if (!this.#closed) throw error;
    }
  }

  /** Calls `listener` after each change, as `Agent.subscribe` does. Returns the function that ends the subscription. */
  subscribe(listener: (change: AgentChange) => void): () => void {
    if (typeof listener !== "function") throw new EmendError("invalid_argument", "the listener must be a function");
    let isOver = false;
    const ending = this.#agent.subscribe((change) => {
      if (isOver) return;
      try {
        listener(change);
      } catch (error) {
        // As for the listeners of an event target.
        queueMicrotask(() => {
          throw error;
        });
      }
    });
    ending.catch(() => {});
    return () => {
      isOver = true;
      void ending.then((end) => end()).catch(() => {});
    };
  }

  /** Changes options, as `Agent.configure` does. */
  async configure(changes: Parameters<WorkerMethods["configure"]>[0]): Promise<void> {
    await this.#call("agent", "configure", [sendable(requireOptions("the changes", changes))]);
  }

  /** Switches to another model, as `Agent.setModel` does. */
  async setModel(model: Parameters<WorkerMethods["setModel"]>[0]): Promise<void> {
    await this.#call("agent", "setModel", [model]);
  }

  /** Keeps the process alive while the worker delivers events, and not while it has none. */
  #delivering<T>(events: AsyncIterator<T, undefined>): AsyncIterator<T, undefined> {
    const next = (): Promise<IteratorResult<T, undefined>> => {
      const step = events.next();
      this.#waiting.for(() => this.#untilIdle(step)).catch(() => {});
      return step;
    };
    const end = async (): Promise<IteratorResult<T, undefined>> => {
      await this.#waiting.for(async () => events.return?.());
      return { done: true, value: undefined };
    };
    return { next, return: end };
  }

  async #untilIdle(step: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    step.then(over, over);
    for (let isLater = false; !isOver && !isLater; ) {
      // An answer that was asked for before this step says nothing about it.
      isLater = this.#idle === undefined;
      this.#idle ??= this.#agent.idle().finally(() => {
        this.#idle = undefined;
      });
      await Promise.race([step, this.#idle]);
    }
  }

  #call(...[part, name, args]: Parameters<Offered["call"]>): Promise<unknown> {
    return this.#waiting.for(() => this.#agent.call(part, name, args));
  }

  /** Ends the agent and its worker. The current run and all pending calls fail with a `ClosedError`. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting.end();
    this.#link.end(new ClosedError("closed", "the agent was closed"));
    void this.#worker.terminate();
  }
}

export interface WorkerAgent extends WorkerMethods, Disposable {}
if (Symbol.dispose !== undefined) {
  WorkerAgent.prototype[Symbol.dispose] = function (this: WorkerAgent): void {
    this.close();
  };
}

const NOT_SENDABLE = "the options have a part that cannot be sent to a worker";

/** Returns an object whose methods are all passed on. */
function methodsOf<T>(call: (name: string, args: unknown[]) => unknown): T {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy({} as object, {
    get(_, name) {
      // A promise would be made of an object with `then`.
      if (typeof name !== "string" || name === "then") return undefined;
      if (!methods.has(name)) methods.set(name, (...args: unknown[]) => call(name, args));
      return methods.get(name);
    },
  }) as T;
}

/** Returns options of an agent in a form that can be sent. */
function sendable(options: object): object {
  const { files, tools, telemetry, ...rest } = options as { files?: unknown; tools?: unknown; telemetry?: unknown };
  if (telemetry !== undefined) throw new ConfigError("configuration", "`telemetry` does not work in a worker");
  if (typeof files === "object" && files !== null && "export" in files && typeof files.export === "function") {
    const how = "pass a record of contents by path, e.g. `await agent.files.export()`";
    throw new ConfigError("configuration", `the files of another agent cannot be sent to a worker; ${how}`);
  }
  return {
    ...rest,
    ...(files !== undefined && { files }),
    ...(tools !== undefined && { tools: sendableTools(tools as AgentTool[]) }),
  };
}

/**
 * Returns tools whose arguments are checked, and whose results and exceptions are made text, in the page: so a tool has the same
 * results as with `Agent`. The worker gets what the model is told of the tools.
 */
function sendableTools(given: readonly AgentTool[]): unknown[] {
  const described = JSON.parse(agentJson({ tools: CustomTools.describe(given) })) as { tools: AgentTool[] };
  const own = new CustomTools();
  own.set(given);
  return described.tools.map((tool) => ({ ...tool, execute: own.executeOf(tool.name) }));
}
