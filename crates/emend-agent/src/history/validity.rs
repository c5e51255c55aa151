//! Validity of a history, repair of a truncated one, and the results of calls that did not run.

use emend_llm::{ContentPart, Message, ToolResult};
use serde_json::Value;

use super::entry::{HistoryEntry, HistoryEntryKind};
use crate::error_code::Code;
use crate::tool::{ResultForm, ToolError};

/// Returns whether every tool call has exactly one result, in order, in the next message, and every result has its
/// call.
#[must_use]
pub fn is_valid(entries: &[HistoryEntry]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for entry in entries {
        let results = results_of(&entry.message);
        if !open.is_empty() || !results.is_empty() {
            if results != open || results.len() != entry.message.content.len() {
                return false;
            }
            open.clear();
            continue;
        }
        open = entry.message.tool_calls().iter().map(|call| call.id.as_str()).collect();
    }
    open.is_empty()
}

fn results_of(message: &Message) -> Vec<&str> {
    let parts = message.content.iter();
    let ids = parts.filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result.tool_call_id.as_str()),
        _ => None,
    });
    ids.collect()
}

/// Repairs a truncated history: calls without a result get `why_lost` as an error result in this form, and results
/// without a call are dropped.
#[must_use]
pub fn repaired(entries: Vec<HistoryEntry>, why_lost: &str, form: ResultForm) -> Vec<HistoryEntry> {
    if is_valid(&entries) {
        return entries;
    }
    let mut valid: Vec<HistoryEntry> = Vec::with_capacity(entries.len() + 1);
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        if entry.kind == HistoryEntryKind::ToolResults {
            continue;
        }
        let calls: Vec<_> = entry.message.tool_calls().into_iter().cloned().collect();
        let called_at_ms = entry.at_ms;
        valid.push(entry);
        if calls.is_empty() {
            continue;
        }
        let arrived = entries.next_if(|next| next.kind == HistoryEntryKind::ToolResults);
        let at_ms = arrived.as_ref().map_or(called_at_ms, |next| next.at_ms);
        let arrived = arrived.map(|next| next.message.content).unwrap_or_default();
        let result_of = |id: &str| {
            arrived.iter().find_map(|part| match part {
                ContentPart::ToolResult(result) if result.tool_call_id == id => Some(result.clone()),
                _ => None,
            })
        };
        let results =
            calls.iter().map(|call| result_of(&call.id).unwrap_or_else(|| refusal(call, why_lost, form))).collect();
        valid.push(HistoryEntry::new(HistoryEntryKind::ToolResults, at_ms, Message::tool_results(results)));
    }
    valid
}

/// Returns the result of a call that did not run.
pub(crate) fn refusal(call: &emend_llm::ToolCall, why: &str, form: ResultForm) -> ToolResult {
    let content = match form {
        ResultForm::Text => Value::from(why),
        ResultForm::Envelope => form.failed(&call.name, &ToolError::new(Code::Aborted, why), str::to_owned),
    };
    result(call, content, true)
}

/// Returns the result of a call.
pub(crate) fn result(call: &emend_llm::ToolCall, content: Value, is_error: bool) -> ToolResult {
    ToolResult { tool_call_id: call.id.clone(), name: call.name.clone(), content, is_error, image: None }
}
