//! The states of jobs in review: they follow from the decisions on edits, also if a process was killed in between.
//!
//! A decision reaches the line logs and the files before the store has its events. A killed process can leave a job that
//! awaits review although nothing is pending, so the next process settles what it finds (`recovery`).

use std::collections::BTreeSet;

use futures::lock::MutexGuard;
use serde_json::json;

use super::api::ApiResult;
use super::ending::complete;
use super::inner::Inner;
use super::records::{Applying, JobRecord, JobStatus};
use super::review_requests::AppliedFileBody;
use crate::workspace::Applied;

/// An application of a review that this process has carried out.
pub(super) struct Application<'a> {
    pub(super) job_id: &'a str,
    pub(super) files: &'a [AppliedFileBody],
}

/// The right to decide on edits.
pub(super) struct Deciding<'a> {
    _guard: MutexGuard<'a, ()>,
    /// Workspace revision before the decision.
    revision: u64,
}

impl AppliedFileBody {
    /// Returns the files of an application as a reply shows them.
    pub(super) fn list(applied: Applied) -> Vec<Self> {
        let file = |file: crate::workspace::AppliedFile| Self {
            file_path: file.file_path.to_string(),
            applied_hunks: file.applied_hunks as u64,
            rejected_hunks: file.rejected_hunks as u64,
            conflicts: file.conflicts,
        };
        applied.files.into_iter().map(file).collect()
    }
}

