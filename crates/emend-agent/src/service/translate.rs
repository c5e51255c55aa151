//! Turns the events of a run into events of the service. `docs/events.md` has the mapping table.

use serde_json::{Value, json};

use crate::event::{BudgetKind, ErrorInfo, EventKind};

/// Maximum characters of a tool's output in an event. `output_ref` names the whole output.
const OUTPUT_CHARS_MAX: usize = 4_000;

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
            let cut = output.char_indices().nth(OUTPUT_CHARS_MAX).map(|(at, _)| &output[..at]);
            let mut completed = json!({
                "tool_call_id": call_id,
                "name": tool_name,
                "tool": tool_name,
                "ok": ok,
                "result": summary(data),
                "error": error_info.as_ref().map(error_data),
                "output": cut.unwrap_or(output),
                "output_cut": cut.is_some(),
                "duration_ms": duration_ms,
            });
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

/// Returns the result of a tool without long texts: the conversation has them.
fn summary(data: &Value) -> Value {
    match data {
        Value::String(text) if text.chars().count() > OUTPUT_CHARS_MAX => {
            Value::String(text.chars().take(OUTPUT_CHARS_MAX).collect())
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), summary(value))).collect(),
        Value::Array(items) => items.iter().take(200).map(summary).collect(),
        other => other.clone(),
    }
}
