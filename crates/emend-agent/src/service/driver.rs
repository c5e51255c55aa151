//! Jobs: start, answer, cancel, and the end of jobs that no process runs.

use emend_edit::line_log::DependentsPolicy;
use emend_llm::{CancelToken, Shared};
use futures::future::select;
use serde_json::json;

use super::api::{ApiError, ApiResult};
use super::bodies::ToolConfig;
use super::inner::Inner;
use super::records::{Budget, ContextRow, ErrorBody, JobRecord, JobStatus, SessionRecord, SessionStatus, Spent};
use super::run::{SlotGuard, end_with, fail, run};
use super::slot::{Running, Slot};
use super::text::{lines_of, of_rerun, with_context};
use crate::error_code::Code;

/// Time for which the reply to a cancellation waits for the end of the job, in milliseconds.
const CANCEL_WAIT_MS: u64 = 5_000;

/// A request for a job.
pub(super) struct NewJob<'a> {
    pub(super) session_id: &'a str,
    pub(super) instruction: &'a str,
    pub(super) context_rows: Vec<ContextRow>,
    pub(super) tool_config: ToolConfig,
}

/// Creates a job and starts it.
pub(super) async fn start(inner: &Shared<Inner>, new: NewJob<'_>) -> ApiResult<JobRecord> {
    let instruction = new.instruction.trim();
    if instruction.is_empty() {
        return Err(ApiError::new(Code::InvalidArgument, "the instruction is empty; say what to do"));
    }
    inner.check_text(instruction)?;
    heal(inner, new.session_id).await?;
    let slot = inner.slot(new.session_id);
    let _starting = slot.starting.lock().await;
    let session = inner.session(new.session_id).await?;
    check_can_start(inner, &session).await?;
    wait_for_slot(inner, &slot).await?;
    let job = JobRecord {
        job_id: inner.new_id("job_"),
        session_id: session.session_id.clone(),
        instruction: instruction.to_owned(),
        created_at: inner.now(),
        max_tool_calls: new.tool_config.max_tool_calls.unwrap_or(inner.limits.max_tool_calls_per_job),
        ..JobRecord::default()
    };
    let guard = occupy(inner, &slot, &job.job_id)?;
    let revision = inner.workspace.revision();
    let decisions = session.told_revision.and_then(|told| inner.workspace.decisions_since(told));
    let stored = {
        let job = job.clone();
        inner
            .add_job(&session.session_id, job, |session, job, changes| {
                if session.title.is_empty() {
                    session.title = title_of(&job.instruction);
                }
                session.n_jobs += 1;
                session.told_revision = Some(revision);
                session.last_job_id = Some(job.job_id.clone());
                for row in new.context_rows {
                    session.context_rows.retain(|known| known.id != row.id);
                    session.context_rows.push(row);
                }
                changes.text = format!("{}\n", job.instruction);
                changes.event(job, "job.queued", json!({ "instruction": job.instruction }));
            })
            .await?
    };
    inner.purge_session(&session.session_id).await?;
    let message = first_message(inner, &stored.session, &job.instruction, decisions.as_deref()).await;
    spawn(inner, guard, job.job_id.clone(), message);
    Ok(job)
}

async fn check_can_start(inner: &Inner, session: &SessionRecord) -> ApiResult<()> {
    if session.status == SessionStatus::Archived {
        return Err(ApiError::new(Code::Conflict, "the session is archived; make it active first"));
    }
    if let Some(id) = &session.last_job_id
        && let Some(job) = inner.store.job(id).await?
        && job.status.holds_slot()
    {
        let message = "the session works on another job; wait for it, cancel it, or queue a follow-up";
        return Err(ApiError::new(Code::Busy, message).with_data(json!({ "job_id": job.job_id, "status": job.status })));
    }
    if let Some(limit) = used_up(&session.budget, &session.spent) {
        let message = format!("the budget of the session is used up: {limit}; raise it to go on");
        return Err(ApiError::new(Code::LimitReached, message).with_data(json!({ "limit": limit })));
    }
    Ok(())
}

/// Returns the part of a budget that is used up.
fn used_up(budget: &Budget, spent: &Spent) -> Option<&'static str> {
    let over = |limit: u64, used: u64| limit > 0 && used >= limit;
    if over(budget.tokens, spent.total_tokens) {
        Some("tokens")
    } else if budget.cost_usd > 0.0 && spent.cost_usd >= budget.cost_usd {
        Some("cost_usd")
    } else if over(budget.duration_ms, spent.duration_ms) {
        Some("duration_ms")
    } else {
        None
    }
}

/// Waits until a run whose outcome is stored has freed its slot: a client may act on the outcome at once.
async fn wait_for_slot(inner: &Inner, slot: &Slot) -> ApiResult<()> {
    loop {
        let listener = inner.hub.listen();
        let Some(running) = slot.running.lock().clone() else { return Ok(()) };
        let is_over = match inner.store.job(&running.job_id).await? {
            Some(job) => !job.status.holds_slot() || job.question.is_some(),
            None => true,
        };
        if !is_over {
            return Ok(());
        }
        listener.await;
    }
}

