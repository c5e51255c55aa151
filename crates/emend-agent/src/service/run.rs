//! The run of a job: polls the agent, stores its events, and stores the outcome.

use std::collections::BTreeMap;

use emend_llm::{Shared, get_model_info};
use futures::future::{Either, select};
use serde_json::{Value, json};

use super::api::{ApiError, ApiResult};
use super::changes::Changes;
use super::ending::{complete, end_with, error_of, shut_down, used_limit};
use super::inner::Inner;
use super::recorder::{Recorder, Waiting};
use super::records::{ErrorBody, JobControl, JobRecord, JobStatus, OpenApproval, Question, SessionRecord, Spent};
use super::resume::{Begin, Input, Told, question_of};
use super::slot::Agent;
use super::store::WorkChange;
use super::task::Task;
use super::text::of_escalation;
use super::translate::translate;
use crate::approval::Approval;
use crate::error_code::Code;
use crate::event::{EndReason, Event, EventKind};
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::session::{Run, RunBudget, StepKeeper};

/// Attempts after which a job that always fails for a reason of its server is given up.
const ATTEMPTS_MAX: u64 = 100;

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

/// Runs the agent on the next message of a job, or goes on with it, and stores the outcome.
pub(super) async fn run(inner: &Shared<Inner>, task: Task) {
    let outcome = loop {
        match drive(inner, &task).await {
            Ok(Outcome::Again) => {}
            outcome => break outcome,
        }
    };
    let ended = match outcome {
        // A server that lost the job has continued the conversation; the next one reads it again.
        Ok(Outcome::Ended(end)) if task.is_shared && end.is_overtaken() && task.claim.attempt < ATTEMPTS_MAX => Ok(()),
        Ok(Outcome::Ended(end)) => finish(inner, &task, *end).await,
        Ok(Outcome::Left | Outcome::Again) => Ok(()),
        Ok(Outcome::Over) => end_work(inner, &task).await,
        // The queue gives the job to another server, or to this one again, once the claim has ended.
        Err(error) if task.is_shared && is_of_server(&error) && task.claim.attempt < ATTEMPTS_MAX => Ok(()),
        Err(error) => fail(inner, &task.job_id, Some(&task), error.body()).await,
    };
    if let Some(jobs) = inner.shared_jobs() {
        *task.slot.agent.lock() = None;
        if *inner.is_closing.lock() {
            // Another server need not wait for the end of the claim. A claim that is over is left as it is.
            drop(jobs.release(&task.claim).await);
        }
    }
    // The slot is free before the end is visible to a client that starts the next job at once.
    drop(task);
    // A store that fails leaves the job as it is; the next start or process ends it.
    drop(ended);
    inner.hub.notify();
}

/// Returns whether an error is one of the server, and another server may succeed.
fn is_of_server(error: &ApiError) -> bool {
    matches!(error.code, Code::IoError | Code::Conflict | Code::Busy)
}

/// The outcome of the work of this process.
enum Outcome {
    Ended(Box<End>),
    /// Another process goes on: this one lost the job, or the job waits for the user.
    Left,
    /// The second model of a router goes on.
    Again,
    /// The job had ended before.
    Over,
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

impl End {
    /// Returns whether another process has continued the conversation meanwhile.
    fn is_overtaken(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.code == Code::Conflict.as_str())
    }
}

/// An opened job.
struct Opened {
    job: JobRecord,
    agent: Agent,
    recorder: Shared<Recorder>,
    begin: Begin,
    told: Told,
}

