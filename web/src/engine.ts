/**
 * The connection to the engine: the only module of the app that imports the package `emend`.
 *
 * It re-exports the package's types, and converts exceptions to a `Failure` that the page can show.
 */
import { Agent, type AgentOptions, init, isEmendError } from "emend";

export type {
  AgentEvent,
  CanvasState,
  FileInfo,
  FileState,
  Hunk,
  Review,
  ReviewFile,
  Usage,
} from "emend";
export { toZip } from "emend";
export type Engine = Agent;

/** The model that an agent uses. */
export type Model = NonNullable<AgentOptions["model"]>;

/** An error as the page shows it: a stable code, a message, and remedies. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestions: readonly string[];
  /** Facts about the failure, such as the HTTP status of a provider's reply. */
  readonly data?: unknown;
}

/** Starts an engine over `files` in memory. It never writes to the user's disk. */
export function startEngine(files: Record<string, string | Uint8Array>, model: Model): Promise<Engine> {
  return Agent.create({ files, model, mode: "staged" });
}

/** Loads the offline model, which then needs no network. A failure is reported by the first message instead. */
export function preloadOffline(): void {
  init({ offline: true }).catch(() => undefined);
}

/** The changes that depend on hunks to be rejected. */
export interface Dependents {
  readonly count: number;
  /** Number of changes among them that are not the agent's. */
  readonly fromUser: number;
}

/** Returns the dependent changes if they are the reason of `error`, else null. */
export function dependentsOf(error: unknown): Dependents | null {
  if (!isEmendError(error, "conflict")) return null;
  const { dependents, fromUser } = (error.data ?? {}) as { dependents?: unknown; fromUser?: unknown };
  if (typeof dependents !== "number") return null;
  return { count: dependents, fromUser: typeof fromUser === "number" ? fromUser : 0 };
}

/** Returns the failure to show for an exception. */
export function describe(error: unknown): Failure {
  if (isEmendError(error)) {
    return { code: error.code, message: error.message, suggestions: error.suggestions, data: error.data };
  }
  return { code: "unexpected", message: error instanceof Error ? error.message : String(error), suggestions: [] };
}
