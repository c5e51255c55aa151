//! Messages of the user to a running job. The record of the job keeps them until the model, or the user again, has got them,
//! so a process that goes on with the job passes them on.

use emend_llm::Shared;
use emend_llm::runtime::Mutex;
use serde_json::Value;

use super::api::{ApiError, ApiResult};
use super::changes::Changes;
use super::records::JobRecord;
use super::slot::Agent;
use crate::error_code::Code;
use crate::history::HistoryEntryKind;

/// The messages of the record that the agent of this process has.
#[derive(Clone, Default)]
pub(super) struct Passed(Shared<Mutex<Vec<String>>>);

impl Passed {
    /// Passes on the messages of the record that the agent does not have. Before the run begins, the agent may still be
    /// another one: the beginning passes them on.
    pub(super) fn pass_on(&self, agent: &Agent, job: &JobRecord) {
        if job.started_at.is_none() {
            return;
        }
        let mut passed = self.0.lock();
        let mut known = passed.clone();
        for text in &job.control.steering {
            // A session that has closed gets no messages.
            if !remove(&mut known, text) && agent.session.steer(text).is_ok() {
                passed.push(text.clone());
            }
        }
    }

    /// Counts the messages that the conversation of a job shows as passed: an earlier process gave them to the model, and was
    /// killed before the record had that.
    pub(super) fn know_given(&self, agent: &Agent, job: &JobRecord) {
        let entries = agent.session.entries();
        let given = entries.iter().skip(job.n_messages_before as usize);
        let mut kept = job.control.steering.clone();
        let given = given.filter(|entry| entry.kind == HistoryEntryKind::Steering).map(|entry| entry.message.text());
        self.0.lock().extend(given.filter(|text| remove(&mut kept, text)));
    }

    /// Forgets a message if an event says that the model, or the user again, has got it.
    pub(super) fn note(&self, job: &mut JobRecord, kind: &str, data: &Value) {
        if !matches!(kind, "message.steered" | "message.returned") {
            return;
        }
        let text = data["text"].as_str().unwrap_or_default();
        remove(&mut job.control.steering, text);
        remove(&mut self.0.lock(), text);
    }
}

/// Removes the first text that is equal. Returns whether there was one.
fn remove(texts: &mut Vec<String>, text: &str) -> bool {
    let at = texts.iter().position(|known| known == text);
    at.map(|at| texts.remove(at)).is_some()
}

/// Keeps a message in the record of a running job.
pub(super) fn keep(job: &mut JobRecord, changes: &mut Changes, text: &str) -> ApiResult<()> {
    if !job.status.holds_slot() {
        return Err(not_running());
    }
    job.control.steering.push(text.to_owned());
    changes.text = format!("{text}\n");
    Ok(())
}

/// Returns the error of a message to a job that does not run.
pub(super) fn not_running() -> ApiError {
    ApiError::new(Code::Conflict, "the job is not running; start another or queue a follow-up")
}