async fn open(inner: &Shared<Inner>, task: &Task) -> ApiResult<Option<Opened>> {
    let job = inner.job(&task.job_id).await?;
    let has_work = job.status.holds_slot() && (job.question.is_none() || job.control.input.is_some());
    if task.is_shared && (!has_work || job.control.is_cancelled) {
        return Ok(None);
    }
    let record = inner.session(&job.session_id).await?;
    let known = match inner.recorded_jobs() {
        Some(jobs) => jobs.recorded(&task.claim).await?,
        None => Vec::new(),
    };
    let recorder = Shared::new(Recorder::new(known, inner.limits.max_events_per_job));
    let agent = inner.agent_under(&record, Some(&task.claim)).await?;
    let begin = Begin::of(&job, &recorder, agent.session.entries().len())?;
    let told = match &begin {
        Begin::New { .. } => Told::default(),
        Begin::Repeat { .. } | Begin::Again { .. } => Told::of(inner, &job).await?,
    };
    let budget = run_budget(&record, &job);
    // A job can have several runs: the answer to a question and a re-run start another.
    let calls_left = match job.max_tool_calls {
        0 => 0,
        max => {
            let n_done = job.n_tool_calls.saturating_sub(job.n_tool_calls_before + told.n_repeated());
            max.saturating_sub(n_done).max(1)
        }
    };
    // The lower limit holds; 0 stands for none.
    let lower = |one: u64, other: u64| if one == 0 || other == 0 { one.max(other) } else { one.min(other) };
    let calls_left = lower(calls_left, agent.host_limits.0);
    let max_schema_retries = lower(inner.limits.max_schema_retries, agent.host_limits.1);
    agent.session.configure(|config| {
        config.run_budget = budget;
        config.max_tool_calls = calls_left;
        config.max_schema_retries = max_schema_retries;
    });
    for (call_id, decision) in &job.control.decisions {
        let approval = Approval::from(decision.clone());
        if !matches!(approval, Approval::Deny { .. }) {
            agent.desk.confirm(told.tool_of(call_id).unwrap_or_default());
        }
        agent.desk.answer(call_id, approval);
    }
    let keeper = inner.recorded_jobs().is_some().then(|| Shared::clone(&recorder) as Shared<dyn StepKeeper>);
    agent.session.keep_steps(keeper);
    Ok(Some(Opened { job, agent, recorder, begin, told }))
}

/// Starts the run and stores its beginning.
async fn begin(inner: &Shared<Inner>, task: &Task, opened: &Opened) -> ApiResult<Run> {
    let Opened { job, agent, recorder, begin, .. } = opened;
    // Only before a new message: a message that is repeated has the note of its first time before it.
    let told_canvas = match begin {
        Begin::New { .. } => note_canvas_durably(inner, agent).await?,
        Begin::Repeat { .. } | Begin::Again { .. } => None,
    };
    let n_messages_before = agent.session.entries().len() as u64;
    let input = match begin {
        Begin::New { step, message } => {
            let (message, n_runs) = (message.clone(), job.runs.len());
            let input = Input { message, n_entries: n_messages_before as usize, n_runs };
            Some((step.clone(), serde_json::to_value(input).unwrap_or_default()))
        }
        _ => None,
    };
    if !opened.told.has_provider {
        agent.routes.begin();
    }
    let run = match begin {
        Begin::New { message, .. } | Begin::Repeat { message } => agent.session.submit(message, task.cancel.clone())?,
        Begin::Again { run_id } => {
            let run_id = match run_id {
                Some(run_id) => *run_id,
                None => inner.workspace.begin_shared_run().await?,
            };
            agent.session.continue_run(run_id, task.cancel.clone())?
        }
    };
    let is_first = job.started_at.is_none();
    inner
        .change_job(&task.job_id, |session, job, changes| {
            task.check(job)?;
            if let Some(told) = told_canvas {
                session.told_canvas = told;
            }
            if task.is_shared && input.is_none() {
                opened.told.close_lost(job, changes);
            }
            job.status = if job.approvals.is_empty() { JobStatus::Running } else { JobStatus::WaitingForUser };
            job.control.waits_for = None;
            if is_first {
                job.started_at = Some(inner.now());
                job.n_messages_before = n_messages_before;
                let checkpoint = format!("cp_{}", job.job_id.trim_start_matches("job_"));
                job.checkpoint_id = Some(checkpoint.clone());
                changes.event(job, "job.started", json!({ "instruction": job.instruction }));
                changes.event(job, "checkpoint.created", json!({ "checkpoint_id": checkpoint }));
            } else if input.is_none() && job.control.decisions.is_empty() {
                changes.event(job, "job.resumed", json!({ "attempt": task.claim.attempt }));
            }
            changes.work = task.work(&[], None);
            if let (Some(input), Some(work)) = (&input, &mut changes.work) {
                job.control.input = None;
                work.steps.push(input.clone());
            }
            Ok(())
        })
        .await?;
    if let Some((step, input)) = input {
        recorder.know(step, input);
    }
    Ok(run)
}

