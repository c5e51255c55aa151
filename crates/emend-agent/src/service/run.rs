//! The run of a job: polls the agent, stores its events, and stores the outcome.

use emend_llm::{CancelToken, Shared, get_model_info};
use futures::StreamExt;
use serde_json::{Value, json};

use super::api::{ApiError, ApiResult};
use super::inner::Inner;
use super::live::Changes;
use super::records::{ErrorBody, JobRecord, JobStatus, OpenApproval, Question, SessionRecord, Spent};
use super::slot::{Agent, Slot};
use super::time::Timestamp;
use super::translate::translate;
use crate::error_code::Code;
use crate::event::{EndReason, Event, EventKind};
use crate::session::RunBudget;

/// Maximum number of events of the agent in one commit.
const EVENTS_PER_COMMIT: usize = 128;

/// Frees the run slot of a session however the driver ends.
pub(super) struct SlotGuard {
    pub(super) inner: Shared<Inner>,
    pub(super) slot: Shared<Slot>,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        *self.slot.running.lock() = None;
        let mut n_running = self.inner.n_running.lock();
        *n_running = n_running.saturating_sub(1);
        drop(n_running);
        self.inner.hub.notify();
    }
}

/// Returns the budget of the next run: that of the job, and what the session has left.
fn run_budget(session: &SessionRecord, job: &JobRecord) -> RunBudget {
    let left = |limit: u64, used: u64| if limit == 0 { 0 } else { limit.saturating_sub(used).max(1) };
    let least = |a: u64, b: u64| match (a, b) {
        (0, other) | (other, 0) => other,
        (a, b) => a.min(b),
    };
    let left_usd = |limit: f64, used: f64| if limit > 0.0 { (limit - used).max(f64::MIN_POSITIVE) } else { 0.0 };
    let costs = [
        left_usd(session.budget.cost_usd, session.spent.cost_usd),
        left_usd(session.job_budget.cost_usd, job.usage.cost_usd),
    ];
    RunBudget {
        tokens: least(
            left(session.budget.tokens, session.spent.total_tokens),
            left(session.job_budget.tokens, job.usage.total_tokens),
        ),
        cost_usd: costs.into_iter().filter(|cost| *cost > 0.0).reduce(f64::min).unwrap_or_default(),
        duration_ms: least(
            left(session.budget.duration_ms, session.spent.duration_ms),
            left(session.job_budget.duration_ms, job.usage.duration_ms),
        ),
    }
}

/// Runs the agent on a message of a job and stores the outcome.
pub(super) async fn run(inner: &Shared<Inner>, guard: SlotGuard, job_id: &str, message: String, cancel: CancelToken) {
    let outcome = drive(inner, job_id, &message, &cancel).await;
    let ended = match outcome {
        Ok(end) => finish(inner, job_id, end).await,
        Err(error) => fail(inner, job_id, error.body()).await,
    };
    // The slot is free before the end is visible to a client that starts the next job at once.
    drop(guard);
    // A store that fails leaves the job as it is; the next start or process ends it.
    drop(ended);
    inner.hub.notify();
}

/// The end of a run.
struct End {
    reason: EndReason,
    error: Option<ErrorBody>,
    question: Option<Question>,
    runs: Vec<u64>,
    answer: String,
    /// Time of the start in milliseconds.
    began: u64,
    /// Use that is stored already.
    stored: Spent,
}

async fn drive(inner: &Shared<Inner>, job_id: &str, message: &str, cancel: &CancelToken) -> ApiResult<End> {
    let job = inner.job(job_id).await?;
    let record = inner.session(&job.session_id).await?;
    let agent = inner.agent(&record).await?;
    let budget = run_budget(&record, &job);
    // A job can have several runs: the answer to a question and a re-run start another.
    let calls_left = match job.max_tool_calls {
        0 => 0,
        max => max.saturating_sub(job.n_tool_calls.saturating_sub(job.n_tool_calls_before)).max(1),
    };
    let max_schema_retries = inner.limits.max_schema_retries;
    agent.session.configure(|config| {
        config.run_budget = budget;
        config.max_tool_calls = calls_left;
        config.max_schema_retries = max_schema_retries;
    });
    let began = inner.clock.now_ms();
    let n_messages_before = agent.session.entries().len() as u64;
    note_canvas(inner, &agent).await;
    let mut run = agent.session.submit(message, cancel.clone())?.ready_chunks(EVENTS_PER_COMMIT);
    let mut end = End {
        reason: EndReason::Error,
        error: None,
        question: None,
        runs: Vec::new(),
        answer: String::new(),
        began,
        stored: Spent::default(),
    };
    let is_first = job.started_at.is_none();
    inner
        .change_job(job_id, |_, job, changes| {
            job.status = JobStatus::Running;
            if is_first {
                job.started_at = Some(inner.now());
                job.n_messages_before = n_messages_before;
                let checkpoint = format!("cp_{}", job.job_id.trim_start_matches("job_"));
                job.checkpoint_id = Some(checkpoint.clone());
                changes.event(job, "job.started", json!({ "instruction": job.instruction }));
                changes.event(job, "checkpoint.created", json!({ "checkpoint_id": checkpoint }));
            }
            Ok(())
        })
        .await?;
    let mut usage = Spent::default();
    while let Some(events) = run.next().await {
        note(&events, &mut end);
        for event in &events {
            if let EventKind::ProcessingEnd { usage: used, .. } = &event.kind {
                usage = spent(&agent, used, inner.clock.now_ms().saturating_sub(began));
            }
        }
        store_events(inner, job_id, &agent, &events, &mut end).await?;
    }
    note_canvas(inner, &agent).await;
    agent.desk.clear();
    if end.error.as_ref().is_some_and(|error| error.data["limit"] == "tool_calls") {
        let detail = format!("job {job_id} used up its tool calls");
        inner.host.escalate(&record.session_id, &detail);
    }
    // The usage of the whole run also counts calls that failed.
    let rest = usage.beyond(&end.stored);
    inner
        .change_job(job_id, |session, job, _| {
            session.spent.add(&rest);
            job.usage.add(&rest);
            Ok(())
        })
        .await?;
    Ok(end)
}

