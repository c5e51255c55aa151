/**
 * The conversation in the sidebar, as a pure function of the events so far.
 *
 * Files and hunks are not part of it: the page reads them from the engine when an event reports a change.
 */
import type { AgentEvent, Failure, Picture, ShownEvent, Usage } from "./engine.js";
import { plural } from "./hunk-text.js";

/** One item of the transcript. Its `id` is stable while the item grows. */
export type Entry =
  | UserEntry
  | TextEntry
  | ToolEntry
  | LeaseEntry
  | NoticeEntry
  | EndEntry
  | ApprovalEntry
  | AgentEntry;

/** A call that waits, or waited, for the user's decision. */
export interface ApprovalEntry {
  readonly kind: "approval";
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly detail: Readonly<Record<string, unknown>> | null;
  /** Null while it waits. */
  readonly decision: Extract<AgentEvent, { kind: "APPROVAL_RESOLVED" }>["data"]["decision"] | null;
}

/** A subagent with its own transcript. */
export interface AgentEntry {
  readonly kind: "agent";
  readonly id: string;
  readonly agentId: string;
  readonly task: string;
  readonly status: "running" | "completed" | "failed";
  readonly state: ChatState;
  readonly output: string;
}

export interface UserEntry {
  readonly kind: "user";
  readonly id: string;
  readonly text: string;
  readonly pictures?: readonly Picture[];
  /** Whether the message joined a run, instead of starting one. */
  readonly steering: boolean;
}

/** Text or reasoning of the model, which grows while it streams. */
export interface TextEntry {
  readonly kind: "assistant" | "reasoning";
  readonly id: string;
  readonly text: string;
  readonly streaming: boolean;
}

export interface ToolEntry {
  readonly kind: "tool";
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly status: "running" | "ok" | "failed" | "cancelled";
  readonly output: string;
  readonly failure: Failure | null;
  /** Duration in milliseconds, or null while the call runs. */
  readonly duration: number | null;
}

/** The agent's lease on the file in the editor: one entry for each run and file, which shows the latest state. */
export interface LeaseEntry {
  readonly kind: "lease";
  readonly id: string;
  readonly path: string;
  readonly state: LeaseState;
  /** Whether the assistant changed the file meanwhile, and did not only read it. */
  readonly changed: boolean;
  /** The event that gave it its state. */
  readonly cursor: number;
}

export type LeaseState = Extract<AgentEvent, { kind: "CANVAS_LEASE" }>["data"]["state"];

/** A warning or an error, with its remedies. */
export interface NoticeEntry {
  readonly kind: "notice";
  readonly id: string;
  readonly level: "info" | "warning" | "error";
  readonly failure: Failure;
  /** Time of the event in milliseconds since 1970, or 0 for a message of the page itself. */
  readonly ts: number;
}

/** The line at the end of a run. */
export interface EndEntry {
  readonly kind: "end";
  readonly id: string;
  readonly reason: string;
  /** Null for the offline model, which counts characters as tokens. */
  readonly usage: Usage | null;
  readonly toolCalls: number;
  readonly failedCalls: number;
  /** The models that responded, if there could be several. */
  readonly models?: readonly string[];
}

export interface ChatState {
  readonly entries: readonly Entry[];
  /** Messages sent during the run that the model has not received yet. */
  readonly waiting: readonly string[];
  /** Whether the session uses the offline model. */
  readonly offline: boolean;
  readonly running: boolean;
  /** Current activity of the assistant, shown above the composer. */
  readonly activity: string;
}

export const EMPTY_CHAT: ChatState = { entries: [], waiting: [], offline: false, running: false, activity: "" };

/** The state of a subagent, whose task is not a message in it. */
const WORKING: ChatState = { ...EMPTY_CHAT, running: true };

