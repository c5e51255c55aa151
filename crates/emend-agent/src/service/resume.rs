//! The place from which a run goes on: its message, the events that are stored already, and the open question.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::{ApiError, ApiResult};
use super::changes::Changes;
use super::inner::Inner;
use super::recorder::Recorder;
use super::records::{EventRecord, JobRecord, OpenApproval, Question};
use super::store::EventScope;
use crate::approval::Decision;
use crate::error_code::Code;
use crate::session::StepKeeper as _;

/// Number of events of one read.
const PAGE: usize = 1_000;

/// A message for the agent, as the step `input:<n>` records it.
#[derive(Serialize, Deserialize)]
pub(super) struct Input {
    pub(super) message: String,
    /// Number of entries of the conversation before it.
    pub(super) n_entries: usize,
    /// Number of runs of the job before it.
    pub(super) n_runs: usize,
}

/// The way in which a run begins.
pub(super) enum Begin {
    /// With a new message, the step of this name.
    New { step: String, message: String },
    /// With a message that the conversation does not have yet, although its step is recorded.
    Repeat { message: String },
    /// After the last entry of the conversation.
    Again { run_id: Option<u64> },
}

impl Begin {
    /// Decides from the recorded steps and the length of the conversation.
    pub(super) fn of(job: &JobRecord, recorder: &Recorder, n_entries: usize) -> ApiResult<Self> {
        let step = |n: usize| format!("input:{n}");
        let n_inputs = (1..).take_while(|n| recorder.recorded(&step(*n)).is_some()).count();
        if let Some(message) = &job.control.input {
            return Ok(Self::New { step: step(n_inputs + 1), message: message.clone() });
        }
        let last = recorder.recorded(&step(n_inputs)).and_then(|input| serde_json::from_value(input).ok());
        let last: Input = last.ok_or_else(|| ApiError::new(Code::Internal, "the job has no message"))?;
        if n_entries > last.n_entries {
            let run_id = job.runs.last().copied().filter(|_| job.runs.len() > last.n_runs);
            Ok(Self::Again { run_id })
        } else {
            Ok(Self::Repeat { message: last.message })
        }
    }
}

/// The stored events of a job, as far as a process that goes on with it must know them.
#[derive(Default)]
pub(super) struct Told {
    /// Events about tool calls, by type and id of the call.
    calls: BTreeSet<(String, String)>,
    /// The tools of the calls that the user was asked about, by id of the call.
    asked: BTreeMap<String, String>,
    /// The question of a call, if the user has not answered it.
    pub(super) question: Option<Question>,
    /// Text of the last answer of the model.
    pub(super) answer: String,
    /// Whether the provider of the last run is told.
    pub(super) has_provider: bool,
}

impl Told {
    /// Reads the events of a job.
    pub(super) async fn of(inner: &Inner, job: &JobRecord) -> ApiResult<Self> {
        let (scope, mut after, mut told) = (EventScope::Job(job.job_id.clone()), 0, Self::default());
        loop {
            let page = inner.store.events(&scope, after, PAGE).await?;
            let Some(last) = page.events.last() else { break };
            after = last.cursor;
            page.events.iter().for_each(|event| told.take(event));
        }
        // A decision that no record keeps is lost with the process that got it: the user is asked again.
        let is_lost = |id: &String| {
            let is_open = job.approvals.iter().any(|open| open.tool_call_id == *id);
            !is_open && !job.control.decisions.contains_key(id)
        };
        told.calls.retain(|(kind, id)| !kind.starts_with("approval.") || !is_lost(id));
        Ok(told)
    }

    fn take(&mut self, event: &EventRecord) {
        match event.kind.as_str() {
            "message.completed" => event.data["text"].as_str().unwrap_or_default().clone_into(&mut self.answer),
            "clarification.received" => (self.question, self.has_provider) = (None, false),
            "rerun.started" => self.has_provider = false,
            "provider.selected" => self.has_provider = true,
            "approval.requested" => {
                let field = |name: &str| event.data[name].as_str().unwrap_or_default().to_owned();
                self.asked.insert(field("tool_call_id"), field("tool"));
            }
            "tool.call.completed" if event.data["ok"] == true => {
                self.question = question_of(&event.data["result"]).or(self.question.take());
            }
            _ => {}
        }
        if let Some(id) = call_of(&event.kind, &event.data) {
            self.calls.insert((event.kind.clone(), id.to_owned()));
        }
    }

    /// Returns the tool of a call that the user was asked about.
    pub(super) fn tool_of(&self, call_id: &str) -> Option<&str> {
        self.asked.get(call_id).map(String::as_str)
    }

    /// Returns the number of calls that are counted already, and that are carried out again because their results are not
    /// stored.
    pub(super) fn n_repeated(&self) -> u64 {
        let is_done = |id: &String| self.calls.contains(&("tool.call.completed".to_owned(), id.clone()));
        let requested = self.calls.iter().filter(|(kind, _)| kind == "tool.call.requested");
        requested.filter(|(_, id)| !is_done(id)).count() as u64
    }

    /// Closes the requests of subagents, which ended with their process. Only the calls of the agent itself are told as
    /// requested.
    pub(super) fn close_lost(&self, job: &mut JobRecord, changes: &mut Changes) {
        let is_own = |id: &String| self.calls.contains(&("tool.call.requested".to_owned(), id.clone()));
        let (open, lost): (Vec<_>, Vec<_>) =
            std::mem::take(&mut job.approvals).into_iter().partition(|open| is_own(&open.tool_call_id));
        job.approvals = open;
        for OpenApproval { tool_call_id, .. } in lost {
            let data = json!({ "tool_call_id": tool_call_id, "decision": Decision::Aborted, "reason": null });
            changes.event(job, "approval.resolved", data);
        }
    }

    /// Returns whether an event is stored already.
    pub(super) fn has(&self, kind: &str, data: &Value) -> bool {
        !self.calls.is_empty()
            && call_of(kind, data).is_some_and(|id| self.calls.contains(&(kind.to_owned(), id.to_owned())))
    }
}

/// Returns the id of the call that an event is about, for events of which a call has one.
fn call_of<'a>(kind: &str, data: &'a Value) -> Option<&'a str> {
    let is_about_call =
        matches!(kind, "tool.call.requested" | "tool.call.completed" | "approval.requested" | "approval.resolved");
    data["tool_call_id"].as_str().filter(|_| is_about_call)
}

/// Returns the question in the result of a tool.
pub(super) fn question_of(data: &Value) -> Option<Question> {
    let question = data.get("question")?.as_str()?.to_owned();
    Some(Question {
        question_id: String::new(),
        question,
        options: serde_json::from_value(data["options"].clone()).unwrap_or_default(),
        fields: data.get("fields").cloned().unwrap_or_default(),
    })
}
