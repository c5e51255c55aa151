//! The start of a service after another process: jobs that it left running, decisions that it did not tell, and
//! instructions whose turn had come.

use emend_llm::Shared;

use super::api::ApiResult;
use super::driver::{interrupted, occupy, rerun, spawn, start_waiting};
use super::inner::Inner;
use super::jobs::Claim;
use super::queue;
use super::records::JobStatus;
use super::run::fail;
use crate::environment::FilePath;

/// The reason of changes of the review that a former process made.
const RECOVERY: &str = "recovery";

/// Goes on with the jobs that a former process left running, or ends them if their steps were not recorded.
pub(super) async fn recover(inner: &Shared<Inner>) -> ApiResult<()> {
    reserve_runs(inner).await?;
    if let Some(jobs) = inner.shared_jobs() {
        inner.host.spawn(Box::pin(queue::serve(Shared::clone(inner), Shared::clone(jobs))));
        #[cfg(not(target_family = "wasm"))]
        for id in inner.session_ids(|session| session.rewinding.is_some()).await? {
            // Another server may be carrying it out, so this start does not wait for it.
            let owned = Shared::clone(inner);
            inner.host.spawn(Box::pin(async move {
                // Not beside a job or rewind of this server, which would complete it, too.
                let slot = owned.slot(&id);
                let _starting = slot.starting.lock().await;
                drop(owned.alone_with(&id).await);
            }));
        }
    } else {
        resume(inner).await?;
    }
    settle(inner).await?;
    if inner.shared_jobs().is_none() {
        for id in inner.session_ids(|session| session.rewinding.is_some()).await? {
            inner.complete_rewind(&inner.session(&id).await?).await?;
        }
        for id in inner.session_ids(|session| session.rolling_back.is_some()).await? {
            inner.complete_rollback(&inner.session(&id).await?).await?;
        }
    }
    start_waiting(inner).await
}

/// Keeps the runs of known jobs from being given again. A run without an edit is in the record of its job alone.
async fn reserve_runs(inner: &Inner) -> ApiResult<()> {
    for id in inner.session_ids(|_| true).await? {
        let runs = inner.store.jobs(&id).await?.into_iter().flat_map(|job| job.runs);
        inner.workspace.reserve_runs(runs.max().unwrap_or_default());
    }
    Ok(())
}

/// Goes on with the jobs of a service that shares none.
async fn resume(inner: &Shared<Inner>) -> ApiResult<()> {
    for job in inner.store.open_jobs().await? {
        let is_interrupted = match job.status {
            JobStatus::Queued | JobStatus::Running => true,
            JobStatus::WaitingForUser => job.question.is_none(),
            _ => false,
        };
        if !is_interrupted {
            continue;
        }
        let claim = Claim { attempt: 2, ..Claim::of(&job.job_id) };
        let has_steps = match inner.recorded_jobs() {
            Some(jobs) => job.control.input.is_some() || !jobs.recorded(&claim).await?.is_empty(),
            None => false,
        };
        let slot = inner.slot(&job.session_id);
        match has_steps.then(|| occupy(inner, &slot, claim)) {
            Some(Ok(task)) => spawn(inner, task),
            _ => fail(inner, &job.job_id, None, interrupted()).await?,
        }
    }
    Ok(())
}

/// Settles jobs in review whose decisions a former process has carried out, but not told.
async fn settle(inner: &Shared<Inner>) -> ApiResult<()> {
    let _deciding = inner.deciding.lock().await;
    let is_shared = inner.shared_jobs().is_some();
    // The first access to the store may load the line logs. Other servers save theirs before the states that follow.
    let open = inner.store.open_jobs().await?;
    inner.workspace.refresh().await?;
    let pending = inner.workspace.runs_with_pending();
    // Of several servers, another one may have completed a job since.
    if !is_shared && pending.iter().any(|run| !open.iter().any(|job| job.runs.contains(run))) {
        inner.reopen(RECOVERY).await?;
    }
    for job in open.iter().filter(|job| job.status == JobStatus::AwaitingReview) {
        if let Some(files) = &job.control.rerun {
            let files: Vec<FilePath> = files.iter().filter_map(|path| FilePath::clean(path)).collect();
            if rerun(inner, &job.job_id, &files).await.unwrap_or_default() {
                continue;
            }
            // The edits stay in review until the user applies them again.
            inner.forget_application(&job.job_id).await?;
        }
        let is_decided = !job.runs.iter().any(|run| pending.contains(run));
        let applying = job.control.applying.as_ref();
        if is_decided || applying.is_some_and(|applying| inner.applied(applying).is_some()) {
            inner.settle_job(job, &pending, RECOVERY, None).await?;
        } else if applying.is_some() && !is_shared {
            // The application has changed nothing. Of several servers, another one may be about to carry it out.
            inner.forget_application(&job.job_id).await?;
        }
    }
    Ok(())
}
