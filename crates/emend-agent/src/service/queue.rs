//! The queue of a service whose jobs several servers share: claims jobs, keeps the claims, and passes on what other
//! servers were asked.

use emend_llm::{CancelToken, Shared};
use futures::future::{Either, select};
use serde_json::json;

use super::api::{ApiError, ApiResult};
use super::driver::{first_message, spawn, start_waiting, title_of};
use super::inner::Inner;
use super::jobs::{Claim, Jobs, Untold, Woken};
use super::records::{JobControl, JobRecord, SessionRecord};
use super::slot::Running;
use super::store::Work;
use super::task::Task;
use crate::error_code::Code;
use crate::store::StoreError;

/// The most jobs that a server without a limit runs.
const RUNNING_MAX: u64 = 64;

/// Time between two looks for instructions that wait without a server, in renewals of a claim.
const LOOK_RENEWALS: u64 = 9;

/// Time after which a failed renewal of a claim is tried again, in milliseconds.
const RETRY_MS: u64 = 250;

/// Runs jobs of the queue until the service closes.
pub(super) async fn serve(inner: Shared<Inner>, jobs: Shared<dyn Jobs>) {
    let mut has_work = true;
    let mut looked_at = inner.clock.now_ms();
    let looking = Shared::new(());
    let hearing = Shared::new(futures::lock::Mutex::new(jobs.untold().await.ok()));
    while !*inner.is_closing.lock() {
        let freed = inner.freed.listen();
        if has_work {
            claim(&inner, &jobs).await;
        }
        has_work = match select(jobs.woken(), freed).await {
            Either::Left((woken, _)) => {
                inner.hub.notify();
                look_after(&inner, &woken).await;
                if woken.has_untold {
                    let (owned, jobs, hearing) = (Shared::clone(&inner), Shared::clone(&jobs), Shared::clone(&hearing));
                    // A task of its own, because it waits for the turn of another server.
                    inner.host.spawn(Box::pin(async move { hear(&owned, &jobs, &hearing).await }));
                }
                woken.has_work
            }
            Either::Right(_) => true,
        };
        let now = inner.clock.now_ms();
        let is_due = now.saturating_sub(looked_at) >= LOOK_RENEWALS * jobs.renewal_ms();
        if is_due && Shared::strong_count(&looking) == 1 {
            looked_at = now;
            look(&inner, Shared::clone(&looking));
        }
    }
}

/// Tells the clients of this server what other servers did without an event. `heard` is what was told, and `None` before
/// the first call.
async fn hear(inner: &Shared<Inner>, jobs: &Shared<dyn Jobs>, heard: &futures::lock::Mutex<Option<Untold>>) {
    let mut heard = heard.lock().await;
    // A database that cannot be read now is read at the next wake-up.
    let Ok(now) = jobs.untold().await else { return };
    let Some(before) = heard.replace(now).filter(|before| *before != now) else { return };
    if now.n_edits > before.n_edits && inner.workspace.refresh().await.is_err() {
        *heard = Some(before);
        return;
    }
    inner.hub.announce(|state| {
        state.revision = state.revision.max(inner.workspace.revision());
        state.n_deleted_sessions += now.n_removed.saturating_sub(before.n_removed);
    });
}

/// Starts instructions that wait without a server: one that was killed between two jobs has not started the second.
///
/// This is a task of its own, because the claims of this server must not wait for a session that another one holds.
/// `looking` lives as long as the task.
fn look(inner: &Shared<Inner>, looking: Shared<()>) {
    let owned = Shared::clone(inner);
    inner.host.spawn(Box::pin(async move {
        // An error shows at the next look.
        drop(start_waiting(&owned).await);
        drop(looking);
    }));
}

/// Claims as many jobs as this server can run, and starts them.
async fn claim(inner: &Shared<Inner>, jobs: &Shared<dyn Jobs>) {
    let max = if inner.limits.max_running_jobs == 0 { RUNNING_MAX } else { inner.limits.max_running_jobs };
    let n_free = max.saturating_sub(*inner.n_running.lock());
    if n_free == 0 {
        return;
    }
    // After an error the next wake-up tries again.
    let Ok(claims) = jobs.claim(usize::try_from(n_free).unwrap_or(usize::MAX)).await else { return };
    for claim in claims {
        let (owned, jobs) = (Shared::clone(inner), Shared::clone(jobs));
        inner.host.spawn(Box::pin(async move { start(&owned, &jobs, claim).await }));
    }
}

