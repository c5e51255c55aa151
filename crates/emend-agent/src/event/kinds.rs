//! The events of a session: kinds and data.
//!
//! `TOOL_CALL_END` carries the whole output, while the model sees a truncated one.

use emend_llm::Usage;
use serde::Serialize;
use serde_json::{Value, json};

use super::state::SessionState;
use crate::approval::{ApprovalRequest, Decision};
use crate::environment::FilePath;

/// One event; serialises to `{cursor, ts, session_id, kind, data}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Position in the session: starts at 1 and increases by 1 without gaps.
    pub cursor: u64,
    /// Time in milliseconds since 1970.
    pub ts: u64,
    /// Id of the session.
    pub session_id: String,
    /// Kind and data.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model gave its final answer.
    Natural,
    /// The limit on rounds or responses was reached.
    TurnLimit,
    /// The budget of the run is used up.
    Budget,
    /// The model asked the user a question.
    AwaitingInput,
    /// The caller cancelled the run.
    Aborted,
    /// The conversation exceeds the model's context window; the session waits for the user to compact it.
    ContextLength,
    /// The model call failed.
    Error,
}

/// The state of a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// The subagent is working.
    Running,
    /// The subagent completed its task.
    Completed,
    /// The subagent failed: its output states the reason.
    Failed,
}

impl AgentStatus {
    /// Returns the name of the status in events and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// A part of the budget of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Tokens of requests and responses.
    Tokens,
    /// US dollars.
    CostUsd,
    /// Milliseconds.
    DurationMs,
    /// Tool calls.
    ToolCalls,
}

/// A change of the canvas lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeaseChange {
    /// The agent acquired the lease.
    Held,
    /// The agent released the lease.
    Released,
    /// The user preempted the lease.
    Preempted,
    /// The lease expired.
    Expired,
}

/// A failure in events and results.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorInfo {
    /// The stable code.
    pub code: &'static str,
    /// The problem and the next step.
    pub message: String,
    /// Suggestions, best first.
    pub suggestions: Vec<String>,
    /// Details for callers, for example a sandbox decision or the latest state of a stale file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl EventKind {
    /// Returns the text of a text delta; `None` for other kinds.
    #[must_use]
    pub fn delta(&self) -> Option<&str> {
        match self {
            Self::AssistantTextDelta { delta }
            | Self::ReasoningDelta { delta }
            | Self::ToolCallOutputDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Returns the result of a completed call in the form of all providers: `{"tool_call_id", "name", "ok", "result",
    /// "error"}`; `None` for other kinds. A result without data is its text.
    #[must_use]
    pub fn tool_result(&self) -> Option<Value> {
        let Self::ToolCallEnd { call_id, tool_name, ok, output, data, error_info, .. } = self else { return None };
        let result = match data {
            _ if !ok => Value::Null,
            Value::Null => json!({ "output": output }),
            data => data.clone(),
        };
        let error = json!(error_info);
        Some(json!({ "tool_call_id": call_id, "name": tool_name, "ok": ok, "result": result, "error": error }))
    }

    pub(crate) fn delta_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::AssistantTextDelta { delta }
            | Self::ReasoningDelta { delta }
            | Self::ToolCallOutputDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Returns whether this delta continues the text of `before`.
    pub(crate) fn continues(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::AssistantTextDelta { .. }, Self::AssistantTextDelta { .. })
            | (Self::ReasoningDelta { .. }, Self::ReasoningDelta { .. }) => true,
            (Self::ToolCallOutputDelta { call_id: a, .. }, Self::ToolCallOutputDelta { call_id: b, .. }) => a == b,
            _ => false,
        }
    }

    /// Returns the approximate size in memory in bytes.
    pub(super) fn weight(&self) -> usize {
        let text = match self {
            Self::UserInput { content } | Self::SteeringInjected { content } | Self::SteeringReturned { content } => {
                content.len()
            }
            Self::AssistantTextEnd { text, reasoning } => text.len() + reasoning.as_ref().map_or(0, String::len),
            Self::ReasoningEnd { text } => text.len(),
            Self::ToolCallStart { arguments, .. } => json_weight(arguments),
            Self::ApprovalRequested(request) => json_weight(&request.arguments) + json_weight(&request.detail),
            Self::ToolCallEnd { output, data, error_info, .. } => {
                output.len() + json_weight(data) + error_info.as_ref().map_or(0, |error| 2 * error.message.len())
            }
            Self::SubagentStart { task, .. } => task.len(),
            Self::SubagentEvent { event, .. } => event.weight(),
            Self::SubagentEnd { output, .. } => output.len(),
            kind => kind.delta().map_or(0, str::len),
        };
        text + std::mem::size_of::<Event>()
    }
}