/// Tells the model about the change of the canvas since the last time: by the user before a message, by the agent after
/// its turn.
async fn note_canvas(inner: &Inner, agent: &Agent) {
    let Some(notes) = &agent.notes else { return };
    if let Some(text) = notes.update(&inner.workspace).await {
        // A session that has closed gets no messages.
        let _ = agent.session.note(&text);
    }
}

fn spent(agent: &Agent, usage: &emend_llm::Usage, duration_ms: u64) -> Spent {
    let model = agent.session.model();
    Spent {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens(),
        cost_usd: get_model_info(&model).and_then(|info| info.cost_usd(usage)).unwrap_or_default(),
        duration_ms,
    }
}

/// Collects what the end of the job depends on.
fn note(events: &[Event], end: &mut End) {
    for event in events {
        match &event.kind {
            EventKind::ProcessingEnd { reason, .. } => end.reason = *reason,
            EventKind::AssistantTextEnd { text, .. } => end.answer.clone_from(text),
            EventKind::Error(error) => {
                end.error = Some(ErrorBody {
                    code: error.code.to_owned(),
                    message: error.message.clone(),
                    suggestions: error.suggestions.clone(),
                    data: error.data.clone().unwrap_or_default(),
                });
            }
            EventKind::ToolCallEnd { ok: true, data, .. } if data.get("question").is_some_and(Value::is_string) => {
                end.question = Some(Question {
                    question_id: String::new(),
                    question: data["question"].as_str().unwrap_or_default().to_owned(),
                    options: serde_json::from_value(data["options"].clone()).unwrap_or_default(),
                    fields: data.get("fields").cloned().unwrap_or_default(),
                });
            }
            EventKind::BudgetExceeded { budget, limit, .. } => {
                let name = serde_json::to_value(budget).unwrap_or_default();
                let message = format!("the budget of {} is used up", name.as_str().unwrap_or("the job"));
                let data = json!({ "limit": name, "max": limit });
                let code = Code::LimitReached.as_str().to_owned();
                end.error = Some(ErrorBody { code, message, suggestions: Vec::new(), data });
            }
            _ => {}
        }
    }
}

/// Stores events of the agent, and the states that follow from them.
async fn store_events(inner: &Inner, job_id: &str, agent: &Agent, events: &[Event], end: &mut End) -> ApiResult<()> {
    let run_id = agent.session.last_run();
    inner
        .change_job(job_id, |session, job, changes| {
            if run_id > 0 && !job.runs.contains(&run_id) {
                job.runs.push(run_id);
            }
            end.runs.clone_from(&job.runs);
            for route in agent.routes.take() {
                changes.event(job, "provider.selected", serde_json::to_value(route).unwrap_or_default());
            }
            let mut used = Spent::default();
            for (step, usage) in agent.steps.take() {
                changes.event(job, "provider.step", step.event_data());
                used.add(&spent(agent, &usage, 0));
            }
            // A job that waits for the user shows its usage so far.
            used.duration_ms = inner.clock.now_ms().saturating_sub(end.began + end.stored.duration_ms);
            end.stored.add(&used);
            session.spent.add(&used);
            job.usage.add(&used);
            for event in events {
                let Some((kind, data)) = translate(&event.kind) else { continue };
                match kind {
                    "tool.call.requested" => {
                        job.n_tool_calls += 1;
                        note_rationales(job, &data);
                    }
                    "approval.requested" => {
                        job.approvals.push(open_approval(&data));
                        job.status = JobStatus::WaitingForUser;
                    }
                    "approval.resolved" => {
                        let id = data["tool_call_id"].as_str().unwrap_or_default();
                        job.approvals.retain(|open| open.tool_call_id != id);
                        if job.approvals.is_empty() {
                            job.status = JobStatus::Running;
                        }
                    }
                    "message.completed" => {
                        changes.text.push_str(data["text"].as_str().unwrap_or_default());
                        changes.text.push('\n');
                    }
                    _ => {}
                }
                changes.event(job, kind, data);
            }
            Ok(())
        })
        .await?;
    Ok(())
}