/// Starts a claimed job. A job that cannot be started goes to another server when its claim ends.
async fn start(inner: &Shared<Inner>, jobs: &Shared<dyn Jobs>, claim: Claim) {
    let job = match job_of(inner, &claim).await {
        Ok(job) => job,
        Err(error) if matches!(error.code, Code::InvalidArgument | Code::NotFound) => {
            // Another server would find the same. If this fails, it tells so.
            drop(jobs.refuse(&claim, json!({ "status": "failed", "error": error.body() })).await);
            return;
        }
        Err(_) => return,
    };
    let slot = inner.slot(&job.session_id);
    let task = loop {
        let listener = inner.hub.listen();
        let former = {
            let mut running = slot.running.lock();
            match running.as_ref() {
                Some(former) => former.lost.clone(),
                None => break Task::take(inner, &slot, &mut running, job.job_id, claim.clone()),
            }
        };
        // A run of this process that has lost its claim without noticing.
        former.cancel();
        listener.await;
    };
    let kept = keep(Shared::clone(inner), Shared::clone(jobs), claim, task.lost.clone());
    let ended = task.lost.clone();
    inner.host.spawn(Box::pin(async move {
        // The claim is kept for as long as the run of the job exists.
        select(Box::pin(kept), ended.cancelled()).await;
    }));
    spawn(inner, Some(task));
}

/// Renews a claim until it is lost, or the job has left this process.
async fn keep(inner: Shared<Inner>, jobs: Shared<dyn Jobs>, claim: Claim, lost: CancelToken) {
    let mut pause_ms = jobs.renewal_ms();
    loop {
        inner.clock.sleep(pause_ms).await;
        let is_here = |running: &Running| running.claim.id == claim.id;
        let slots: Vec<_> = inner.slots.lock().values().cloned().collect();
        if !slots.iter().any(|slot| slot.running.lock().as_ref().is_some_and(is_here)) {
            return;
        }
        pause_ms = match jobs.renew(&claim).await {
            Ok(()) => jobs.renewal_ms(),
            Err(StoreError::Conflict { .. }) => return lost.cancel(),
            Err(_) => RETRY_MS.min(jobs.renewal_ms()),
        };
    }
}

/// Returns the job of a claim. A job that another program has submitted gets its record now.
async fn job_of(inner: &Shared<Inner>, claim: &Claim) -> ApiResult<JobRecord> {
    if let Some(id) = claim.params["job_id"].as_str() {
        return inner.job(id).await;
    }
    let job_id = format!("job_{}", claim.task_id);
    if let Some(known) = inner.store.job(&job_id).await? {
        return Ok(known);
    }
    let instruction = claim.params["instruction"].as_str().unwrap_or_default().trim().to_owned();
    if instruction.is_empty() {
        return Err(ApiError::new(Code::InvalidArgument, "the task has no instruction"));
    }
    let session = match claim.params["session_id"].as_str() {
        Some(id) => inner.session(id).await?,
        None => new_session(inner, &claim.task_id).await?,
    };
    let message = first_message(inner, &session, &instruction, None).await;
    let job = JobRecord {
        job_id,
        session_id: session.session_id.clone(),
        instruction,
        created_at: inner.now(),
        max_tool_calls: inner.limits.max_tool_calls_per_job,
        control: JobControl { input: Some(message), ..JobControl::default() },
        ..JobRecord::default()
    };
    inner
        .add_job(&session.session_id, job.clone(), |session, job, changes| {
            if session.title.is_empty() {
                session.title = title_of(&job.instruction);
            }
            session.n_jobs += 1;
            session.last_job_id = Some(job.job_id.clone());
            changes.text = format!("{}\n", job.instruction);
            changes.event(job, "job.queued", json!({ "instruction": job.instruction }));
            // With the claim: a server that was paused here does not reset a job that another one has finished.
            let work = Work { job_id: claim.task_id.clone(), claim: Some(claim.id.clone()), ..Work::default() };
            changes.work = Some(Box::new(work));
            Ok(())
        })
        .await?;
    Ok(job)
}

async fn new_session(inner: &Shared<Inner>, id: &str) -> ApiResult<SessionRecord> {
    if let Some(known) = inner.store.session(id).await? {
        return Ok(known);
    }
    let (now, model) = (inner.now(), inner.host.default_model());
    let session = SessionRecord {
        session_id: id.to_owned(),
        created_at: now,
        updated_at: now,
        model,
        budget: inner.host.session_budget(),
        job_budget: inner.host.job_budget(),
        ..SessionRecord::default()
    };
    let mut changes = super::changes::Changes::default();
    changes.session_event("session.created", json!({ "title": session.title, "mode": session.mode }));
    Ok(inner.add_session(session, changes).await?.session)
}

/// Passes requests of the user to jobs that run here.
async fn look_after(inner: &Shared<Inner>, woken: &Woken) {
    let is_named = |id: &String| woken.sessions.as_ref().is_none_or(|named| named.contains(id));
    let slots: Vec<_> = {
        let slots = inner.slots.lock();
        slots.iter().filter(|(id, _)| is_named(id)).map(|(_, slot)| Shared::clone(slot)).collect()
    };
    for slot in slots {
        let Some(running) = slot.running.lock().clone() else { continue };
        // A database that cannot be read now is read at the next wake-up.
        let Ok(job) = inner.job(&running.job_id).await else { continue };
        if job.control.is_cancelled {
            running.cancel.cancel();
        }
        if job.status.is_terminal() {
            running.lost.cancel();
        }
        let Some(agent) = slot.agent.lock().clone() else { continue };
        agent.desk.answer_open(&job.control.decisions);
        running.passed.pass_on(&agent, &job);
    }
}