fn json_weight(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(json_weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + json_weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    content + std::mem::size_of::<Value>()
}

/// The kind of an event, with its data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", content = "data", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// The session started.
    SessionStart {
        /// The model; empty if a provider of the host's own has no model.
        model: String,
        /// The provider.
        provider: String,
        /// Whether the model is the offline model, which is not an AI.
        offline: bool,
    },
    /// The session closed.
    SessionEnd {
        /// `CLOSED`.
        state: SessionState,
    },
    /// The user sent a message.
    UserInput {
        /// The message.
        content: String,
    },
    /// The run ended; the session waits for input.
    ProcessingEnd {
        /// Why the run ended.
        reason: EndReason,
        /// Token usage of the whole run.
        usage: Usage,
    },
    /// The model started to write.
    AssistantTextStart {},
    /// The model wrote more text.
    AssistantTextDelta {
        /// The new text.
        delta: String,
    },
    /// The text of the model is complete.
    AssistantTextEnd {
        /// The whole text.
        text: String,
        /// The reasoning of the response so far, if the model gave any.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
    },
    /// The model started to reason.
    ReasoningStart {},
    /// The model produced more reasoning.
    ReasoningDelta {
        /// The new text.
        delta: String,
    },
    /// The reasoning is complete.
    ReasoningEnd {
        /// The whole text.
        text: String,
    },
    /// A tool call starts.
    ToolCallStart {
        /// Id of the call.
        call_id: String,
        /// Exposed name of the tool.
        tool_name: String,
        /// Arguments of the call; a string if they could not be parsed.
        arguments: Value,
    },
    /// A call waits for the user's approval; `APPROVAL_RESOLVED` follows.
    ApprovalRequested(ApprovalRequest),
    /// The user decided, or the run was cancelled before.
    ApprovalResolved {
        /// Id of the call.
        call_id: String,
        /// The decision.
        decision: Decision,
        /// Reason of a refusal, in the user's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A running tool produced output.
    ToolCallOutputDelta {
        /// Id of the call.
        call_id: String,
        /// The new text.
        delta: String,
    },
    /// A tool call ended.
    ToolCallEnd {
        /// Id of the call.
        call_id: String,
        /// Exposed name of the tool.
        tool_name: String,
        /// Whether the call succeeded.
        ok: bool,
        /// The whole output, or only its beginning if `output_cut` is true. The model sees it truncated.
        output: String,
        /// Name of the whole output in the session's store, if it is large.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_ref: Option<String>,
        /// Whether `output` was cut for a reader that is far behind; `output_ref` names all of it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        output_cut: bool,
        /// Result of the tool as data; absent after a failure, if the tool has none, and if `output_cut` is true.
        #[serde(skip_serializing_if = "Value::is_null")]
        data: Value,
        /// Message of the failure, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Code, suggestions and data of the failure, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_info: Option<ErrorInfo>,
        /// Duration of this call alone, in milliseconds: the tool, and the wait for an approval.
        duration_ms: u64,
    },
    /// The visible text or the hunks of a file changed.
    FileChanged {
        /// Path of the file.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        path: FilePath,
        /// Workspace revision after the change.
        revision: u64,
        /// Number of pending hunks of this file.
        pending_hunks: usize,
    },
    /// The canvas lease changed.
    CanvasLease {
        /// Path of the canvas.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        path: FilePath,
        /// The change.
        state: LeaseChange,
        /// Epoch after the change.
        epoch: u64,
    },
    /// A subagent started.
    SubagentStart {
        /// Id of the subagent within the session.
        agent_id: String,
        /// Its task.
        task: String,
        /// Model of the subagent.
        model: String,
        /// Directory that confines the subagent, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        working_dir: Option<String>,
    },
    /// An event in the session of a subagent. Text deltas are left out; file changes are events of the parent session.
    SubagentEvent {
        /// Id of the subagent.
        agent_id: String,
        /// The event.
        #[cfg_attr(feature = "openapi", schema(no_recursion))]
        event: Box<EventKind>,
    },
    /// A subagent finished its latest task.
    SubagentEnd {
        /// Id of the subagent.
        agent_id: String,
        /// Whether it completed the task.
        status: AgentStatus,
        /// Its last text, or the reason of its failure.
        output: String,
        /// Number of its responses so far.
        turns_used: u64,
    },
    /// A message of the user entered the conversation during a run.
    SteeringInjected {
        /// The message.
        content: String,
    },
    /// A message of the user reached the session during a run that ended before the model could get it. The message is
    /// dropped; the host can offer it for the next message.
    SteeringReturned {
        /// The message.
        content: String,
    },
    /// The limit on rounds or responses was reached.
    TurnLimit {
        /// Rounds of this run.
        round: u64,
        /// Responses of the whole session.
        total_turns: u64,
    },
    /// The budget of the run is used up; the run ends. After the last tool call the model responds once more.
    BudgetExceeded {
        /// The part of the budget.
        budget: BudgetKind,
        /// Its limit, in the unit of the part.
        limit: f64,
        /// The use so far.
        used: f64,
    },
    /// The model repeats its calls and got a warning.
    LoopDetection {
        /// The warning.
        message: String,
    },
    /// A problem that did not stop the run.
    Warning {
        /// A stable code.
        code: &'static str,
        /// The problem and the next step.
        message: String,
    },
    /// The run failed.
    Error(ErrorInfo),
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn ended(ok: bool, data: Value, error_info: Option<ErrorInfo>) -> EventKind {
        EventKind::ToolCallEnd {
            call_id: "c".to_owned(),
            tool_name: "grep".to_owned(),
            ok,
            output: "text".to_owned(),
            output_ref: None,
            output_cut: false,
            data,
            error: error_info.as_ref().map(|error| error.message.clone()),
            error_info,
            duration_ms: 1,
        }
    }

    #[test]
    fn the_result_of_a_call_has_one_form() {
        #[track_caller]
        fn check(kind: &EventKind, expected: Value) {
            assert_eq!(kind.tool_result().unwrap_or_default(), expected);
        }
        let error = ErrorInfo { code: "stale", message: "old".to_owned(), suggestions: Vec::new(), data: None };
        let form = |ok: bool, result: Value, error: Value| json!({"tool_call_id": "c", "name": "grep", "ok": ok, "result": result, "error": error});
        check(&ended(true, json!({"results": []}), None), form(true, json!({"results": []}), Value::Null));
        check(&ended(true, Value::Null, None), form(true, json!({"output": "text"}), Value::Null));
        let stale = json!({"code": "stale", "message": "old", "suggestions": []});
        check(&ended(false, Value::Null, Some(error)), form(false, Value::Null, stale));
        check(&EventKind::ReasoningStart {}, Value::Null);
    }
}
