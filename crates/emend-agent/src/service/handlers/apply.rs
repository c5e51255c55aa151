//! Apply: the accepted hunks of a job reach the disk, and its others are rejected, in one step.
//!
//! If a file changed on disk since the edits were proposed, nothing is written. The service then takes the pending edits
//! of these files back and lets the agent propose them anew, at most `max_reruns` times.
//!
//! A job that failed or was cancelled can have edits in review, too. It stays as it is, and its events are those of the
//! session.

use emend_llm::Shared;
use serde_json::json;

use crate::environment::FilePath;
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::driver;
use crate::service::inner::Inner;
use crate::service::records::{Applying, JobRecord, JobStatus, SessionStatus};
use crate::service::review_requests::{AppliedFileBody, ApplyReply, ApplyRequest};
use crate::service::settle::Application;
use crate::workspace::{Applied, ApplyOptions, ReviewError};

pub(super) async fn apply(inner: &Shared<Inner>, request: &ApiRequest) -> ApiResult<ApplyReply> {
    let mut wanted: ApplyRequest = body(request)?;
    wanted.accepted_hunk_ids.sort();
    wanted.accepted_hunk_ids.dedup();
    let deciding = inner.begin_decision().await;
    let job = inner.job(&wanted.job_id).await?;
    if job.session_id != wanted.session_id {
        return Err(ApiError::unknown("job of this session", &wanted.job_id));
    }
    if !inner.is_in_review(&job) {
        let message = "the job does not await review";
        return Err(ApiError::new(Code::Conflict, message).with_data(json!({ "status": job.status })));
    }
    let applying = check_hunks(inner, &job, &wanted)?;
    wanted.accepted_hunk_ids.clone_from(&applying.accepted);
    let data = json!({ "accepted_hunk_ids": wanted.accepted_hunk_ids });
    inner
        .change_job(&job.job_id, |_, job, changes| {
            if job.status == JobStatus::AwaitingReview {
                job.control.applying = Some(applying);
            }
            changes.review_event(job, "apply.started", data);
            Ok(())
        })
        .await?;
    // A rejection of all hunks writes nothing that a change on disk could contradict.
    wanted.rebase |= wanted.accepted_hunk_ids.is_empty();
    let applied = match carry_out(inner, &job, &wanted).await {
        Ok(Ok(applied)) => applied,
        Ok(Err(files)) => return Err(conflict(inner, &job, &files, wanted.rerun).await),
        Err(error) => {
            // Decisions that follow must not look like this application.
            let data = json!({ "error": error.body() });
            inner
                .change_job(&job.job_id, |_, job, changes| {
                    job.control.applying = None;
                    changes.review_event(job, "apply.failed", data);
                    Ok(())
                })
                .await?;
            return Err(error);
        }
    };
    let applied_files = AppliedFileBody::list(applied);
    if job.status.is_terminal() {
        let data = json!({ "applied_files": applied_files, "unsaved": inner.unsaved_of(&applied_files) });
        inner.review_event(&job.job_id, "apply.completed", data).await?;
    }
    inner.settle_applied(&deciding, Application { job_id: &job.job_id, files: &applied_files }).await?;
    let status = inner.job(&wanted.job_id).await?.status;
    let unsaved = inner.unsaved_of(&applied_files);
    Ok(ApplyReply { status, applied_files, unsaved })
}

/// Applies the hunks. Returns the files with a conflict if there are some; nothing is written then.
async fn carry_out(inner: &Inner, job: &JobRecord, wanted: &ApplyRequest) -> ApiResult<Result<Applied, Vec<FilePath>>> {
    let changed = if wanted.rebase { Vec::new() } else { inner.changed_since_review(job).await? };
    if !changed.is_empty() {
        return Ok(Err(changed));
    }
    let options = ApplyOptions { rebase: wanted.rebase, ..ApplyOptions::default() };
    match inner.workspace.apply(&job.runs, &wanted.accepted_hunk_ids, &options).await {
        Ok(applied) => Ok(Ok(applied)),
        Err(ReviewError::Conflict { files }) => Ok(Err(files)),
        Err(error) => Err(inner.refused(error).await),
    }
}

