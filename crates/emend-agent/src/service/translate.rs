//! Turns the events of a run into events of the service. `docs/events.md` has the mapping table.

use serde_json::{Value, json};

use crate::event::{BudgetKind, ErrorInfo, EventKind};

/// Maximum bytes of a tool's output in an event. A longer output is kept apart, and `output_ref` names it.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Characters of a longer output, and of a longer text in the result of a tool, that an event shows.
const CUT_CHARS: usize = 4_000;

/// Returns type and data of the event of the service, or `None` for an event that has none: the service reports the start
/// and the end of a job itself.
pub(super) fn translate(kind: &EventKind) -> Option<(&'static str, Value)> {
    Some(match kind {
        EventKind::AssistantTextStart {} => ("message.started", json!({})),
        EventKind::AssistantTextDelta { delta } => ("message.delta", json!({ "delta": delta })),
        EventKind::AssistantTextEnd { text, .. } => ("message.completed", json!({ "text": text })),
        EventKind::ReasoningStart {} => ("reasoning.started", json!({})),
        EventKind::ReasoningDelta { delta } => ("reasoning.delta", json!({ "delta": delta })),
        EventKind::ReasoningEnd { text } => ("reasoning.completed", json!({ "text": text })),
        EventKind::ToolCallStart { call_id, tool_name, arguments } => (
            "tool.call.requested",
            json!({ "tool_call_id": call_id, "name": tool_name, "tool": tool_name, "arguments": arguments }),
        ),
        EventKind::ToolCallOutputDelta { call_id, delta } => {
            ("tool.call.output", json!({ "tool_call_id": call_id, "delta": delta }))
        }
        EventKind::ToolCallEnd {
            call_id, tool_name, ok, output, output_ref, data, error_info, duration_ms, ..
        } => {
            let shown = if output.len() > OUTPUT_BYTES_MAX { first_chars(output) } else { output };
            let is_cut = shown.len() < output.len();
            let mut is_result_cut = false;
            let result = summary(data, &mut is_result_cut);
            let mut completed = json!({
                "tool_call_id": call_id,
                "name": tool_name,
                "tool": tool_name,
                "ok": ok,
                "result": result,
                "error": error_info.as_ref().map(error_data),
                "output": shown,
                "output_cut": is_cut,
                "duration_ms": duration_ms,
            });
            if is_cut {
                completed["output_bytes"] = json!(output.len());
            }
            if is_result_cut {
                completed["result_cut"] = json!(true);
            }
            if let Some(name) = output_ref {
                completed["output_ref"] = json!(name);
            }
            if let Some(results) = data.get("results").and_then(Value::as_array) {
                completed["result_count"] = json!(results.len());
            }
            ("tool.call.completed", completed)
        }
        EventKind::ApprovalRequested(request) => (
            "approval.requested",
            json!({
                "tool_call_id": request.call_id,
                "tool": request.tool_name,
                "arguments": request.arguments,
                "detail": request.detail,
            }),
        ),
        EventKind::ApprovalResolved { call_id, decision, reason } => {
            ("approval.resolved", json!({ "tool_call_id": call_id, "decision": decision, "reason": reason }))
        }
        EventKind::FileChanged { path, revision, pending_hunks } => {
            ("review.updated", json!({ "file_path": path, "revision": revision, "pending_hunks": pending_hunks }))
        }
        EventKind::CanvasLease { path, state, epoch } => {
            ("canvas.lease", json!({ "file_path": path, "state": state, "epoch": epoch }))
        }
        EventKind::SubagentStart { agent_id, task, model, working_dir } => (
            "subagent.started",
            json!({ "agent_id": agent_id, "task": task, "model": model, "working_dir": working_dir }),
        ),
        EventKind::SubagentEvent { agent_id, event } => {
            let (kind, data) = translate(event)?;
            // Requests of a subagent are requests to the same user.
            if matches!(kind, "approval.requested" | "approval.resolved") {
                return Some((kind, data));
            }
            ("subagent.event", json!({ "agent_id": agent_id, "type": kind, "data": data }))
        }
        EventKind::SubagentEnd { agent_id, status, output, turns_used } => (
            "subagent.completed",
            json!({ "agent_id": agent_id, "status": status, "output": output, "turns_used": turns_used }),
        ),
        EventKind::SteeringInjected { content } => ("message.steered", json!({ "text": content })),
        EventKind::SteeringReturned { content } => ("message.returned", json!({ "text": content })),
        EventKind::TurnLimit { round, total_turns } => {
            ("limit.reached", json!({ "limit": "rounds", "round": round, "total_turns": total_turns }))
        }
        EventKind::BudgetExceeded { budget, limit, used } => {
            let name = serde_json::to_value(budget).unwrap_or_default();
            let _: &BudgetKind = budget;
            ("limit.reached", json!({ "limit": name, "max": limit, "used": used }))
        }
        EventKind::LoopDetection { message } => {
            ("job.warning", json!({ "code": "loop_detection", "message": message }))
        }
        EventKind::Warning { code, message } => ("job.warning", json!({ "code": code, "message": message })),
        EventKind::Error(error) => ("job.error", error_data(error)),
        EventKind::SessionStart { .. }
        | EventKind::SessionEnd { .. }
        | EventKind::UserInput { .. }
        | EventKind::ProcessingEnd { .. } => return None,
    })
}

fn error_data(error: &ErrorInfo) -> Value {
    json!({
        "code": error.code,
        "message": error.message,
        "suggestions": error.suggestions,
        "data": error.data,
    })
}

fn first_chars(text: &str) -> &str {
    text.char_indices().nth(CUT_CHARS).map_or(text, |(at, _)| &text[..at])
}

/// Returns the result of a tool without long texts and lists: the conversation has them. `is_cut` becomes true if something
/// is left out.
fn summary(data: &Value, is_cut: &mut bool) -> Value {
    const ITEMS_MAX: usize = 200;
    match data {
        Value::String(text) => {
            let shown = first_chars(text);
            *is_cut |= shown.len() < text.len();
            Value::String(shown.to_owned())
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), summary(value, is_cut))).collect(),
        Value::Array(items) => {
            *is_cut |= items.len() > ITEMS_MAX;
            items.iter().take(ITEMS_MAX).map(|item| summary(item, is_cut)).collect()
        }
        other => other.clone(),
    }
}