impl Inner {
    /// Begins a decision on edits. No other decision is made until the value is dropped.
    pub(super) async fn begin_decision(&self) -> Deciding<'_> {
        let guard = self.deciding.lock().await;
        Deciding { _guard: guard, revision: self.workspace.revision() }
    }

    /// Completes the jobs whose edits are all decided, and reports the change of the review.
    pub(super) async fn settle(&self, what: &str) -> ApiResult<()> {
        self.settle_all(what, None, None).await
    }

    /// As [`settle`](Self::settle), after a decision. Also reports changes of the edits of ended jobs.
    pub(super) async fn settle_decision(&self, deciding: &Deciding<'_>, what: &str) -> ApiResult<()> {
        self.settle_all(what, Some(deciding), None).await
    }

    /// As [`settle_decision`](Self::settle_decision), after an application.
    pub(super) async fn settle_applied(&self, deciding: &Deciding<'_>, done: Application<'_>) -> ApiResult<()> {
        self.settle_all("apply", Some(deciding), Some(done)).await
    }

    /// Completes the jobs of which the edits of another job left no hunk: it replaced or deleted their lines.
    pub(super) async fn settle_replaced(&self, by_job: &str) -> ApiResult<()> {
        // The jobs come first: an edit of another server is known before its job awaits review.
        let open = self.store.open_jobs().await?;
        #[cfg(not(target_family = "wasm"))]
        self.refresh().await?;
        let pending = self.workspace.runs_with_pending();
        let is_left = |job: &JobRecord| job.runs.iter().any(|run| pending.contains(run));
        for job in open {
            if job.status == JobStatus::AwaitingReview && job.job_id != by_job && !is_left(&job) {
                self.settle_job(&job, &pending, "job", None).await?;
            }
        }
        Ok(())
    }

    async fn settle_all(
        &self,
        what: &str,
        deciding: Option<&Deciding<'_>>,
        done: Option<Application<'_>>,
    ) -> ApiResult<()> {
        let open = self.store.open_jobs().await?;
        #[cfg(not(target_family = "wasm"))]
        self.refresh().await?;
        let pending = self.workspace.runs_with_pending();
        let is_open = |job: &JobRecord| open.iter().any(|open| open.job_id == job.job_id);
        let mut is_told = open.iter().any(|job| job.status == JobStatus::AwaitingReview || !job.runs.is_empty());
        if let Some(deciding) = deciding {
            let runs: Vec<u64> = self.workspace.runs_changed_since(deciding.revision).into_iter().collect();
            for job in self.store.jobs_of_runs(&runs).await?.iter().filter(|job| !is_open(job)) {
                let data = json!({ "by": what, "revision": self.workspace.revision() });
                self.review_event(&job.job_id, "review.updated", data).await?;
                is_told = true;
            }
        }
        for job in &open {
            let done = done.as_ref().filter(|done| done.job_id == job.job_id);
            match job.status {
                JobStatus::AwaitingReview => self.settle_job(job, &pending, what, done).await?,
                // The user may decide while the agent works, or waits for an answer.
                _ if !job.runs.is_empty() => {
                    let data = json!({ "by": what, "revision": self.workspace.revision() });
                    self.review_event(&job.job_id, "review.updated", data).await?;
                }
                _ => {}
            }
        }
        self.store.save_edits().await?;
        if !is_told {
            self.hub.announce(|state| state.revision = self.workspace.revision());
            #[cfg(not(target_family = "wasm"))]
            if let Some(jobs) = self.shared_jobs() {
                // The edit is made. Clients of other servers see it at the next change.
                drop(jobs.tell_edit().await);
            }
        }
        Ok(())
    }

    /// Stores the state of one job in review: the end of an application, the change of the review, and the end of the job.
    pub(super) async fn settle_job(
        &self,
        job: &JobRecord,
        pending: &BTreeSet<u64>,
        what: &str,
        done: Option<&Application<'_>>,
    ) -> ApiResult<()> {
        let is_decided = !job.runs.iter().any(|run| pending.contains(run));
        let now = self.now();
        self.change_job(&job.job_id, |_, job, changes| {
            if job.status != JobStatus::AwaitingReview {
                return Ok(());
            }
            let files = match (&job.control.applying, done) {
                (Some(_), Some(done)) => Some(done.files.to_vec()),
                (Some(applying), None) => self.applied(applying),
                // Another server has told it.
                (None, _) => None,
            };
            if let Some(files) = files {
                job.control.applying = None;
                let unsaved = self.unsaved_of(&files);
                changes.event(job, "apply.completed", json!({ "applied_files": files, "unsaved": unsaved }));
            }
            changes.event(job, "review.updated", json!({ "by": what, "revision": self.workspace.revision() }));
            if is_decided {
                job.control.applying = None;
                complete(job, changes, now);
            }
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// Returns the files of an application that wait for a save.
    pub(super) fn unsaved_of(&self, files: &[AppliedFileBody]) -> Vec<String> {
        let is_applied = |path: &String| files.iter().any(|file| file.file_path == *path);
        self.unsaved().into_iter().filter(is_applied).collect()
    }

    /// Returns the result of an application that another process began, if it had an effect.
    pub(super) fn applied(&self, applying: &Applying) -> Option<Vec<AppliedFileBody>> {
        self.workspace.applied(&applying.accepted, &applying.others).map(AppliedFileBody::list)
    }

    /// Returns completed jobs to review whose edits an undo or a redo has made pending again.
    pub(super) async fn reopen(&self, what: &str) -> ApiResult<()> {
        let pending = self.workspace.runs_with_pending();
        let runs: Vec<u64> = pending.into_iter().collect();
        let jobs = self.store.jobs_of_runs(&runs).await?.into_iter();
        for job in jobs.filter(|job| job.status == JobStatus::Completed) {
            let (now, revision) = (self.now(), self.workspace.revision());
            let files = self.pending_files(&job.runs);
            self.change_job(&job.job_id, |_, job, changes| {
                job.status = JobStatus::AwaitingReview;
                job.control.has_ended = true;
                job.finished_at = None;
                job.review_revision = Some(revision);
                job.reviewed_at = Some(now);
                let data = json!({ "by": what, "files": files, "review_revision": revision });
                changes.event(job, "job.reopened", data);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Stores that an application, or the re-run after it, does not take place.
    pub(super) async fn forget_application(&self, job_id: &str) -> ApiResult<()> {
        self.change_job(job_id, |_, job, _| {
            job.control.applying = None;
            job.control.rerun = None;
            Ok(())
        })
        .await?;
        Ok(())
    }
}
