//! Jobs: start, answer, cancel, and the end of jobs that no process runs.

use emend_llm::Shared;
use futures::future::select;
use serde_json::json;

use super::api::{ApiError, ApiResult};
use super::bodies::ToolConfig;
use super::changes::Changes;
use super::ending::end_with;
use super::gc::purge_after_creation;
use super::idle::check_can_start;
use super::inner::Inner;
use super::jobs::Claim;
use super::records::{ContextRow, ErrorBody, JobControl, JobRecord, JobStatus, SessionRecord};
use super::run::run;
use super::slot::Slot;
use super::task::Task;
use super::text::{lines_of, of_rerun, of_rows, with_context};
use crate::environment::FilePath;
use crate::error_code::Code;

/// Time for which the reply to a cancellation waits for the end of the job, in milliseconds.
const CANCEL_WAIT_MS: u64 = 5_000;

/// A request for a job.
pub(super) struct NewJob<'a> {
    pub(super) session_id: &'a str,
    pub(super) instruction: &'a str,
    pub(super) context_rows: Vec<ContextRow>,
    pub(super) tool_config: ToolConfig,
    /// Hash of the canvas's draft that the message saves.
    pub(super) draft_hash: Option<&'a str>,
    pub(super) origin: JobOrigin,
}

/// The place that an instruction comes from. It is left in the commit that creates the job, so that no instruction is
/// carried out twice.
pub(super) enum JobOrigin {
    Request,
    /// The queue of the session: its turn has come.
    NextFollowUp(String),
    /// The queue of the session: the user sends it now.
    SentFollowUp(String),
    Comments(Vec<String>),
}

impl JobOrigin {
    /// Takes the instruction away.
    fn leave(&self, session: &mut SessionRecord, job: &JobRecord, changes: &mut Changes) -> ApiResult<()> {
        match self {
            Self::Request => {}
            Self::NextFollowUp(id) | Self::SentFollowUp(id) => {
                let before = session.follow_ups.len();
                session.follow_ups.retain(|follow_up| follow_up.follow_up_id != *id);
                if session.follow_ups.len() == before {
                    return Err(ApiError::unknown("follow-up", id));
                }
                let (kind, data) = match self {
                    Self::SentFollowUp(_) => ("follow_up.sent", json!({ "follow_up_id": id })),
                    _ => ("follow_up.started", json!({ "follow_up_id": id, "job_id": job.job_id })),
                };
                changes.session_event(kind, data);
            }
            Self::Comments(ids) => {
                let mut n_sent = 0;
                for comment in session.comments.iter_mut().filter(|comment| ids.contains(&comment.comment_id)) {
                    n_sent += usize::from(!std::mem::replace(&mut comment.sent, true));
                }
                if n_sent == 0 {
                    return Err(ApiError::new(Code::Conflict, "every comment was sent"));
                }
                changes.session_event("comments.sent", json!({ "comment_ids": ids, "job_id": job.job_id }));
            }
        }
        Ok(())
    }
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
    #[cfg(not(target_family = "wasm"))]
    let session = match session.rewinding {
        Some(_) => {
            // Waits for a server that carries it out, and completes that of a server that was killed.
            drop(inner.alone_with(new.session_id).await?);
            inner.session(new.session_id).await?
        }
        None => session,
    };
    check_can_start(inner, &session).await?;
    inner.check_job_limit(&session.session_id).await?;
    wait_for_slot(inner, &slot).await?;
    #[cfg(not(target_family = "wasm"))]
    inner.refresh().await?;
    let revision = inner.workspace.revision();
    let decisions = session.told_revision.and_then(|told| inner.workspace.decisions_since(told));
    let mut planned = session.clone();
    pin_rows(&mut planned, new.context_rows.clone());
    let message = first_message(inner, &planned, instruction, decisions.as_deref()).await;
    let job = JobRecord {
        job_id: inner.new_id("job_"),
        session_id: session.session_id.clone(),
        instruction: instruction.to_owned(),
        created_at: inner.now(),
        max_tool_calls: new.tool_config.max_tool_calls.unwrap_or(inner.limits.max_tool_calls_per_job),
        control: JobControl { input: Some(message), ..JobControl::default() },
        ..JobRecord::default()
    };
    let guard = occupy(inner, &slot, Claim::of(&job.job_id))?;
    if let Some(draft_hash) = new.draft_hash {
        // Before the message, which must not be sent with another draft. A repeated request finds the draft saved.
        inner.promote(&session.session_id, draft_hash, true).await?;
    }
    inner
        .add_job(&session.session_id, job.clone(), |session, job, changes| {
            if session.title.is_empty() {
                session.title = title_of(&job.instruction);
            }
            session.n_jobs += 1;
            session.told_revision = Some(revision);
            session.rewound = None;
            session.last_job_id = Some(job.job_id.clone());
            changes.text = format!("{}\n{}", job.instruction, of_rows(&new.context_rows));
            pin_rows(session, new.context_rows);
            changes.event(job, "job.queued", json!({ "instruction": job.instruction }));
            changes.submit(job, job.job_id.clone());
            new.origin.leave(session, job, changes)
        })
        .await?;
    purge_after_creation(inner, &session.session_id).await?;
    spawn(inner, guard);
    Ok(job.shown())
}