/// Takes the run slot of a session.
fn occupy(inner: &Shared<Inner>, slot: &Shared<Slot>, job_id: &str) -> ApiResult<(SlotGuard, CancelToken)> {
    if *inner.is_closing.lock() {
        return Err(ApiError::new(Code::Busy, "the service shuts down"));
    }
    let mut running = slot.running.lock();
    if running.is_some() {
        return Err(ApiError::new(Code::Busy, "the session works on another job"));
    }
    let mut n_running = inner.n_running.lock();
    let max = inner.limits.max_running_jobs;
    if max > 0 && *n_running >= max {
        let message = format!("{max} jobs are running, which is the limit; try again later");
        return Err(ApiError::new(Code::LimitReached, message).with_data(json!({ "limit": "max_running_jobs" })));
    }
    *n_running += 1;
    let cancel = CancelToken::new();
    *running = Some(Running { job_id: job_id.to_owned(), cancel: cancel.clone() });
    Ok((SlotGuard { inner: Shared::clone(inner), slot: Shared::clone(slot) }, cancel))
}

fn spawn(inner: &Shared<Inner>, (guard, cancel): (SlotGuard, CancelToken), job_id: String, message: String) {
    let owned = Shared::clone(inner);
    inner.host.spawn(Box::pin(async move {
        run(&owned, guard, &job_id, message, cancel).await;
        if let Ok(job) = owned.job(&job_id).await
            && let Err(error) = next_follow_up(&owned, &job.session_id).await
        {
            let _ = owned
                .change(&job.session_id, |_, changes| {
                    changes.session_event("follow_up.failed", json!({ "error": error.body() }));
                    Ok(())
                })
                .await;
        }
    }));
}

/// Starts the next queued instruction, if the session is idle. Returns its job.
pub(super) async fn next_follow_up(inner: &Shared<Inner>, session_id: &str) -> ApiResult<Option<JobRecord>> {
    if *inner.is_closing.lock() {
        return Ok(None);
    }
    let session = inner.session(session_id).await?;
    let Some(next) = session.follow_ups.first().cloned() else { return Ok(None) };
    if let Err(error) = check_can_start(inner, &session).await {
        return if error.code == Code::Busy { Ok(None) } else { Err(error) };
    }
    let new =
        NewJob { session_id, instruction: &next.text, context_rows: Vec::new(), tool_config: ToolConfig::default() };
    let job = start(inner, new).await?;
    inner
        .change(session_id, |session, changes| {
            session.follow_ups.retain(|follow_up| follow_up.follow_up_id != next.follow_up_id);
            changes
                .session_event("follow_up.started", json!({ "follow_up_id": next.follow_up_id, "job_id": job.job_id }));
            Ok(())
        })
        .await?;
    Ok(Some(job))
}

/// Answers the question of a job and goes on.
pub(super) async fn clarify(
    inner: &Shared<Inner>,
    job_id: &str,
    question_id: &str,
    answer: &str,
) -> ApiResult<JobRecord> {
    let answer = answer.trim();
    let answer = if answer.is_empty() { NO_ANSWER } else { answer };
    inner.check_text(answer)?;
    let job = inner.job(job_id).await?;
    check_question(&job, question_id)?;
    let slot = inner.slot(&job.session_id);
    wait_for_slot(inner, &slot).await?;
    let guard = occupy(inner, &slot, job_id)?;
    let (_, committed) = inner
        .change_job(job_id, |_, job, changes| {
            // Two answers race: the second finds no question.
            check_question(job, question_id)?;
            job.question = None;
            job.status = JobStatus::Running;
            changes.text = format!("{answer}\n");
            let data = json!({ "question_id": question_id, "answer": answer });
            changes.event(job, "clarification.received", data);
            Ok(())
        })
        .await?;
    spawn(inner, guard, job_id.to_owned(), answer.to_owned());
    Ok(committed.jobs.into_iter().next().unwrap_or(job))
}

/// The answer of a user who skips a question.
const NO_ANSWER: &str = "no_user_answer";

fn check_question(job: &JobRecord, question_id: &str) -> ApiResult<()> {
    match &job.question {
        Some(question) if question.question_id == question_id => Ok(()),
        Some(question) => {
            let message = format!("the open question is {:?}, not {question_id:?}", question.question_id);
            Err(ApiError::new(Code::Conflict, message))
        }
        None => Err(ApiError::new(Code::Conflict, format!("the job has no open question {question_id:?}"))),
    }
}

