//! The approval desk of a session: the agent leaves a request, and the user's answer wakes it.

use std::collections::BTreeMap;

use emend_llm::BoxFuture;
use emend_llm::runtime::Mutex;
use futures::channel::oneshot;

use super::records::JobDecision;
use crate::approval::{Approval, ApprovalRequest, Approver};

/// Waits for answers to approval requests by the id of the tool call.
#[derive(Default)]
pub(super) struct Desk {
    waiting: Mutex<BTreeMap<String, Entry>>,
    /// Tools that edit, if one confirmation allows all edits of a run.
    editing_tools: Vec<String>,
    /// Whether the user confirmed an edit of the run.
    is_confirmed: Mutex<bool>,
}

enum Entry {
    Waits(oneshot::Sender<Approval>),
    /// The user was faster than the agent.
    Answered(Approval),
}

impl From<JobDecision> for Approval {
    fn from(decision: JobDecision) -> Self {
        match decision {
            JobDecision::Allow => Self::Allow,
            JobDecision::AllowAlways => Self::AllowAlways,
            JobDecision::Deny(reason) => Self::Deny { reason },
        }
    }
}

impl Desk {
    /// Returns a desk at which the first answer to an edit holds for all edits of the run.
    pub(super) fn confirming_once(editing_tools: Vec<String>) -> Self {
        Self { editing_tools, ..Self::default() }
    }

    /// Hands over an answer.
    pub(super) fn answer(&self, call_id: &str, approval: Approval) {
        let mut waiting = self.waiting.lock();
        match waiting.remove(call_id) {
            // The receiver is gone if the run was cancelled.
            Some(Entry::Waits(sender)) => drop(sender.send(approval)),
            _ => drop(waiting.insert(call_id.to_owned(), Entry::Answered(approval))),
        }
    }

    /// Hands over the answers that other servers got, as far as requests wait for them.
    pub(super) fn answer_open(&self, decisions: &BTreeMap<String, JobDecision>) {
        for (call_id, decision) in decisions {
            if matches!(self.waiting.lock().get(call_id), Some(Entry::Waits(_))) {
                self.answer(call_id, decision.clone().into());
            }
        }
    }

    /// Holds the confirmation of a call that an earlier process got for the run, if the call edits.
    pub(super) fn confirm(&self, tool: &str) {
        if self.editing_tools.iter().any(|name| name == tool) {
            *self.is_confirmed.lock() = true;
        }
    }

    /// Forgets requests and answers of an ended run.
    pub(super) fn clear(&self) {
        self.waiting.lock().clear();
        *self.is_confirmed.lock() = false;
    }
}

impl Approver for Desk {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let is_edit = self.editing_tools.contains(&request.tool_name);
            // A rule about certain files, such as those that programs run by themselves, asks about each of them.
            let is_about_paths = request.detail.get("paths").is_some();
            if is_edit && !is_about_paths && *self.is_confirmed.lock() {
                return Approval::Allow;
            }
            let approval = self.answer_to(request).await;
            if is_edit && matches!(approval, Approval::Allow | Approval::AllowAlways) {
                *self.is_confirmed.lock() = true;
            }
            approval
        })
    }
}

impl Desk {
    async fn answer_to(&self, request: &ApprovalRequest) -> Approval {
        let receiver = {
            let mut waiting = self.waiting.lock();
            if let Some(Entry::Answered(approval)) = waiting.remove(&request.call_id) {
                return approval;
            }
            let (sender, receiver) = oneshot::channel();
            waiting.insert(request.call_id.clone(), Entry::Waits(sender));
            receiver
        };
        let nobody = Approval::Deny { reason: Some("the run ended before the user answered".to_owned()) };
        receiver.await.unwrap_or(nobody)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::{Value, json};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_support::covers;

    #[test]
    fn a_confirmed_edit_confirms_others_except_those_that_a_rule_about_their_files_asks_about() {
        covers("approval.policy");
        let desk = Desk::confirming_once(vec!["edit_file".to_owned()]);
        let asked = |call_id: &str, detail: Value| {
            let (call_id, tool_name) = (call_id.to_owned(), "edit_file".to_owned());
            let request = ApprovalRequest { call_id, tool_name, arguments: Value::Null, detail };
            desk.approve(&request).now_or_never()
        };
        assert_eq!(asked("1", json!({ "fileDiff": "+a" })), None);
        desk.answer("2", Approval::Allow);
        assert_eq!(asked("2", json!({ "fileDiff": "+a" })), Some(Approval::Allow));
        assert_eq!(asked("3", json!({ "fileDiff": "+a" })), Some(Approval::Allow));
        assert_eq!(asked("4", json!({ "fileDiff": "+a", "paths": [".git/hooks/a"] })), None);
    }
}