/** Returns the state after `event`. Kinds of events that are not shown do not change the state. */
export function reduce(state: ChatState, event: ShownEvent): ChatState {
  // Cursors restart with each session, and a change of the model starts a session.
  const id = `${event.sessionId}-${event.cursor}`;
  switch (event.kind) {
    case "SESSION_START":
      return { ...state, offline: event.data.offline };
    case "USER_INPUT": {
      const entry = userEntry(id, event.data.content, event.pictures, false);
      return { ...state, entries: [...state.entries, entry], running: true, activity: "Thinking…" };
    }
    case "STEERING_INJECTED": {
      const entry = userEntry(id, event.data.content, event.pictures, true);
      return { ...withoutWaiting(state, entry.text), entries: [...settle(state.entries), entry] };
    }
    case "STEERING_RETURNED":
      return withoutWaiting(state, event.data.content);
    case "ASSISTANT_TEXT_START":
      return openText(state, "assistant", id, "Writing…");
    case "ASSISTANT_TEXT_DELTA":
      return growText(state, "assistant", id, event.data.delta);
    case "ASSISTANT_TEXT_END":
      return closeText(state, "assistant", event.data.text);
    case "REASONING_START":
      return openText(state, "reasoning", id, "Thinking…");
    case "REASONING_DELTA":
      return growText(state, "reasoning", id, event.data.delta);
    case "REASONING_END":
      return closeText(state, "reasoning", event.data.text);
    case "TOOL_CALL_START": {
      const { callId, toolName: name, arguments: given } = event.data;
      const entry: ToolEntry = {
        kind: "tool",
        id,
        callId,
        name,
        arguments: given,
        status: "running",
        output: "",
        failure: null,
        duration: null,
      };
      return { ...state, entries: [...settle(state.entries), entry], activity: `Running ${name}…` };
    }
    case "TOOL_CALL_OUTPUT_DELTA":
      return changeTool(state, event.data.callId, (tool) => ({ ...tool, output: tool.output + event.data.delta }));
    case "APPROVAL_REQUESTED":
      return askApproval(state, id, event.data);
    case "APPROVAL_RESOLVED":
      return resolveApproval(state, event.data.callId, event.data.decision);
    case "SUBAGENT_START": {
      const { agentId, task } = event.data;
      const entry: AgentEntry = { kind: "agent", id, agentId, task, status: "running", state: WORKING, output: "" };
      return { ...state, entries: [...settle(state.entries), entry] };
    }
    case "SUBAGENT_EVENT": {
      const { agentId, event: inner } = event.data;
      const whole = { ...event, sessionId: agentId, ...inner } as AgentEvent;
      return changeAgent(state, agentId, (agent) => ({ ...agent, state: reduce(agent.state, whole) }));
    }
    case "SUBAGENT_END": {
      const { agentId, status, output } = event.data;
      return changeAgent(state, agentId, (agent) => ({ ...agent, status, output, state: stopRun(agent.state) }));
    }
    case "BUDGET_EXCEEDED":
      return notice(state, id, "warning", event.ts, {
        code: "budget",
        message: `The task reached your limit of ${limitName(event.data)}.`,
        suggestions: ["“Continue” lets it go on with a new budget. Or change the limit in the options."],
      });
    case "TOOL_CALL_END":
      return { ...state, entries: endTool(state.entries, event.data), activity: "Thinking…" };
    case "CANVAS_LEASE":
      return recordLease(state, id, event.data.path, event.data.state, event.cursor);
    case "FILE_CHANGED":
      return recordChange(state, event.data.path);
    case "WARNING":
      return notice(state, id, event.data.code === "fallback" ? "info" : "warning", event.ts, {
        code: event.data.code,
        message: event.data.message,
        suggestions: [],
      });
    case "TURN_LIMIT":
      return notice(state, id, "warning", event.ts, {
        code: "turn_limit",
        message: "The assistant reached its limit of steps for one task.",
        suggestions: ["“Continue” lets it go on."],
      });
    case "ERROR":
      return notice(state, id, "error", event.ts, event.data);
    case "PROCESSING_END":
      return endRun(
        event.data.reason === "aborted" ? withoutLoss(state, event.cursor) : state,
        id,
        event.data.reason,
        state.offline ? null : event.data.usage,
      );
    default:
      return state;
  }
}

function userEntry(id: string, text: string, pictures: readonly Picture[] = [], steering: boolean): UserEntry {
  return { kind: "user", id, text, pictures, steering };
}

type Budget = Extract<AgentEvent, { kind: "BUDGET_EXCEEDED" }>["data"];

function limitName({ budget, limit }: Budget): string {
  if (budget === "cost_usd") return `$${limit.toFixed(2)}`;
  if (budget === "duration_ms") return plural(Math.round(limit / 1_000), "second");
  return `${limit.toLocaleString("en")} ${budget === "tokens" ? "tokens" : "tool calls"}`;
}

function changeTool(state: ChatState, callId: string, change: (tool: ToolEntry) => ToolEntry): ChatState {
  const index = state.entries.findLastIndex((entry) => entry.kind === "tool" && entry.callId === callId);
  const entry = state.entries[index];
  if (entry?.kind !== "tool") return state;
  return { ...state, entries: state.entries.with(index, change(entry)) };
}

/** Changes a subagent's entry, also one of a subagent's subagent. */
function changeAgent(state: ChatState, agentId: string, change: (agent: AgentEntry) => AgentEntry): ChatState {
  const index = state.entries.findLastIndex((entry) => entry.kind === "agent" && entry.agentId === agentId);
  const entry = state.entries[index];
  if (entry?.kind !== "agent") return state;
  return { ...state, entries: state.entries.with(index, change(entry)) };
}

