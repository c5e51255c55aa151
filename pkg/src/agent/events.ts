/**
 * Public types of events: their kinds and data.
 *
 * Generated from docs/agent-types.json by `UPDATE_EXPECT=1 node --test pkg/test/agent-types.test.mjs`; do not edit this
 * file by hand.
 */

import type { ApprovalRequest } from "../host/types.js";
import type { Usage } from "../sessions/types.js";

/** The state of a subagent. */
export type AgentStatus = "running" | "completed" | "failed";

/** A part of the budget of a run. */
export type BudgetKind = "tokens" | "cost_usd" | "duration_ms" | "tool_calls";

/** The outcome of an approval request. */
export type Decision = "allowed" | "allowed_always" | "denied" | "aborted";

/** Why a run ended. */
export type EndReason = "natural" | "turn_limit" | "budget" | "awaiting_input" | "aborted" | "context_length" | "error";

/** A failure in events and results. */
export interface ErrorInfo {
  /** The stable code. */
  code: string;
  /** Details for callers, for example a sandbox decision or the latest state of a stale file. */
  data?: unknown;
  /** The problem and the next step. */
  message: string;
  /** Suggestions, best first. */
  suggestions: string[];
}

/** A change of the canvas lease. */
export type LeaseChange = "held" | "released" | "preempted" | "expired";

/** The state of a session. */
export type SessionState = "IDLE" | "PROCESSING" | "AWAITING_INPUT" | "CLOSED";

