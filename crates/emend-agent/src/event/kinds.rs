//! The events of a session: kinds and data. `TOOL_CALL_END` carries the whole output, while the model sees a truncated
//! one.

use emend_llm::Usage;
use serde::Serialize;
use serde_json::Value;

use super::state::SessionState;
use crate::approval::{ApprovalRequest, Decision};
use crate::environment::FilePath;

/// One event. Serialises to `{cursor, ts, session_id, kind, data}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Counts up by one from 1 within a session, without gaps.
    pub cursor: u64,
    /// Milliseconds since 1970.
    pub ts: u64,
    /// The session.
    pub session_id: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model answered without asking for tools.
    Natural,
    /// A limit on rounds or turns was reached.
    TurnLimit,
    /// The model asked the user something.
    AwaitingInput,
    /// The caller cancelled.
    Aborted,
    /// The conversation does not fit the model; the session waits for the user to make room.
    ContextLength,
    /// The call to the model failed.
    Error,
}

/// What a subagent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// It works.
    Running,
    /// It did its task.
    Completed,
    /// It did not: its output says why.
    Failed,
}

impl AgentStatus {
    /// Returns the status as events and results write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// How the canvas lease changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseChange {
    /// The agent took it.
    Held,
    /// The agent gave it back.
    Released,
    /// The user took over.
    Preempted,
    /// It ran out.
    Expired,
}

/// A failure as events and results show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorInfo {
    /// The stable code.
    pub code: &'static str,
    /// What happened and what to do.
    pub message: String,
    /// What to try instead, best first.
    pub suggestions: Vec<String>,
    /// Details for callers, e.g. a sandbox decision or the latest state of a stale file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl EventKind {
    /// Returns the piece of text this adds to what came before, if it is such a piece.
    #[must_use]
    pub fn delta(&self) -> Option<&str> {
        match self {
            Self::AssistantTextDelta { delta }
            | Self::ReasoningDelta { delta }
            | Self::ToolCallOutputDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    pub(super) fn delta_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::AssistantTextDelta { delta }
            | Self::ReasoningDelta { delta }
            | Self::ToolCallOutputDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Returns whether this is the next piece of the same text as `before`.
    pub(super) fn continues(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::AssistantTextDelta { .. }, Self::AssistantTextDelta { .. })
            | (Self::ReasoningDelta { .. }, Self::ReasoningDelta { .. }) => true,
            (Self::ToolCallOutputDelta { call_id: a, .. }, Self::ToolCallOutputDelta { call_id: b, .. }) => a == b,
            _ => false,
        }
    }

    /// Returns about how many bytes this takes in memory.
    pub(super) fn weight(&self) -> usize {
        let text = match self {
            Self::UserInput { content } | Self::SteeringInjected { content } => content.len(),
            Self::AssistantTextEnd { text } | Self::ReasoningEnd { text } => text.len(),
            Self::ToolCallStart { arguments, .. } => json_weight(arguments),
            Self::ApprovalRequested(request) => json_weight(&request.arguments) + json_weight(&request.detail),
            Self::ToolCallEnd { output, error, .. } => {
                output.len() + error.as_ref().map_or(0, |error| error.message.len())
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

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "data", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// The session began.
    SessionStart {
        /// The model.
        model: String,
        /// The provider.
        provider: String,
        /// Whether this is the stand-in model and no AI.
        offline: bool,
    },
    /// The session closed.
    SessionEnd {
        /// `CLOSED`.
        state: SessionState,
    },
    /// The user's message.
    UserInput {
        /// The message.
        content: String,
    },
    /// The turn ended; the session waits for input.
    ProcessingEnd {
        /// Why.
        reason: EndReason,
        /// Tokens of the whole turn.
        usage: Usage,
    },
    /// The model began to write.
    AssistantTextStart {},
    /// More text.
    AssistantTextDelta {
        /// The new text.
        delta: String,
    },
    /// The model's text is complete.
    AssistantTextEnd {
        /// All of it.
        text: String,
    },
    /// The model began to reason.
    ReasoningStart {},
    /// More reasoning.
    ReasoningDelta {
        /// The new text.
        delta: String,
    },
    /// The reasoning is complete.
    ReasoningEnd {
        /// All of it.
        text: String,
    },
    /// A tool call begins to run.
    ToolCallStart {
        /// The call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// Its arguments; a string if they did not parse.
        arguments: Value,
    },
    /// A call waits for the user's word; `APPROVAL_RESOLVED` follows.
    ApprovalRequested(ApprovalRequest),
    /// The user's word came, or the turn was cancelled first.
    ApprovalResolved {
        /// The call.
        call_id: String,
        /// What was decided.
        decision: Decision,
        /// Why it may not run, in the user's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A tool printed something while it runs.
    ToolCallOutputDelta {
        /// The call.
        call_id: String,
        /// The new text.
        delta: String,
    },
    /// A tool call ended.
    ToolCallEnd {
        /// The call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// Whether it worked.
        ok: bool,
        /// The whole output, not truncated; its beginning where `output_cut` says so.
        output: String,
        /// The name under which the session's store keeps the whole output, if it is large.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_ref: Option<String>,
        /// Whether `output` was cut because its reader is far behind; `output_ref` has all of it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        output_cut: bool,
        /// The failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// How long it took.
        duration_ms: u64,
    },
    /// A file's visible text or its hunks changed.
    FileChanged {
        /// The file.
        path: FilePath,
        /// The workspace revision after the change.
        revision: u64,
        /// Hunks of this file that wait for a decision.
        pending_hunks: usize,
    },
    /// The canvas lease changed.
    CanvasLease {
        /// The file.
        path: FilePath,
        /// How.
        state: LeaseChange,
        /// The epoch after it.
        epoch: u64,
    },
    /// A subagent began to work.
    SubagentStart {
        /// Its id within the session.
        agent_id: String,
        /// Its task.
        task: String,
        /// The model it works with.
        model: String,
        /// The directory it may not leave.
        #[serde(skip_serializing_if = "Option::is_none")]
        working_dir: Option<String>,
    },
    /// Something happened in a subagent's own session. Pieces of its texts are left out, changes of files are events of
    /// the session itself.
    SubagentEvent {
        /// The subagent.
        agent_id: String,
        /// What happened.
        event: Box<EventKind>,
    },
    /// A subagent is done with what it was last told.
    SubagentEnd {
        /// The subagent.
        agent_id: String,
        /// Whether it did its task.
        status: AgentStatus,
        /// What it said last, or why it failed.
        output: String,
        /// Its answers so far.
        turns_used: u64,
    },
    /// A message of the user's was put into the conversation while the model works.
    SteeringInjected {
        /// The message.
        content: String,
    },
    /// A limit on rounds or turns was reached.
    TurnLimit {
        /// Tool rounds of this turn.
        rounds: u64,
        /// Answers of the whole session.
        total_turns: u64,
    },
    /// The model repeats itself and was told so.
    LoopDetection {
        /// What it was told.
        message: String,
    },
    /// Something worth knowing that stopped nothing.
    Warning {
        /// A stable code.
        code: &'static str,
        /// What it is.
        message: String,
    },
    /// The turn failed.
    Error(ErrorInfo),
}
