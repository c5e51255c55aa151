/** Translates the events of a review service into those of a session, which the page understands. */
import type { AgentEvent, Usage } from "emend";
import type { ServiceEvent } from "emend/service-client";

type Kind = AgentEvent["kind"];
type Data = Record<string, unknown>;

/** Returns the tokens of a job, which the service counts under other names. */
function usageOf(given: unknown): Usage {
  const { input_tokens = 0, output_tokens = 0, total_tokens = 0 } = Object(given) as Partial<Record<string, number>>;
  return { inputTokens: input_tokens, outputTokens: output_tokens, totalTokens: total_tokens };
}

/** Returns the events of a session for one event of the service. Kinds that the page does not show give none. */
export function translated(event: ServiceEvent): readonly AgentEvent[] {
  return pairs(event.type, event.data).map(([kind, data]) => {
    const { cursor, ts, session_id: sessionId } = event;
    return { cursor, ts: Date.parse(ts), sessionId, kind, data } as AgentEvent;
  });
}

/** Returns the call that asks the question of an event, for a page that has not received the call itself. */
export function eventsOfQuestion({ cursor, ts, session_id: sessionId, data }: ServiceEvent): readonly AgentEvent[] {
  const call = { callId: text(data.question_id), toolName: "ask_user" };
  const ended = { ...call, ok: true, output: "", durationMs: 0 };
  const events: readonly (readonly [Kind, Data])[] = [
    ["TOOL_CALL_START", { ...call, arguments: data }],
    ["TOOL_CALL_END", ended],
  ];
  return events.map(([kind, each]) => ({ cursor, ts: Date.parse(ts), sessionId, kind, data: each }) as AgentEvent);
}

/** Whether the job of this event has ended, or waits for the user. */
export function endsJob(type: string): boolean {
  return /^(job\.(completed|failed|cancelled)|edits\.proposed|clarification\.requested)$/.test(type);
}

function pairs(type: string, data: Data): readonly (readonly [Kind, Data])[] {
  const one = (kind: Kind, fields: Data = {}): readonly (readonly [Kind, Data])[] => [[kind, fields]];
  const end = (reason: string) => one("PROCESSING_END", { reason, usage: usageOf(data.usage) });
  switch (type) {
    case "job.started":
      return one("USER_INPUT", { content: text(data.instruction) });
    case "clarification.received":
      return one("USER_INPUT", { content: text(data.answer) });
    case "message.started":
      return one("ASSISTANT_TEXT_START");
    case "message.delta":
      return one("ASSISTANT_TEXT_DELTA", { delta: text(data.delta) });
    case "message.completed":
      return one("ASSISTANT_TEXT_END", { text: text(data.text) });
    case "message.steered":
      return one("STEERING_INJECTED", { content: text(data.text) });
    case "message.returned":
      return one("STEERING_RETURNED", { content: text(data.text) });
    case "reasoning.started":
      return one("REASONING_START");
    case "reasoning.delta":
      return one("REASONING_DELTA", { delta: text(data.delta) });
    case "reasoning.completed":
      return one("REASONING_END", { text: text(data.text) });
    case "job.warning":
      return one("WARNING", { code: text(data.code), message: text(data.message) });
    case "job.error":
      return one("ERROR", failureOf(data));
    case "limit.reached":
      return one("WARNING", { code: "limit", message: `The task reached its limit: ${limitName(text(data.limit))}.` });
    case "review.updated":
      return one("FILE_CHANGED", {
        path: text(data.file_path),
        revision: data.revision,
        pendingHunks: data.pending_hunks,
      });
    case "canvas.lease":
      return one("CANVAS_LEASE", { path: text(data.file_path), state: data.state, epoch: data.epoch });
    case "clarification.requested":
      return end("awaiting_input");
    case "edits.proposed":
    case "job.completed":
      return end("natural");
    case "job.failed":
      return end("error");
    case "job.cancelled":
      return end("aborted");
    default:
      return ofTool(type, data);
  }
}

function ofTool(type: string, data: Data): readonly (readonly [Kind, Data])[] {
  const call = { callId: text(data.tool_call_id), toolName: text(data.tool) };
  switch (type) {
    case "tool.call.requested":
      return [["TOOL_CALL_START", { ...call, arguments: data.arguments }]];
    case "tool.call.output":
      return [["TOOL_CALL_OUTPUT_DELTA", { ...call, delta: text(data.delta) }]];
    case "tool.call.completed": {
      const failure = data.error ?? undefined;
      const ended = { ok: data.ok === true, output: text(data.output), durationMs: data.duration_ms ?? 0 };
      return [
        ["TOOL_CALL_END", { ...call, ...ended, ...(failure !== undefined && { errorInfo: failureOf(failure) }) }],
      ];
    }
    case "approval.requested":
      return [["APPROVAL_REQUESTED", { ...call, arguments: data.arguments, detail: data.detail ?? null }]];
    case "approval.resolved":
      return [["APPROVAL_RESOLVED", { callId: call.callId, decision: data.decision, reason: data.reason }]];
    case "subagent.started":
      return [["SUBAGENT_START", { agentId: data.agent_id, task: data.task, model: data.model }]];
    case "subagent.completed":
      return [["SUBAGENT_END", { agentId: data.agent_id, status: data.status, output: data.output }]];
    case "subagent.event":
      return pairs(text(data.type), (data.data ?? {}) as Data).map(([kind, inner]) => {
        return ["SUBAGENT_EVENT", { agentId: data.agent_id, event: { kind, data: inner } }] as const;
      });
    default:
      return [];
  }
}

/** Returns the words for a limit of the service. */
function limitName(name: string): string {
  return { cost_usd: "cost", duration_ms: "time", tool_calls: "tool calls" }[name] ?? name;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function failureOf(error: unknown): Data {
  const { code, message, suggestions, data } = (typeof error === "object" ? error : { message: error }) as Data;
  const known = { code: text(code) || "unexpected", message: text(message), suggestions: suggestions ?? [] };
  return data === undefined ? known : { ...known, data };
}
