/** Public types of `emend/service`. */

import type { AgentOptions, ModelOptions } from "../agent/options.js";
import type { InitOptions } from "../wasm/types.js";

/**
 * Options of {@link createService}. Those of an agent apply to the agents of all sessions. Each session has a mode, and
 * questions and approvals are requests of the service, so `mode`, `questions` and `approve` do not exist here. A `store`
 * also keeps the sessions, jobs, events and pending edits, for a service that is created later with the same files.
 */
export interface ServiceOptions extends Omit<AgentOptions, "mode" | "questions" | "approve"> {
  /**
   * Further models by the names that sessions use as their `model`. The name of `model` is its id, or the name of its
   * provider if it has none: `offline` without a `model`.
   */
  models?: Readonly<Record<string, ModelOptions>> | undefined;
  /** Limits by name, as `GET /api/agent/settings` returns them. 0 means unlimited. */
  limits?: Readonly<Record<string, number>> | undefined;
  /** Source of the wasm module. Default: the file beside this package's own. The first load decides. */
  wasm?: InitOptions["wasm"] | undefined;
}

/** The events that a reader wants. */
export interface EventScope {
  /** Events of one session only. `after` is then a `cursor`. */
  session?: string | undefined;
  /** Events of one job only. `after` is then a `cursor`. The events end with the job. */
  job?: string | undefined;
  /** Number of the last event that the reader has: a `seq`, without `session` or `job`. Default 0. */
  after?: number | undefined;
}

/** One event of a session. */
export interface ServiceEvent {
  /** Position in the session. */
  cursor: number;
  /** Position among the events of all sessions. */
  seq: number;
  /** Type, for example `tool.call.completed`. */
  type: string;
  /** Time. */
  ts: string;
  /** Id of the session. */
  session_id: string;
  /** Id of the job, if the event belongs to one. */
  job_id?: string;
  /** Data of the type. */
  data: Record<string, unknown>;
}

/** Events after the reader's number are gone. Read the state again; the reader goes on after the newest event. */
export interface ResyncEvent {
  type: "resync_required";
  ts: string;
  /** Number of the newest event. */
  last: number;
  /** The error as data: code, message, and the range of numbers that the service has. */
  error: { code: string; message: string; data: { floor: number; last: number } };
}

/** The open questions and approval requests when the reader began, which are state and not only events. */
export interface AttachedEvent {
  type: "attached";
  ts: string;
  /** Number of the newest event. */
  last: number;
  jobs: {
    job_id: string;
    session_id: string;
    status: string;
    question: Record<string, unknown> | null;
    approvals: Record<string, unknown>[];
  }[];
}

/** An item of {@link Service.events}. */
export type ServiceReading = ServiceEvent | ResyncEvent;

/** Options of a request. */
export interface RequestOptions {
  /** Ends the wait. An operation that has begun is not undone. */
  signal?: AbortSignal | undefined;
}
