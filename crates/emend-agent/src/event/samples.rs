//! One event of each kind, with every field, as JavaScript gets it from the core.
//!
//! A test of the JavaScript package gives these events to its API. Names inside of values that belong to the user, such
//! as arguments and results, have underscores, which must stay.

use emend_llm::Usage;
use expect_test::expect_file;
use serde_json::json;

use super::{AgentStatus, BudgetKind, EndReason, ErrorInfo, Event, EventKind, LeaseChange, SessionState};
use crate::approval::{ApprovalRequest, Decision};
use crate::environment::FilePath;

fn usage() -> Usage {
    Usage {
        input_tokens: 3,
        output_tokens: 2,
        reasoning_tokens: Some(1),
        cache_read_tokens: Some(1),
        cache_write_tokens: Some(1),
        raw: Some(json!({ "users_key": 1 })),
    }
}

fn error() -> ErrorInfo {
    let state = json!({ "file_path": "a.md", "version": 2, "sha256": "00", "content": "text" });
    ErrorInfo {
        code: "stale",
        message: "old".to_owned(),
        suggestions: vec!["read the file".to_owned()],
        data: Some(json!({ "latest_file_state": state })),
    }
}

fn kinds() -> Vec<EventKind> {
    let text = || "text".to_owned();
    let users = || json!({ "users_key": { "users_key": [{ "users_key": 1 }] } });
    let call = || EventKind::ToolCallEnd {
        call_id: text(),
        tool_name: text(),
        ok: false,
        output: text(),
        output_ref: Some(text()),
        output_cut: true,
        data: users(),
        error: Some(text()),
        error_info: Some(error()),
        duration_ms: 1,
    };
    let path = || FilePath::clean("a.md").unwrap();
    vec![
        EventKind::SessionStart { model: text(), provider: text(), offline: true },
        EventKind::SessionEnd { state: SessionState::Closed },
        EventKind::UserInput { content: text() },
        EventKind::ProcessingEnd { reason: EndReason::TurnLimit, usage: usage() },
        EventKind::AssistantTextStart {},
        EventKind::AssistantTextDelta { delta: text() },
        EventKind::AssistantTextEnd { text: text(), reasoning: Some(text()) },
        EventKind::ReasoningStart {},
        EventKind::ReasoningDelta { delta: text() },
        EventKind::ReasoningEnd { text: text() },
        EventKind::ToolCallStart { call_id: text(), tool_name: text(), arguments: users() },
        EventKind::ApprovalRequested(ApprovalRequest {
            call_id: text(),
            tool_name: text(),
            arguments: users(),
            detail: json!({ "workingDir": "a" }),
        }),
        EventKind::ApprovalResolved { call_id: text(), decision: Decision::AllowedAlways, reason: Some(text()) },
        EventKind::ToolCallOutputDelta { call_id: text(), delta: text() },
        call(),
        EventKind::FileChanged { path: path(), revision: 1, pending_hunks: 1 },
        EventKind::CanvasLease { path: path(), state: LeaseChange::Held, epoch: 1 },
        EventKind::SubagentStart { agent_id: text(), task: text(), model: text(), working_dir: Some(text()) },
        EventKind::SubagentEvent { agent_id: text(), event: Box::new(call()) },
        EventKind::SubagentEnd { agent_id: text(), status: AgentStatus::Completed, output: text(), turns_used: 1 },
        EventKind::SteeringInjected { content: text() },
        EventKind::SteeringReturned { content: text() },
        EventKind::TurnLimit { round: 1, total_turns: 1 },
        EventKind::BudgetExceeded { budget: BudgetKind::CostUsd, limit: 1.5, used: 2.5 },
        EventKind::LoopDetection { message: text() },
        EventKind::Warning { code: "loop", message: text() },
        EventKind::Error(error()),
    ]
}

/// Returns the place of a kind among the samples. A new kind does not compile until it has one.
fn place(kind: &EventKind) -> usize {
    match kind {
        EventKind::SessionStart { .. } => 0,
        EventKind::SessionEnd { .. } => 1,
        EventKind::UserInput { .. } => 2,
        EventKind::ProcessingEnd { .. } => 3,
        EventKind::AssistantTextStart {} => 4,
        EventKind::AssistantTextDelta { .. } => 5,
        EventKind::AssistantTextEnd { .. } => 6,
        EventKind::ReasoningStart {} => 7,
        EventKind::ReasoningDelta { .. } => 8,
        EventKind::ReasoningEnd { .. } => 9,
        EventKind::ToolCallStart { .. } => 10,
        EventKind::ApprovalRequested(_) => 11,
        EventKind::ApprovalResolved { .. } => 12,
        EventKind::ToolCallOutputDelta { .. } => 13,
        EventKind::ToolCallEnd { .. } => 14,
        EventKind::FileChanged { .. } => 15,
        EventKind::CanvasLease { .. } => 16,
        EventKind::SubagentStart { .. } => 17,
        EventKind::SubagentEvent { .. } => 18,
        EventKind::SubagentEnd { .. } => 19,
        EventKind::SteeringInjected { .. } => 20,
        EventKind::SteeringReturned { .. } => 21,
        EventKind::TurnLimit { .. } => 22,
        EventKind::BudgetExceeded { .. } => 23,
        EventKind::LoopDetection { .. } => 24,
        EventKind::Warning { .. } => 25,
        EventKind::Error(_) => 26,
    }
}

mod host_tests {
    use super::*;

    #[test]
    fn the_samples_for_the_javascript_package_are_current() {
        let kinds = kinds();
        let places: Vec<usize> = kinds.iter().map(place).collect();
        assert_eq!(places, Vec::from_iter(0..kinds.len()));
        let event = |(index, kind)| Event { cursor: index as u64 + 1, ts: 1, session_id: "s".to_owned(), kind };
        let lines: String = kinds.into_iter().enumerate().map(|each| json!(event(each)).to_string() + "\n").collect();
        expect_file!["../../../../pkg/test/agent-events.jsonl"].assert_eq(&lines);
    }
}