/// Keeps the reasons of a `propose_edits` call. The workspace names its edits `CALL/EDIT`.
fn note_rationales(job: &mut JobRecord, call: &Value) {
    let id = call["tool_call_id"].as_str().unwrap_or_default();
    for edit in call["arguments"]["edits"].as_array().into_iter().flatten() {
        if let (Some(name), Some(rationale)) = (edit["edit_id"].as_str(), edit["rationale"].as_str()) {
            job.rationales.insert(format!("{id}/{name}"), rationale.to_owned());
        }
    }
}

fn open_approval(data: &Value) -> OpenApproval {
    OpenApproval {
        tool_call_id: data["tool_call_id"].as_str().unwrap_or_default().to_owned(),
        tool: data["tool"].as_str().unwrap_or_default().to_owned(),
        arguments: data["arguments"].clone(),
        detail: data["detail"].clone(),
    }
}

/// Stores the end of a run: the job waits for the user, awaits review, or ends.
async fn finish(inner: &Shared<Inner>, job_id: &str, end: End) -> ApiResult<()> {
    let pending = inner.workspace.runs_with_pending();
    let revision = inner.workspace.revision();
    let has_pending = end.runs.iter().any(|run| pending.contains(run));
    let files = if has_pending { inner.pending_files(&end.runs) } else { Vec::new() };
    let now = inner.now();
    inner
        .change_job(job_id, |_, job, changes| {
            job.approvals.clear();
            job.answer.clone_from(&end.answer);
            if let (EndReason::AwaitingInput, Some(question)) = (end.reason, end.question) {
                job.n_questions += 1;
                let question = Question { question_id: format!("q_{}", job.n_questions), ..question };
                changes.event(job, "clarification.requested", serde_json::to_value(&question).unwrap_or_default());
                job.question = Some(question);
                job.status = JobStatus::WaitingForUser;
                return Ok(());
            }
            if has_pending {
                job.review_revision = Some(revision);
                job.reviewed_at = Some(now);
                if job.is_rerunning {
                    changes.event(job, "rerun.completed", json!({ "n_reruns": job.n_reruns }));
                }
                changes.event(job, "edits.proposed", json!({ "files": files }));
                changes.event(job, "diff.generated", json!({ "files": files, "review_revision": revision }));
            }
            job.is_rerunning = false;
            match end.reason {
                EndReason::Natural | EndReason::AwaitingInput if has_pending => job.status = JobStatus::AwaitingReview,
                EndReason::Natural | EndReason::AwaitingInput => complete(job, changes, now),
                EndReason::Aborted => {
                    let error = (*inner.is_closing.lock()).then(shut_down);
                    end_with(job, changes, JobStatus::Cancelled, now, error);
                }
                reason => {
                    let error = end.error.unwrap_or_else(|| error_of(reason));
                    end_with(job, changes, JobStatus::Failed, now, Some(error));
                }
            }
            Ok(())
        })
        .await?;
    Ok(())
}

/// Returns the reason of a job that ended with the service.
fn shut_down() -> ErrorBody {
    let message = "the service shut down during this job; its edits so far are in review";
    ApiError::new(Code::Aborted, message).body()
}

fn error_of(reason: EndReason) -> ErrorBody {
    let (code, message) = match reason {
        EndReason::TurnLimit => (Code::LimitReached, "the limit on rounds was reached"),
        EndReason::Budget => (Code::LimitReached, "the budget is used up"),
        EndReason::ContextLength => (Code::ContextLength, "the conversation exceeds the model's context window"),
        _ => (Code::Internal, "the run ended without a reason"),
    };
    ApiError::new(code, message).body()
}

/// Ends a job as completed.
pub(super) fn complete(job: &mut JobRecord, changes: &mut Changes, now: Timestamp) {
    end_with(job, changes, JobStatus::Completed, now, None);
}

/// Ends a job: sets its status and adds its only terminal event.
pub(super) fn end_with(
    job: &mut JobRecord,
    changes: &mut Changes,
    status: JobStatus,
    now: Timestamp,
    error: Option<ErrorBody>,
) {
    if job.status.is_terminal() {
        return;
    }
    job.status = status;
    job.finished_at = Some(now);
    job.question = None;
    job.approvals.clear();
    let mut data = json!({ "usage": job.usage, "answer": job.answer });
    if let Some(error) = &error {
        data["error"] = serde_json::to_value(error).unwrap_or_default();
    }
    job.error = error;
    changes.event(job, &format!("job.{}", status.name()), data);
}

pub(super) async fn fail(inner: &Inner, job_id: &str, error: ErrorBody) -> ApiResult<()> {
    let now = inner.now();
    inner
        .change_job(job_id, |_, job, changes| {
            end_with(job, changes, JobStatus::Failed, now, Some(error));
            Ok(())
        })
        .await?;
    Ok(())
}