type Asked = Extract<AgentEvent, { kind: "APPROVAL_REQUESTED" }>["data"];

function askApproval(state: ChatState, id: string, asked: Asked): ChatState {
  const { callId, toolName: name, arguments: given, detail } = asked;
  const entry: ApprovalEntry = { kind: "approval", id, callId, name, arguments: given, detail, decision: null };
  return { ...state, entries: [...settle(state.entries), entry], activity: "Waiting for your decision" };
}

function resolveApproval(
  state: ChatState,
  callId: string,
  decision: NonNullable<ApprovalEntry["decision"]>,
): ChatState {
  const index = state.entries.findLastIndex((entry) => entry.kind === "approval" && entry.callId === callId);
  const entry = state.entries[index];
  if (entry?.kind !== "approval") return state;
  return { ...state, entries: state.entries.with(index, { ...entry, decision }), activity: "Working…" };
}

/** The names that the tool for questions has with each family of models. */
const ASKING: ReadonlySet<string> = new Set(["clarify_user", "request_user_input", "AskUserQuestion", "ask_user"]);

export function isQuestion(entry: ToolEntry): boolean {
  return ASKING.has(entry.name) && entry.status !== "failed";
}

/** Returns the id of the entry that waits for the user: a call to decide on, or a question. Null if there is none. */
export function openRequest({ entries, running }: ChatState): string | null {
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry === undefined || startsRun(entry)) return null;
    if (running && entry.kind === "approval" && entry.decision === null) return entry.id;
    if (!running && entry.kind === "tool" && isQuestion(entry)) return entry.id;
  }
  return null;
}

/** Returns the state up to, and without, the task with number `tasks`, counted from 0: what a branch takes over. */
export function firstTasks(state: ChatState, tasks: number): ChatState {
  const starts = state.entries.flatMap((entry, index) => (startsRun(entry) ? [index] : []));
  const end = starts[tasks];
  return {
    ...EMPTY_CHAT,
    offline: state.offline,
    entries: end === undefined ? state.entries : state.entries.slice(0, end),
  };
}

/** Adds a message of the page itself, in order with the events. */
export function addNotice(state: ChatState, id: string, level: NoticeEntry["level"], failure: Failure): ChatState {
  return notice(state, id, level, 0, failure);
}

/** Adds a message that was sent during the run. */
export function addWaiting(state: ChatState, text: string): ChatState {
  return { ...state, waiting: [...state.waiting, text] };
}

/** Removes a message that the model received, or never will. */
export function withoutWaiting(state: ChatState, text: string): ChatState {
  const index = state.waiting.indexOf(text);
  return index < 0 ? state : { ...state, waiting: state.waiting.toSpliced(index, 1) };
}

/** Adds the models that responded to the end of the last run. */
export function withModels(state: ChatState, models: readonly string[]): ChatState {
  const last = state.entries.at(-1);
  return last?.kind === "end" ? { ...state, entries: state.entries.with(-1, { ...last, models }) } : state;
}

/** Ends a run that ended without an event, because it failed to start or the engine panicked. */
export function stopRun(state: ChatState): ChatState {
  if (!state.running) return state;
  return { ...state, entries: cancelTools(settle(state.entries)), running: false, activity: "" };
}

function notice(state: ChatState, id: string, level: NoticeEntry["level"], ts: number, failure: Failure): ChatState {
  const last = state.entries.at(-1);
  // The notices of repeated attempts are one line, which keeps its place.
  if (isRetry(last) && failure.code === "retry") {
    return { ...state, entries: state.entries.with(-1, { ...last, failure, ts }) };
  }
  return { ...state, entries: [...settle(state.entries), { kind: "notice", id, level, failure, ts }] };
}

function openText(state: ChatState, kind: TextEntry["kind"], id: string, activity: string): ChatState {
  const entry: TextEntry = { kind, id, text: "", streaming: true };
  return { ...state, entries: [...settle(state.entries), entry], activity };
}

function growText(state: ChatState, kind: TextEntry["kind"], id: string, delta: string): ChatState {
  const last = state.entries.at(-1);
  if (last?.kind !== kind || !last.streaming) {
    return growText(openText(state, kind, id, state.activity), kind, id, delta);
  }
  return { ...state, entries: [...state.entries.slice(0, -1), { ...last, text: last.text + delta }] };
}

