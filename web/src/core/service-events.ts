/** Translates the events of a review service into those of a session, which the page understands. */
import type { AgentEvent, Usage } from "emend";
import type { ServiceEvent } from "emend/service-client";

type Kind = AgentEvent["kind"];
type Data = Record<string, unknown>;

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

/** Returns the events of a session for one event of the service. Kinds that the page does not show give none. */
export function translated(event: ServiceEvent): readonly AgentEvent[] {
  return pairs(event.type, event.data).map(([kind, data]) => {
    const { cursor, ts, session_id } = event;
    return { cursor, ts: Date.parse(ts), session_id, kind, data } as AgentEvent;
  });
}

/** Returns the call that asks the question of an event, for a page that has not received the call itself. */
export function eventsOfQuestion({ cursor, ts, session_id, data }: ServiceEvent): readonly AgentEvent[] {
  const call = { call_id: text(data.question_id), tool_name: "ask_user" };
  const ended = { ...call, ok: true, output: "", duration_ms: 0 };
  const events: readonly (readonly [Kind, Data])[] = [
    ["TOOL_CALL_START", { ...call, arguments: data }],
    ["TOOL_CALL_END", ended],
  ];
  return events.map(([kind, each]) => ({ cursor, ts: Date.parse(ts), session_id, kind, data: each }) as AgentEvent);
}

/** Whether the job of this event has ended, or waits for the user. */
export function endsJob(type: string): boolean {
  return /^(job\.(completed|failed|cancelled)|edits\.proposed|clarification\.requested)$/.test(type);
}

function pairs(type: string, data: Data): readonly (readonly [Kind, Data])[] {
  const one = (kind: Kind, fields: Data = {}): readonly (readonly [Kind, Data])[] => [[kind, fields]];
  const end = (reason: string) => one("PROCESSING_END", { reason, usage: data.usage ?? NO_USAGE });
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
      return one("ERROR", { code: text(data.code), message: text(data.message), suggestions: data.suggestions ?? [] });
    case "limit.reached":
      return one("WARNING", { code: "limit", message: `The task reached its limit: ${limitName(text(data.limit))}.` });
    case "review.updated":
      return one("FILE_CHANGED", {
        path: text(data.file_path),
        revision: data.revision,
        pending_hunks: data.pending_hunks,
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
  const call = { call_id: text(data.tool_call_id), tool_name: text(data.tool) };
  switch (type) {
    case "tool.call.requested":
      return [["TOOL_CALL_START", { ...call, arguments: data.arguments }]];
    case "tool.call.output":
      return [["TOOL_CALL_OUTPUT_DELTA", { ...call, delta: text(data.delta) }]];
    case "tool.call.completed": {
      const failure = data.error ?? undefined;
      const ended = { ok: data.ok === true, output: text(data.output), duration_ms: data.duration_ms ?? 0 };
      return [
        ["TOOL_CALL_END", { ...call, ...ended, ...(failure !== undefined && { error_info: failureOf(failure) }) }],
      ];
    }
    case "approval.requested":
      return [["APPROVAL_REQUESTED", { ...call, arguments: data.arguments, detail: data.detail ?? null }]];
    case "approval.resolved":
      return [["APPROVAL_RESOLVED", { call_id: call.call_id, decision: data.decision, reason: data.reason }]];
    case "subagent.started":
      return [["SUBAGENT_START", data]];
    case "subagent.completed":
      return [["SUBAGENT_END", data]];
    case "subagent.event":
      return pairs(text(data.type), (data.data ?? {}) as Data).map(([kind, inner]) => {
        return ["SUBAGENT_EVENT", { agent_id: data.agent_id, event: { kind, data: inner } }] as const;
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
  const { code, message, suggestions } = (typeof error === "object" ? error : { message: error }) as Data;
  return { code: text(code) || "unexpected", message: text(message), suggestions: suggestions ?? [] };
}
