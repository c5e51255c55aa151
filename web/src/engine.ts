/**
 * The connection to the engine, which runs in a worker: the agent's work never blocks the page.
 *
 * All modules of the page use the engine through this one. Exceptions are `EngineError`s with a `Failure` that the page
 * can show.
 */
import type {
  Contents,
  CoreApi,
  CoreMethod,
  EventBatch,
  Failure,
  FromWorker,
  ProjectInfo,
  Restored,
  ToWorker,
} from "./core/protocol.js";
import type { Draft } from "./drafts.js";
import type { Options, Settings } from "./settings.js";

export type { AgentEvent, CanvasState, FileInfo, FileMatches, Hunk, HunkLine, Review, ReviewFile, Usage } from "emend";
export type {
  Amounts,
  Contents,
  Decision as Answer,
  EventBatch,
  Extent,
  Failure,
  Link,
  PastFile,
  Picture,
  ProjectInfo,
  PutBack,
  Reading,
  Rewound,
  RolledBack,
  RunInfo,
  Scope,
  SessionChange,
  SessionInfo,
  ShownEvent,
  Snapshot,
  Spent,
  Step,
  Steps,
  Version,
  WorkMode,
  WriteResult,
} from "./core/protocol.js";

/** A failure of the engine. */
export class EngineError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: EngineError) => void };

let worker: Worker | null = null;
let nextCall = 0;
let session = 0;
const answers = new Map<number, Waiting>();
let onEvents: (batch: EventBatch) => Promise<void> = async () => undefined;

/** Sets the function that shows the events of runs. The next events come when it is done. */
export function listenToEvents(listener: (batch: EventBatch) => Promise<void>): void {
  onEvents = listener;
}

function theWorker(): Worker {
  if (worker) return worker;
  const started = new Worker(new URL("./core/worker.ts", import.meta.url), { type: "module" });
  worker = started;
  started.onmessage = ({ data }: MessageEvent<FromWorker>) => receive(started, data);
  started.onerror = (event) => {
    event.preventDefault();
    // The script did not load. The next call starts another worker.
    started.terminate();
    if (worker === started) worker = null;
    const failure = {
      code: "load_failed",
      message: event.message || "the engine's script did not load",
      suggestions: [],
    };
    for (const answer of answers.values()) answer.reject(new EngineError(failure));
    answers.clear();
  };
  return started;
}

async function receive(from: Worker, message: FromWorker): Promise<void> {
  if ("batch" in message) {
    await onEvents(message.batch).catch(() => undefined);
    from.postMessage({ seen: message.batch.number } satisfies ToWorker);
    return;
  }
  if ("script" in message) {
    const { answerScript } = await import("./scripts.js");
    return answerScript(message.script, message.port);
  }
  const answer = answers.get(message.id);
  answers.delete(message.id);
  if ("failure" in message) answer?.reject(new EngineError(message.failure));
  else answer?.resolve(message.value);
}

function call(method: CoreMethod, args: readonly unknown[], of = session): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (of !== session) {
      return reject(new EngineError({ code: "closed", message: "another project was opened", suggestions: [] }));
    }
    const id = ++nextCall;
    answers.set(id, { resolve, reject });
    theWorker().postMessage({ id, method, args } satisfies ToWorker);
  });
}

/** The operations that need no open project. */
type Common =
  | "open"
  | "join"
  | "enter"
  | "restore"
  | "projects"
  | "preloadOffline"
  | "forget"
  | "warm"
  | "keepRecording"
  | "unzip"
  | "cost";

/** The engine of one project. Its operations are those of the worker. */
export type Engine = Omit<CoreApi, Common>;

/** The operations of the worker that need no open project. */
export const shared = new Proxy({} as Pick<CoreApi, Common>, {
  get:
    (_, method) =>
    (...args: readonly unknown[]) =>
      call(method as CoreMethod, args),
});

function engineOf(of: number): Engine {
  return new Proxy({} as Engine, {
    get: (_, method) => {
      // A promise resolves to an engine. It would wait for an engine with `then`.
      if (method === "then") return undefined;
      return (...args: readonly unknown[]) => call(method as CoreMethod, args, of);
    },
  });
}

/** Starts an engine over `files` in memory. It never writes to the user's disk. */
export async function startEngine(
  info: ProjectInfo,
  files: Contents,
  settings: Settings,
  options: Options,
): Promise<Engine> {
  await shared.open(info, files, settings, options);
  return engineOf(++session);
}

/** Starts an engine with a project and the state that the browser keeps. Returns null if there is none. */
export async function restoreEngine(
  id: string,
  settings: Settings,
  options: Options,
  drafts: readonly Draft[],
): Promise<(Restored & { engine: Engine }) | null> {
  const restored = await shared.restore(id, settings, options, drafts);
  return restored && { ...restored, engine: engineOf(++session) };
}

/** Starts an engine that stands for a server, with its session `id` or that which was used last, or with a new one. */
export async function joinEngine(url: string, token: string, id: string | null, canvas: boolean): Promise<Engine> {
  await shared.join(url, token, id, canvas);
  return engineOf(++session);
}

/** Starts an engine that stands for another session of the same server. */
export async function enterEngine(id: string): Promise<Engine> {
  await shared.enter(id);
  return engineOf(++session);
}

/** Loads the offline model, which then needs no network. A failure is reported by the first message instead. */
export function preloadOffline(): void {
  shared.preloadOffline().catch(() => undefined);
}

/** The changes that depend on hunks to be rejected. */
export interface Dependents {
  readonly count: number;
  /** Number of changes among them that are not the agent's. */
  readonly fromUser: number;
}

/** Returns the dependent changes if they are the reason of `error`, else null. */
export function dependentsOf(error: unknown): Dependents | null {
  if (!(error instanceof EngineError) || error.failure.code !== "conflict") return null;
  const { dependents, fromUser } = (error.failure.data ?? {}) as { dependents?: unknown; fromUser?: unknown };
  if (typeof dependents !== "number") return null;
  return { count: dependents, fromUser: typeof fromUser === "number" ? fromUser : 0 };
}

/** Returns the failure to show for an exception. */
export function describe(error: unknown): Failure {
  if (error instanceof EngineError) return error.failure;
  return { code: "unexpected", message: error instanceof Error ? error.message : String(error), suggestions: [] };
}
