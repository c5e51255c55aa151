/**
 * The one door to the engine: nothing else in the app imports the package `emend`.
 *
 * Passes the package's types on under short names and turns whatever it throws into a `Failure` the page can show.
 */
import { Agent, type AgentOptions, isEmendError } from "emend";

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

/** The model a run uses. */
export type Model = NonNullable<AgentOptions["model"]>;

/** An error as the page shows it: a stable code, a sentence, and what the user can do. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestions: readonly string[];
}

/** Starts an engine over `files`; nothing it does reaches the user's disk. */
export function startEngine(files: Record<string, string | Uint8Array>, model: Model): Promise<Engine> {
  return Agent.create({ files, model, mode: "staged" });
}

/** What stands on the hunks being rejected, if that is why it was refused. */
export interface Dependents {
  readonly count: number;
  /** How many of them the agent did not make. */
  readonly fromUser: number;
}

/** Says whether `error` is such a refusal. */
export function dependentsOf(error: unknown): Dependents | null {
  if (!isEmendError(error, "conflict")) return null;
  const { dependents, fromUser } = (error.data ?? {}) as { dependents?: unknown; fromUser?: unknown };
  if (typeof dependents !== "number") return null;
  return { count: dependents, fromUser: typeof fromUser === "number" ? fromUser : 0 };
}

/** What to show for anything thrown. */
export function describe(error: unknown): Failure {
  if (isEmendError(error)) {
    return { code: error.code, message: error.message, suggestions: error.suggestions };
  }
  return { code: "unexpected", message: error instanceof Error ? error.message : String(error), suggestions: [] };
}
