/** Public types of `emend/service`. */

import type { AgentOptions, ModelOptions } from "../agent/options.js";
import type { InitOptions } from "../wasm/types.js";

/**
 * Options of {@link createService}. Those of an agent apply to the agents of all sessions. Each session has a mode, and
 * questions and approvals are requests of the service, so `mode`, `questions` and `approve` do not exist here. A `store`
 * also keeps the sessions, jobs, events and pending edits, for a service that is created later with the same files.
 */
export interface ServiceOptions extends Omit<AgentOptions, "mode" | "questions" | "approve" | "telemetry"> {
  /**
   * Further models by the names that sessions use as their `model`. The name of `model` is its id, or the name of its
   * provider if it has none: `offline` without a `model`.
   */
  models?: Readonly<Record<string, ModelOptions>> | undefined;
  /** A second model for the sessions, and when a request goes there. The trace of a job has each choice with its reason. */
  routing?: ServiceRouting | undefined;
  /** Limits by name, as `GET /api/agent/settings` returns them. 0 means unlimited. */
  limits?: Readonly<Record<string, number>> | undefined;
  /** Source of the wasm module. Default: the file beside this package's own. The first load decides. */
  wasm?: InitOptions["wasm"] | undefined;
}

/** The choice between the model of a session, called local, and a second one, called remote, wherever they run. */
export interface ServiceRouting {
  /** Name of the second model: one of `models`, or the name of `model`. */
  fallback: string;
  /**
   * `hybrid_auto` (the default) starts with the local model. The others fix the model. A request goes to the remote model
   * after calls that do not match their schema or edits that would fail, beyond the context window, after a time limit,
   * and if the tool calls of a job are used up without an edit.
   */
  agentMode?: "local" | "remote" | "hybrid_auto" | undefined;
  /** Number of local attempts for a request. Default 2. */
  maxLocalAttempts?: number | undefined;
  /** Whether wrong calls and edits go to the remote model. Default true. */
  remoteOnSchemaFail?: boolean | undefined;
  /** Whether conversations beyond the local context window go to the remote model. Default true. */
  remoteOnContextOverflow?: boolean | undefined;
  /** Time limit of a local response, in milliseconds. Default: none. */
  remoteOnTimeoutMs?: number | undefined;
  /** Whether the remote model is never used: a request that needs it fails. Default false. */
  strictLocal?: boolean | undefined;
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

/**
 * The open questions and approval requests when the reader began, which are state and not only events. A client that was
 * away compares `state` with the last one that it has, and reads what it shows again if it is another.
 */
export interface AttachedEvent {
  type: "attached";
  ts: string;
  /** Number of the newest event. */
  last: number;
  /** The state of which a `state.changed` tells changes. */
  state: StateEvent["state"];
  jobs: {
    job_id: string;
    session_id: string;
    status: string;
    question: Record<string, unknown> | null;
    approvals: Record<string, unknown>[];
  }[];
}

/**
 * The user changed files or deleted a session, and no event says so. Read what you show again. Several such changes
 * become one item.
 */
export interface StateEvent {
  type: "state.changed";
  ts: string;
  state: {
    /** Workspace revision after the last such change of files. */
    revision: number;
    /** Number of sessions that were deleted since the start of the service. */
    n_deleted_sessions: number;
  };
}

/** An item of {@link Service.events}. */
export type ServiceReading = ServiceEvent | ResyncEvent | StateEvent;

/** Options of a request. */
export interface RequestOptions {
  /** Ends the wait. An operation that has begun is not undone. */
  signal?: AbortSignal | undefined;
}