impl Inner {
    /// Returns the error of a refused decision. If later hunks depend on those to reject, it names them with their jobs.
    pub(in crate::service) async fn refused(&self, error: ReviewError) -> ApiError {
        let ReviewError::NeededLater { path, hunks, runs } = &error else { return error.into() };
        let runs = runs.to_vec();
        let later = self.store.jobs_of_runs(&runs).await.unwrap_or_default().into_iter();
        let jobs: Vec<String> = later.map(|job| job.job_id).collect();
        let data = json!({ "file_path": path, "hunk_ids": hunks, "job_ids": jobs });
        ApiError::from(error).with_data(data)
    }
}

/// Checks that the hunks are hunks of the job, and that the review is the one that the user saw. Returns the pending hunks.
///
/// An id stays valid after the review has changed: after a decision on a part of its hunk, or when hunks were joined or cut. A
/// hunk that is accepted by now is left out.
fn check_hunks(inner: &Inner, job: &JobRecord, wanted: &ApplyRequest) -> ApiResult<Applying> {
    let review = inner.review(Some(&job.runs));
    let known: Vec<&String> = review.files.iter().flat_map(|file| &file.hunks).map(|hunk| &hunk.hunk_id).collect();
    let seen = wanted.review_revision;
    let is_newer = |file: &crate::service::review_body::ReviewFileBody| {
        let path = FilePath::clean(&file.file_path);
        seen.is_some_and(|seen| path.is_some_and(|path| inner.workspace.revision_of(&path) > seen))
    };
    if let Some(file) = review.files.iter().find(|file| is_newer(file)) {
        let message = format!("{} changed after this review; look at it again", file.file_path);
        let data = json!({ "file_path": file.file_path, "revision": review.revision });
        return Err(ApiError::new(Code::Stale, message).with_data(data));
    }
    let mut accepted = Vec::new();
    for id in &wanted.accepted_hunk_ids {
        match inner.workspace.is_hunk_pending(id, &job.runs) {
            Some(true) => accepted.push(id.clone()),
            Some(false) => {}
            None => return Err(ApiError::unknown("pending hunk", id)),
        }
    }
    let is_accepted = |id: &str| accepted.iter().any(|accepted| inner.workspace.share_changes(accepted, id));
    let others = known.into_iter().filter(|id| !is_accepted(id)).cloned().collect();
    Ok(Applying { accepted, others })
}

/// Reports a conflict, and starts a re-run unless there were too many. Returns the error for the caller.
async fn conflict(inner: &Shared<Inner>, job: &JobRecord, files: &[FilePath], may_rerun: bool) -> ApiError {
    let paths: Vec<String> = files.iter().map(ToString::to_string).collect();
    let message = format!("{} changed on disk since the edits were proposed; nothing was written", paths.join(", "));
    let mut error = ApiError::new(Code::Conflict, message);
    // A job that failed or was cancelled does not start again.
    let mut reruns = may_rerun && !job.status.is_terminal() && job.n_reruns < inner.limits.max_reruns;
    // The model does not work in an archived session.
    reruns &= inner.session(&job.session_id).await.is_ok_and(|session| session.status == SessionStatus::Active);
    let detected = inner
        .change_job(&job.job_id, |_, job, changes| {
            job.control.applying = None;
            job.control.rerun = reruns.then(|| paths.clone());
            changes.review_event(job, "conflict.detected", json!({ "files": paths }));
            Ok(())
        })
        .await;
    let mut rerun = match detected {
        Ok(_) if reruns => driver::rerun(inner, &job.job_id, files).await,
        outcome => outcome.map(|_| false),
    };
    if reruns && !rerun.as_ref().is_ok_and(|started| *started) {
        rerun = inner.forget_application(&job.job_id).await.and(rerun);
    }
    if !reruns {
        error.suggestions = vec![
            "apply again with \"rebase\": true, which writes the hunks that do not overlap with the change on disk"
                .to_owned(),
        ];
    }
    error.data = json!({
        "files": paths,
        "rerun": rerun.as_ref().is_ok_and(|started| *started),
        "n_reruns": job.n_reruns + u64::from(rerun.as_ref().is_ok_and(|started| *started)),
        "max_reruns": inner.limits.max_reruns,
    });
    if let Err(failed) = rerun {
        error.data["rerun_error"] = serde_json::to_value(failed.body()).unwrap_or_default();
    }
    error
}