/** The `data` of each kind of event. */
export interface EventData {
  /** The session started. */
  SESSION_START: {
    /** The model; empty if a provider of the host's own has no model. */
    model: string;
    /** Whether the model is the offline model, which is not an AI. */
    offline: boolean;
    /** The provider. */
    provider: string;
  };
  /** The session closed. */
  SESSION_END: {
    /** `CLOSED`. */
    state: SessionState;
  };
  /** The user sent a message. */
  USER_INPUT: {
    /** The message. */
    content: string;
  };
  /** The run ended; the session waits for input. */
  PROCESSING_END: {
    /** Why the run ended. */
    reason: EndReason;
    /** Token usage of the whole run. */
    usage: Usage;
  };
  /** The model started to write. */
  ASSISTANT_TEXT_START: Record<string, never>;
  /** The model wrote more text. */
  ASSISTANT_TEXT_DELTA: {
    /** The new text. */
    delta: string;
  };
  /** The text of the model is complete. */
  ASSISTANT_TEXT_END: {
    /** The reasoning of the response so far, if the model gave any. */
    reasoning?: string;
    /** The whole text. */
    text: string;
  };
  /** The model started to reason. */
  REASONING_START: Record<string, never>;
  /** The model produced more reasoning. */
  REASONING_DELTA: {
    /** The new text. */
    delta: string;
  };
  /** The reasoning is complete. */
  REASONING_END: {
    /** The whole text. */
    text: string;
  };
  /** A tool call starts. */
  TOOL_CALL_START: {
    /** Arguments of the call; a string if they could not be parsed. */
    arguments: unknown;
    /** Id of the call. */
    callId: string;
    /** Exposed name of the tool. */
    toolName: string;
  };
  /** A call waits for the user's approval; `APPROVAL_RESOLVED` follows. */
  APPROVAL_REQUESTED: ApprovalRequest;
  /** The user decided, or the run was cancelled before. */
  APPROVAL_RESOLVED: {
    /** Id of the call. */
    callId: string;
    /** The decision. */
    decision: Decision;
    /** Reason of a refusal, in the user's words. */
    reason?: string;
  };
  /** A running tool produced output. */
  TOOL_CALL_OUTPUT_DELTA: {
    /** Id of the call. */
    callId: string;
    /** The new text. */
    delta: string;
  };
  /** A tool call ended. */
  TOOL_CALL_END: {
    /** Id of the call. */
    callId: string;
    /** Result of the tool as data; absent after a failure, if the tool has none, and if `outputCut` is true. */
    data?: unknown;
    /** Duration of this call alone, in milliseconds: the tool, and the wait for an approval. */
    durationMs: number;
    /** Message of the failure, if any. */
    error?: string;
    /** Code, suggestions and data of the failure, if any. */
    errorInfo?: ErrorInfo;
    /** Whether the call succeeded. */
    ok: boolean;
    /** The whole output, or only its beginning if `outputCut` is true. The model sees it truncated. */
    output: string;
    /** Whether `output` was cut for a reader that is far behind; `outputRef` names all of it. */
    outputCut?: boolean;
    /** Name of the whole output in the session's store, if it is large. */
    outputRef?: string;
    /** Exposed name of the tool. */
    toolName: string;
  };
  /** The visible text or the hunks of a file changed. */
  FILE_CHANGED: {
    /** Path of the file. */
    path: string;
    /** Number of pending hunks of this file. */
    pendingHunks: number;
    /** Workspace revision after the change. */
    revision: number;
  };
  /** The canvas lease changed. */
  CANVAS_LEASE: {
    /** Epoch after the change. */
    epoch: number;
    /** Path of the canvas. */
    path: string;
    /** The change. */
    state: LeaseChange;
  };
  /** A subagent started. */
  SUBAGENT_START: {
    /** Id of the subagent within the session. */
    agentId: string;
    /** Model of the subagent. */
    model: string;
    /** Its task. */
    task: string;
    /** Directory that confines the subagent, if any. */
    workingDir?: string;
  };
  /** An event in the session of a subagent. Text deltas are left out; file changes are events of the parent session. */
  SUBAGENT_EVENT: {
    /** Id of the subagent. */
    agentId: string;
    /** The event. */
    event: { [K in EventKind]: { kind: K; data: EventData[K] } }[EventKind];
  };
  /** A subagent finished its latest task. */
  SUBAGENT_END: {
    /** Id of the subagent. */
    agentId: string;
    /** Its last text, or the reason of its failure. */
    output: string;
    /** Whether it completed the task. */
    status: AgentStatus;
    /** Number of its responses so far. */
    turnsUsed: number;
  };
  /** A message of the user entered the conversation during a run. */
  STEERING_INJECTED: {
    /** The message. */
    content: string;
  };
  /** A message of the user reached the session during a run that ended before the model could get it. The message is dropped; the host can offer it for the next message. */
  STEERING_RETURNED: {
    /** The message. */
    content: string;
  };
  /** The limit on rounds or responses was reached. */
  TURN_LIMIT: {
    /** Rounds of this run. */
    round: number;
    /** Responses of the whole session. */
    totalTurns: number;
  };
  /** The budget of the run is used up; the run ends. After the last tool call the model responds once more. */
  BUDGET_EXCEEDED: {
    /** The part of the budget. */
    budget: BudgetKind;
    /** Its limit, in the unit of the part. */
    limit: number;
    /** The use so far. */
    used: number;
  };
  /** The model repeats its calls and got a warning. */
  LOOP_DETECTION: {
    /** The warning. */
    message: string;
  };
  /** A problem that did not stop the run. */
  WARNING: {
    /** A stable code. */
    code: string;
    /** The problem and the next step. */
    message: string;
  };
  /** The run failed. */
  ERROR: ErrorInfo;
}

/** Name of a kind of event. */
export type EventKind = keyof EventData;

/** One event of kind `K`. */
export interface EventOf<K extends EventKind> {
  /** Position in the session: starts at 1 and increases by 1 without gaps. */
  cursor: number;
  /** Id of the session. */
  sessionId: string;
  /** Time in milliseconds since 1970. */
  ts: number;
  kind: K;
  data: EventData[K];
}

/** One event. `kind` determines the shape of `data`. Kinds may be added: ignore kinds that you do not know. */
export type AgentEvent = { [K in EventKind]: EventOf<K> }[EventKind];