/// Takes the pending edits of a job in some files back and lets the agent propose them anew. Returns whether it started.
pub(super) async fn rerun(inner: &Shared<Inner>, job_id: &str, files: &[String]) -> ApiResult<bool> {
    let job = inner.job(job_id).await?;
    let slot = inner.slot(&job.session_id);
    wait_for_slot(inner, &slot).await?;
    // Another job of the session works: the edits stay in review until the user applies them again.
    let Ok(guard) = occupy(inner, &slot, job_id) else { return Ok(false) };
    let review = inner.review(Some(&job.runs)).files.into_iter();
    let hunks = review.filter(|file| files.contains(&file.file_path)).flat_map(|file| file.hunks);
    let hunks: Vec<String> = hunks.map(|hunk| hunk.hunk_id).collect();
    inner.workspace.reject(&hunks, DependentsPolicy::OnlyThese).await?;
    inner
        .change_job(job_id, |_, job, changes| {
            job.status = JobStatus::Running;
            job.n_reruns += 1;
            job.n_tool_calls_before = job.n_tool_calls;
            job.is_rerunning = true;
            changes.event(job, "rerun.started", json!({ "n_reruns": job.n_reruns, "files": files }));
            Ok(())
        })
        .await?;
    spawn(inner, guard, job_id.to_owned(), of_rerun(&job.instruction, files));
    Ok(true)
}

/// Cancels a job and waits for its end. Its edits stay in review.
pub(super) async fn cancel(inner: &Inner, job_id: &str) -> ApiResult<JobRecord> {
    let job = inner.job(job_id).await?;
    if !job.status.holds_slot() {
        let message = match job.status {
            JobStatus::AwaitingReview => "the agent is done; accept or reject its edits",
            _ => "the job has ended",
        };
        return Err(ApiError::new(Code::Conflict, message).with_data(json!({ "status": job.status })));
    }
    let slot = inner.slot(&job.session_id);
    let running = slot.running.lock().clone().filter(|running| running.job_id == job_id);
    if let Some(running) = running {
        running.cancel.cancel();
        wait_for_end(inner, job_id).await;
        return inner.job(job_id).await;
    }
    let now = inner.now();
    let (_, committed) = inner
        .change_job(job_id, |_, job, changes| {
            end_with(job, changes, JobStatus::Cancelled, now, None);
            Ok(())
        })
        .await?;
    Ok(committed.jobs.into_iter().next().unwrap_or(job))
}

/// Waits for the end of a job that was cancelled. A tool that does not stop in time ends the wait, not the cancellation.
async fn wait_for_end(inner: &Inner, job_id: &str) {
    let ended = async {
        loop {
            let listener = inner.hub.listen();
            match inner.job(job_id).await {
                Ok(job) if job.status.holds_slot() => listener.await,
                _ => return,
            }
        }
    };
    select(Box::pin(ended), inner.clock.sleep(CANCEL_WAIT_MS)).await;
}

/// Ends a job that no process runs although its record says so.
pub(super) async fn heal(inner: &Inner, session_id: &str) -> ApiResult<()> {
    let session = inner.session(session_id).await?;
    let Some(job_id) = session.last_job_id else { return Ok(()) };
    let Some(job) = inner.store.job(&job_id).await? else { return Ok(()) };
    let is_running = inner.slot(session_id).running.lock().is_some();
    let is_orphan = job.status.holds_slot() && job.question.is_none() && !is_running;
    if is_orphan { fail(inner, &job_id, interrupted()).await } else { Ok(()) }
}

fn interrupted() -> ErrorBody {
    let message = "the service was interrupted during this job; its edits so far are in review";
    ApiError::new(Code::Aborted, message).body()
}

/// Ends the jobs that a former process left running.
pub(super) async fn recover(inner: &Inner) -> ApiResult<()> {
    for job in inner.store.open_jobs().await? {
        match job.status {
            JobStatus::Queued | JobStatus::Running => fail(inner, &job.job_id, interrupted()).await?,
            JobStatus::WaitingForUser if job.question.is_none() => fail(inner, &job.job_id, interrupted()).await?,
            _ => {}
        }
    }
    Ok(())
}

/// Cancels all running jobs and waits until they have ended.
pub(super) async fn close(inner: &Inner) {
    *inner.is_closing.lock() = true;
    let slots: Vec<Shared<Slot>> = inner.slots.lock().values().cloned().collect();
    for slot in &slots {
        if let Some(running) = slot.running.lock().clone() {
            running.cancel.cancel();
        }
    }
    loop {
        let listener = inner.hub.listen();
        if slots.iter().all(|slot| slot.running.lock().is_none()) {
            return;
        }
        listener.await;
    }
}

/// Returns the first message of a job: its instruction with the pinned context.
async fn first_message(inner: &Inner, session: &SessionRecord, instruction: &str, decisions: Option<&str>) -> String {
    let mut rows = Vec::new();
    for row in &session.context_rows {
        let content = match (&row.content, &row.file_path) {
            (Some(content), _) => content.clone(),
            (None, Some(path)) => match inner.workspace.text(path).await {
                Ok(Some(text)) => lines_of(&text, row.start_line, row.end_line),
                Ok(None) => "(this file does not exist)".to_owned(),
                Err(error) => format!("(this file cannot be read: {error})"),
            },
            (None, None) => continue,
        };
        rows.push((row.clone(), content));
    }
    with_context(instruction, &rows, decisions)
}

/// Returns the first line of an instruction, shortened.
fn title_of(instruction: &str) -> String {
    const CHARS_MAX: usize = 80;
    let line = instruction.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}