async fn drive(inner: &Shared<Inner>, task: &Task) -> ApiResult<Outcome> {
    let Some(opened) = open(inner, task).await? else { return Ok(Outcome::Over) };
    let mut run = begin(inner, task, &opened).await?;
    let Opened { job, agent, recorder, told, begin } = opened;
    if !matches!(begin, Begin::New { .. }) {
        task.passed.know_given(&agent, &job);
    }
    task.passed.pass_on(&agent, &inner.job(&task.job_id).await?);
    let began = inner.clock.now_ms();
    let mut end = End {
        reason: EndReason::Error,
        error: None,
        question: told.question.clone(),
        runs: job.runs.clone(),
        answer: told.answer.clone(),
        began,
        stored: Spent::default(),
    };
    let mut usage = Spent::default();
    loop {
        let batch = Box::pin(recorder.next_batch(&mut run, &*inner.clock));
        let Either::Left((batch, _)) = select(batch, task.lost.cancelled()).await else { return Ok(Outcome::Left) };
        let Some((events, steps)) = batch else { break };
        note(&events, &mut end);
        for event in &events {
            if let EventKind::ProcessingEnd { usage: used, .. } = &event.kind {
                usage = spent(&agent, used, inner.clock.now_ms().saturating_sub(began));
            }
        }
        let waits = store_events(inner, task, &agent, Batch { events: &events, steps: &steps, told: &told }, &mut end);
        if waits.await? {
            return Ok(Outcome::Left);
        }
        recorder.stored(steps);
    }
    note_canvas(inner, &agent).await;
    agent.session.keep_steps(None);
    agent.desk.clear();
    let mut goes_on = false;
    if end.error.as_ref().is_some_and(|error| error.data["limit"] == "tool_calls") {
        #[cfg(not(target_family = "wasm"))]
        inner.refresh().await?;
        let detail = format!("job {} used up its tool calls", task.job_id);
        let has_edits = inner.workspace.runs().iter().any(|run| end.runs.contains(&run.run_id));
        goes_on = inner.host.escalate(&job.session_id, &detail) && !has_edits;
    }
    // The usage of the whole run also counts calls that failed.
    let rest = usage.beyond(&end.stored);
    inner
        .change_job(&task.job_id, |session, job, changes| {
            task.check(job)?;
            changes.work = task.work(&[], None);
            session.spent.add(&rest);
            job.usage.add(&rest);
            if goes_on {
                job.n_tool_calls_before = job.n_tool_calls;
                job.control.input = Some(of_escalation(&job.instruction));
            }
            Ok(())
        })
        .await?;
    Ok(if goes_on { Outcome::Again } else { Outcome::Ended(Box::new(end)) })
}

/// Ends the work on a job that needs none: it has ended, or the user cancelled it before its run went on.
async fn end_work(inner: &Inner, task: &Task) -> ApiResult<()> {
    let now = inner.now();
    inner
        .change_job(&task.job_id, |_, job, changes| {
            if job.control.is_cancelled && job.status.holds_slot() {
                end_with(job, changes, JobStatus::Cancelled, now, None);
            }
            changes.work = task.end(job);
            Ok(())
        })
        .await?;
    Ok(())
}