/** Ends a text. The end event has the complete text, which replaces the collected deltas. */
function closeText(state: ChatState, kind: TextEntry["kind"], text: string): ChatState {
  const index = state.entries.findLastIndex((entry) => entry.kind === kind && entry.streaming);
  const entry = state.entries[index];
  if (entry?.kind !== kind) return state;
  if (text === "" && entry.text === "") return { ...state, entries: state.entries.toSpliced(index, 1) };
  return { ...state, entries: state.entries.with(index, { ...entry, text: text || entry.text, streaming: false }) };
}

function isRetry(entry: Entry | undefined): entry is NoticeEntry {
  return entry?.kind === "notice" && entry.failure.code === "retry";
}

/** Ends a streaming text when another entry begins, and removes the notice of an attempt that has succeeded. */
function settle(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.at(-1);
  if (isRetry(last)) return entries.slice(0, -1);
  if (last?.kind !== "assistant" && last?.kind !== "reasoning") return entries;
  if (!last.streaming) return entries;
  return last.text === "" ? entries.slice(0, -1) : entries.with(-1, { ...last, streaming: false });
}

function startsRun(entry: Entry): boolean {
  return entry.kind === "user" && !entry.steering;
}

function recordLease(state: ChatState, id: string, path: string, leaseState: LeaseState, cursor: number): ChatState {
  const { entries } = state;
  const begun = entries.findLastIndex(startsRun);
  const index = entries.findLastIndex((entry) => entry.kind === "lease" && entry.path === path);
  const known = entries[index];
  if (index > begun && known?.kind === "lease") {
    return { ...state, entries: entries.with(index, { ...known, state: leaseState, cursor }) };
  }
  const entry: LeaseEntry = { kind: "lease", id, path, state: leaseState, changed: false, cursor };
  const last = entries.at(-1);
  // A text that still streams stays last, so that its next delta continues it.
  const streams = (last?.kind === "assistant" || last?.kind === "reasoning") && last.streaming;
  return { ...state, entries: entries.toSpliced(streams ? -1 : entries.length, 0, entry) };
}

/** Number of events from the loss of a lease by Stop to the end of the run: those that end a call or a text lie between. */
const LOSS_EVENTS = 3;

/** Stop ends the lease too. The user then has not taken the file back. */
function withoutLoss(state: ChatState, end: number): ChatState {
  const entries = state.entries.map((entry) =>
    entry.kind === "lease" && entry.state === "preempted" && end - entry.cursor <= LOSS_EVENTS && end > entry.cursor
      ? { ...entry, state: "released" as const }
      : entry,
  );
  return { ...state, entries };
}

/** Notes at the lease of the current run that its file was changed. */
function recordChange(state: ChatState, path: string): ChatState {
  const { entries } = state;
  const index = entries.findLastIndex((entry) => startsRun(entry) || (entry.kind === "lease" && entry.path === path));
  const known = entries[index];
  if (known?.kind !== "lease" || known.changed) return state;
  return { ...state, entries: entries.with(index, { ...known, changed: true }) };
}

type ToolEnd = Extract<AgentEvent, { kind: "TOOL_CALL_END" }>["data"];

function endTool(entries: readonly Entry[], end: ToolEnd): readonly Entry[] {
  const index = entries.findLastIndex((entry) => entry.kind === "tool" && entry.callId === end.callId);
  const entry = entries[index];
  if (entry?.kind !== "tool") return entries;
  return entries.with(index, {
    ...entry,
    status: end.ok ? "ok" : "failed",
    output: typeof end.output === "string" ? end.output : JSON.stringify(end.output, null, 2),
    failure: end.errorInfo ?? null,
    duration: end.durationMs,
  });
}

function endRun(state: ChatState, id: string, reason: string, usage: Usage | null): ChatState {
  const begun = state.entries.findLastIndex(startsRun);
  const calls = state.entries.slice(begun + 1).filter((entry) => entry.kind === "tool");
  const failedCalls = calls.filter((call) => call.status === "failed").length;
  const entries = withdrawApprovals(cancelTools(settle(state.entries)));
  const end: EndEntry = { kind: "end", id, reason, usage, toolCalls: calls.length, failedCalls };
  return { ...state, entries: [...entries, end], running: false, activity: "" };
}

/** A question that the end of a run left open was not answered. */
function withdrawApprovals(entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) =>
    entry.kind === "approval" && entry.decision === null ? { ...entry, decision: "aborted" as const } : entry,
  );
}

function cancelTools(entries: readonly Entry[]): readonly Entry[] {
  if (!entries.some((entry) => entry.kind === "tool" && entry.status === "running")) return entries;
  return entries.map((entry) =>
    entry.kind === "tool" && entry.status === "running" ? { ...entry, status: "cancelled" as const } : entry,
  );
}