fn pin_rows(session: &mut SessionRecord, rows: Vec<ContextRow>) {
    for row in rows {
        session.context_rows.retain(|known| known.id != row.id);
        session.context_rows.push(row);
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

/// Takes the run slot of a session; `None` if servers share the jobs, and the queue decides which one runs it.
pub(super) fn occupy(inner: &Shared<Inner>, slot: &Shared<Slot>, claim: Claim) -> ApiResult<Option<Task>> {
    if *inner.is_closing.lock() {
        return Err(ApiError::new(Code::Busy, "the service shuts down"));
    }
    if inner.shared_jobs().is_some() {
        return Ok(None);
    }
    let mut running = slot.running.lock();
    if running.is_some() {
        return Err(ApiError::new(Code::Busy, "the session works on another job"));
    }
    let n_running = *inner.n_running.lock();
    let max = inner.limits.max_running_jobs;
    if max > 0 && n_running >= max {
        let message = format!("{max} jobs are running, which is the limit; try again later");
        return Err(ApiError::new(Code::LimitReached, message).with_data(json!({ "limit": "max_running_jobs" })));
    }
    let job_id = claim.task_id.clone();
    Ok(Some(Task::take(inner, slot, &mut running, job_id, claim)))
}

/// Runs a job to the end of its run, and then the next instruction of its session.
pub(super) fn spawn(inner: &Shared<Inner>, task: Option<Task>) {
    let Some(task) = task else { return };
    let owned = Shared::clone(inner);
    inner.host.spawn(Box::pin(async move {
        let job_id = task.job_id.clone();
        run(&owned, task).await;
        // After a cancellation, the user decides how to go on.
        if let Ok(job) = owned.job(&job_id).await
            && job.status != JobStatus::Cancelled
        {
            go_on(&owned, &job.session_id).await;
        }
        go_on_with_held_back(&owned).await;
    }));
}

/// Starts the instructions that a limit has kept from starting, as far as it allows that now.
pub(super) async fn go_on_with_held_back(inner: &Shared<Inner>) {
    let held_back = inner.held_back.lock().clone();
    for id in held_back {
        let session = inner.session(&id).await;
        match session {
            Ok(session) if is_stopped(inner, &session).await.is_ok_and(|is_stopped| !is_stopped) => {
                go_on(inner, &id).await;
            }
            // The user decides how to go on, or the session is gone.
            _ => drop(inner.held_back.lock().remove(&id)),
        }
    }
}

/// Returns whether the last job of a session was cancelled or ended with its process: then the user decides how to go on.
pub(super) async fn is_stopped(inner: &Inner, session: &SessionRecord) -> ApiResult<bool> {
    let Some(last) = &session.last_job_id else { return Ok(false) };
    let job = inner.store.job(last).await?;
    Ok(job.is_some_and(|job| {
        job.status == JobStatus::Cancelled || job.error.is_some_and(|error| error.code == Code::Aborted.as_str())
    }))
}

/// Starts the instructions whose turn has come. A process can end between the end of a job and the start of the next one.
pub(super) async fn start_waiting(inner: &Shared<Inner>) -> ApiResult<()> {
    for id in inner.session_ids(|session| !session.follow_ups.is_empty()).await? {
        if !is_stopped(inner, &inner.session(&id).await?).await? {
            go_on(inner, &id).await;
        }
    }
    Ok(())
}

/// Starts the next queued instruction, if the session is idle, or tells why it cannot start.
///
/// Returns the job that has started.
pub(super) async fn go_on(inner: &Shared<Inner>, session_id: &str) -> Option<String> {
    let next = next_follow_up(inner, session_id).await;
    let is_held_back = matches!(&next, Err(error) if error.code == Code::LimitReached);
    let was_held_back = match is_held_back {
        true => !inner.held_back.lock().insert(session_id.to_owned()),
        false => inner.held_back.lock().remove(session_id),
    };
    match next {
        Ok(started) => started.map(|job| job.job_id),
        // It was told before.
        Err(_) if is_held_back && was_held_back => None,
        // Another request was faster: the instruction starts after it.
        Err(error) if error.code == Code::Busy => None,
        Err(error) => {
            // A store that fails keeps the instruction.
            let _ = inner
                .change(session_id, |_, changes| {
                    changes.session_event("follow_up.failed", json!({ "error": error.body() }));
                    Ok(())
                })
                .await;
            None
        }
    }
}

/// Starts the next queued instruction, if the session is idle. Returns its job.
async fn next_follow_up(inner: &Shared<Inner>, session_id: &str) -> ApiResult<Option<JobRecord>> {
    if *inner.is_closing.lock() {
        return Ok(None);
    }
    let mut tried = None;
    loop {
        let session = inner.session(session_id).await?;
        let Some(next) = session.follow_ups.first().cloned() else { return Ok(None) };
        let is_again = tried.replace(next.follow_up_id.clone()).is_some_and(|tried| tried == next.follow_up_id);
        if let Err(error) = check_can_start(inner, &session).await {
            return if error.code == Code::Busy { Ok(None) } else { Err(error) };
        }
        let new = NewJob {
            session_id,
            instruction: &next.text,
            context_rows: Vec::new(),
            tool_config: ToolConfig::default(),
            draft_hash: None,
            origin: JobOrigin::NextFollowUp(next.follow_up_id),
        };
        match start(inner, new).await {
            // Withdrawn or started meanwhile: the one after it is next.
            Err(error) if error.code == Code::NotFound && !is_again => {}
            started => return started.map(Some),
        }
    }
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
    let task = occupy(inner, &slot, Claim::of(job_id))?;
    let (_, committed) = inner
        .change_job(job_id, |_, job, changes| {
            // Two answers race: the second finds no question.
            check_question(job, question_id)?;
            job.question = None;
            job.status = JobStatus::Running;
            job.control.input = Some(answer.to_owned());
            changes.text = format!("{answer}\n");
            let data = json!({ "question_id": question_id, "answer": answer });
            changes.event(job, "clarification.received", data);
            changes.wake(job);
            Ok(())
        })
        .await?;
    spawn(inner, task);
    Ok(committed.jobs.into_iter().next().unwrap_or(job).shown())
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
///
/// Fails if edits of other jobs depend on them: without them, both lines would stand side by side.
pub(super) async fn rerun(inner: &Shared<Inner>, job_id: &str, files: &[FilePath]) -> ApiResult<bool> {
    let job = inner.job(job_id).await?;
    let slot = inner.slot(&job.session_id);
    wait_for_slot(inner, &slot).await?;
    // Another job of the session works: the edits stay in review until the user applies them again.
    let Ok(task) = occupy(inner, &slot, Claim::of(job_id)) else { return Ok(false) };
    let session = inner.session(&job.session_id).await?;
    if inner.shared_jobs().is_some() && inner.is_at_work(&session).await? {
        return Ok(false);
    }
    if let Err(error) = inner.workspace.withdraw(&job.runs, files).await {
        return Err(inner.refused(error).await);
    }
    let files: Vec<String> = files.iter().map(ToString::to_string).collect();
    inner
        .change_job(job_id, |_, job, changes| {
            if job.control.rerun.take().is_none() || job.status != JobStatus::AwaitingReview {
                return Err(ApiError::new(Code::Conflict, "another server proposes the edits anew"));
            }
            job.status = JobStatus::Running;
            job.n_reruns += 1;
            job.n_tool_calls_before = job.n_tool_calls;
            job.is_rerunning = true;
            job.control.input = Some(of_rerun(&job.instruction, &files));
            changes.event(job, "rerun.started", json!({ "n_reruns": job.n_reruns, "files": files }));
            changes.submit(job, format!("{}:{}", job.job_id, job.n_reruns));
            Ok(())
        })
        .await?;
    spawn(inner, task);
    Ok(true)
}

/// Cancels a job and waits for its end. Its edits stay in review.
pub(super) async fn cancel(inner: &Inner, job_id: &str) -> ApiResult<JobRecord> {
    let job = inner.job(job_id).await?;
    check_can_cancel(&job)?;
    let slot = inner.slot(&job.session_id);
    let running = slot.running.lock().clone().filter(|running| running.job_id == job_id);
    if let Some(running) = running {
        running.cancel.cancel();
        wait_for_end(inner, job_id).await;
        let job = inner.job(job_id).await?;
        // The run may have ended just before.
        if matches!(job.status, JobStatus::AwaitingReview | JobStatus::Completed) {
            check_can_cancel(&job)?;
        }
        return Ok(job.shown());
    }
    let now = inner.now();
    let is_shared = inner.shared_jobs().is_some();
    let (runs_elsewhere, committed) = inner
        .change_job(job_id, |_, job, changes| {
            check_can_cancel(job)?;
            let runs_elsewhere = is_shared && job.status == JobStatus::Running && job.started_at.is_some();
            if runs_elsewhere {
                job.control.is_cancelled = true;
            } else {
                end_with(job, changes, JobStatus::Cancelled, now, None);
                changes.wake(job);
            }
            Ok(runs_elsewhere)
        })
        .await?;
    if runs_elsewhere {
        wait_for_end(inner, job_id).await;
        return inner.job(job_id).await.map(JobRecord::shown);
    }
    Ok(committed.jobs.into_iter().next().unwrap_or(job).shown())
}

/// Refuses to cancel a job whose run has ended.
fn check_can_cancel(job: &JobRecord) -> ApiResult<()> {
    if job.status.holds_slot() {
        return Ok(());
    }
    let message = match job.status {
        JobStatus::AwaitingReview => "the agent is done; accept or reject its edits",
        _ => "the job has ended",
    };
    Err(ApiError::new(Code::Conflict, message).with_data(json!({ "status": job.status })))
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
    if inner.shared_jobs().is_some() {
        return Ok(());
    }
    let session = inner.session(session_id).await?;
    let Some(job_id) = session.last_job_id else { return Ok(()) };
    let Some(job) = inner.store.job(&job_id).await? else { return Ok(()) };
    let slot = inner.slot(session_id);
    let is_orphan =
        |job: &JobRecord| job.status.holds_slot() && job.question.is_none() && slot.running.lock().is_none();
    if !is_orphan(&job) {
        return Ok(());
    }
    let now = inner.now();
    inner
        .change_job(&job_id, |_, job, changes| {
            // The record was read before the slot was looked at: the run may have ended in between.
            if is_orphan(job) {
                end_with(job, changes, JobStatus::Failed, now, Some(interrupted()));
            }
            Ok(())
        })
        .await?;
    Ok(())
}

pub(super) fn interrupted() -> ErrorBody {
    let message = "the service was interrupted during this job; its edits so far are in review";
    ApiError::new(Code::Aborted, message).body()
}

/// Cancels all running jobs and waits until they have ended.
pub(super) async fn close(inner: &Inner) {
    *inner.is_closing.lock() = true;
    let slots: Vec<Shared<Slot>> = inner.slots.lock().values().cloned().collect();
    let jobs = inner.shared_jobs();
    for slot in &slots {
        let Some(running) = slot.running.lock().clone() else { continue };
        match jobs {
            // Another server goes on with it.
            Some(_) => running.lost.cancel(),
            None => running.cancel.cancel(),
        }
    }
    inner.freed.notify(usize::MAX);
    loop {
        let listener = inner.hub.listen();
        if slots.iter().all(|slot| slot.running.lock().is_none()) {
            return;
        }
        listener.await;
    }
}

/// Returns the first message of a job: its instruction with the pinned context.
pub(super) async fn first_message(
    inner: &Inner,
    session: &SessionRecord,
    instruction: &str,
    decisions: Option<&str>,
) -> String {
    let mut rows = Vec::new();
    for row in &session.context_rows {
        let content = match (&row.content, &row.file_path) {
            (Some(content), _) => content.clone(),
            (None, Some(path)) => match inner.text_for_agent(session, path).await {
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
pub(super) fn title_of(instruction: &str) -> String {
    const CHARS_MAX: usize = 80;
    let line = instruction.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}