/// Tells the model about the change of the canvas since the last time: by the user before a message, by the agent after
/// its turn.
async fn note_canvas(inner: &Inner, agent: &Agent) {
    let Some(notes) = &agent.notes else { return };
    let Some(text) = notes.update(&inner.workspace).await else { return };
    // A process that was killed before it could store what the model knows has saved this note.
    let is_last = |entry: &HistoryEntry| entry.kind == HistoryEntryKind::Hidden && entry.message.text() == text;
    if !agent.session.entries().last().is_some_and(is_last) {
        // A session that has closed gets no messages.
        let _ = agent.session.note(&text);
    }
}

/// Tells the model about the change of the canvas, and returns the text that the model then knows. The notes so far are
/// saved, so the text may be stored.
async fn note_canvas_durably(inner: &Inner, agent: &Agent) -> ApiResult<Option<BTreeMap<String, String>>> {
    let Some(notes) = &agent.notes else { return Ok(None) };
    #[cfg(not(target_family = "wasm"))]
    inner.refresh().await?;
    note_canvas(inner, agent).await;
    agent.session.save().await;
    Ok(Some(notes.known()))
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
            EventKind::ToolCallEnd { ok: true, data, .. } => {
                end.question = question_of(data).or(end.question.take());
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

/// Events of a run, and steps that are stored with them.
struct Batch<'a> {
    events: &'a [Event],
    steps: &'a [Waiting],
    told: &'a Told,
}

/// Stores events of the agent, and the states that follow from them. Returns whether the job waits for the user without
/// this process.
async fn store_events(inner: &Inner, task: &Task, agent: &Agent, batch: Batch<'_>, end: &mut End) -> ApiResult<bool> {
    let run_id = agent.session.last_run();
    let (waits, _) = inner
        .change_job(&task.job_id, |session, job, changes| {
            task.check(job)?;
            if run_id > 0 && !job.runs.contains(&run_id) {
                job.runs.push(run_id);
            }
            end.runs.clone_from(&job.runs);
            // Stored with the event that tells the decision, so that no server asks again.
            let mut granted = agent.session.grants();
            granted.retain(|grant| !session.grants.contains(grant));
            session.grants.append(&mut granted);
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
            for event in batch.events {
                let Some((kind, data)) = translate(&event.kind) else { continue };
                if !batch.told.has(kind, &data) {
                    task.passed.note(job, kind, &data);
                    take_event(job, changes, kind, data);
                }
            }
            let mut change = None;
            if task.is_shared && !job.approvals.is_empty() && !agent.is_bound() {
                change = Some(wait_for_user(job));
            }
            let waits = change.is_some();
            // Steps after the request are carried out again.
            changes.work = task.work(if waits { &[] } else { batch.steps }, change);
            Ok(waits)
        })
        .await?;
    Ok(waits)
}

/// Lets a job wait for an answer that no server waits for.
fn wait_for_user(job: &mut JobRecord) -> WorkChange {
    job.control.n_waits += 1;
    let answer = format!("{}:{}", job.job_id, job.control.n_waits);
    job.control.waits_for = Some(answer.clone());
    WorkChange::Wait { answer }
}

/// Adds an event of the agent, and changes the job with it.
fn take_event(job: &mut JobRecord, changes: &mut Changes, kind: &str, data: Value) {
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

/// Keeps the reasons of a `propose_edits` call. The workspace names its edits `CALL/EDIT`.
fn note_rationales(job: &mut JobRecord, call: &Value) {
    let id = call["tool_call_id"].as_str().unwrap_or_default();
    for (n, edit) in (1..).zip(call["arguments"]["edits"].as_array().into_iter().flatten()) {
        if let Some(rationale) = edit["rationale"].as_str() {
            // As `propose_edits` names an edit without a name.
            let name = edit["edit_id"].as_str().map_or_else(|| format!("e_{n}"), str::to_owned);
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
async fn finish(inner: &Shared<Inner>, task: &Task, end: End) -> ApiResult<()> {
    #[cfg(not(target_family = "wasm"))]
    inner.refresh().await?;
    let pending = inner.workspace.runs_with_pending();
    let revision = inner.workspace.revision();
    let has_pending = end.runs.iter().any(|run| pending.contains(run));
    let files = if has_pending { inner.pending_files(&end.runs) } else { Vec::new() };
    let now = inner.now();
    inner
        .change_job(&task.job_id, |session, job, changes| {
            task.check(job)?;
            job.approvals.clear();
            let JobControl { n_waits, is_cancelled, steering, .. } = std::mem::take(&mut job.control);
            job.control = JobControl { n_waits, ..JobControl::default() };
            job.answer.clone_from(&end.answer);
            let mut reason = end.reason;
            if is_cancelled && reason == EndReason::AwaitingInput {
                // The user cancelled through another server before the question was stored.
                reason = EndReason::Aborted;
            }
            let question = end.question.filter(|_| reason == EndReason::AwaitingInput);
            let limit = question.as_ref().and_then(|_| used_limit(session, job));
            if let (Some(question), None) = (question, &limit) {
                job.control.steering = steering;
                job.n_questions += 1;
                let question = Question { question_id: format!("q_{}", job.n_questions), ..question };
                changes.text = format!("{}\n{}\n", question.question, question.options.join("\n"));
                changes.event(job, "clarification.requested", serde_json::to_value(&question).unwrap_or_default());
                job.question = Some(question);
                job.status = JobStatus::WaitingForUser;
                changes.work = task.work(&[], Some(wait_for_user(job)));
                return Ok(());
            }
            // They arrived after the last look of the run.
            for text in steering {
                changes.event(job, "message.returned", json!({ "text": text }));
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
            match (reason, limit) {
                // Nothing is left to go on with after the answer.
                (EndReason::AwaitingInput, Some((limit, max))) => {
                    let data = json!({ "limit": limit, "max": max });
                    changes.event(job, "limit.reached", data.clone());
                    let message = format!("the budget of {limit} is used up, so the agent's question is not asked");
                    let error = ApiError::new(Code::LimitReached, message).with_data(data).body();
                    end_with(job, changes, JobStatus::Failed, now, Some(error));
                }
                (EndReason::Natural | EndReason::AwaitingInput, _) if has_pending => {
                    job.status = JobStatus::AwaitingReview;
                }
                // The edits are as good as those of a job that ended by itself. The user sees the reason beside them.
                (EndReason::Budget | EndReason::TurnLimit, _) if has_pending => {
                    job.status = JobStatus::AwaitingReview;
                    job.error = Some(end.error.unwrap_or_else(|| error_of(reason)));
                }
                (EndReason::Natural | EndReason::AwaitingInput, _) => complete(job, changes, now),
                (EndReason::Aborted, _) => {
                    let error = (*inner.is_closing.lock()).then(shut_down);
                    end_with(job, changes, JobStatus::Cancelled, now, error);
                }
                (reason, _) => {
                    let error = end.error.unwrap_or_else(|| error_of(reason));
                    end_with(job, changes, JobStatus::Failed, now, Some(error));
                }
            }
            changes.work = task.end(job);
            Ok(())
        })
        .await?;
    inner.settle_replaced(&task.job_id).await
}

/// Ends a job with an error. `task` is the work on it, if this process works on it.
pub(super) async fn fail(inner: &Inner, job_id: &str, task: Option<&Task>, error: ErrorBody) -> ApiResult<()> {
    let now = inner.now();
    inner
        .change_job(job_id, |_, job, changes| {
            end_with(job, changes, JobStatus::Failed, now, Some(error));
            if let Some(task) = task {
                changes.work = task.end(job);
            }
            Ok(())
        })
        .await?;
    Ok(())
}
