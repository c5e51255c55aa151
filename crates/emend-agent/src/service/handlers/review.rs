//! Review: hunks, decisions, apply, undo, buffers and edits of the user.

use emend_edit::line_log::DependentsPolicy;
use serde_json::{Value, json};

use crate::environment::{Access, FilePath};
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, parameter};
use crate::service::bodies::{
    AppliedFileBody, ApplyReply, ApplyRequest, Buffer, DecideRequest, DecisionName, DependentsName, UserEditRequest,
};
use crate::service::inner::Inner;
use crate::service::records::{JobRecord, JobStatus};
use crate::service::review_body::ReviewBody;
use crate::service::run::complete;
use crate::workspace::{HunkDecision, Selection};

pub(super) async fn get(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let runs = match (parameter(request, "job_id"), parameter(request, "session_id")) {
        (Some(id), _) => Some(inner.job(id).await?.runs),
        (None, Some(id)) => {
            inner.session(id).await?;
            Some(inner.store.jobs(id).await?.into_iter().flat_map(|job| job.runs).collect())
        }
        (None, None) => None,
    };
    Ok(inner.review(runs.as_deref()))
}

impl Inner {
    /// Returns the pending hunks, all or those of some runs.
    pub(in crate::service) fn review(&self, runs: Option<&[u64]>) -> ReviewBody {
        let mut review = ReviewBody::from(self.workspace.review());
        if let Some(runs) = runs {
            let files = self.pending_files(runs);
            review.files.retain(|file| files.contains(&file.file_path));
        }
        review
    }

    pub(in crate::service) fn diff_bundle(&self, job: &JobRecord) -> ApiResult<Value> {
        let review = self.review(Some(&job.runs));
        serde_json::to_value(review).map_err(|error| ApiError::new(Code::Internal, error.to_string()))
    }

    pub(in crate::service) fn proposed_edits(&self, _job: &JobRecord) -> Value {
        json!([])
    }

    /// Completes the jobs whose edits are all decided, and reports the change of the review.
    pub(in crate::service) async fn settle(&self, what: &str) -> ApiResult<()> {
        let pending = self.workspace.runs_with_pending();
        let now = self.now();
        for job in self.store.open_jobs().await? {
            if job.status != JobStatus::AwaitingReview {
                continue;
            }
            let is_decided = !job.runs.iter().any(|run| pending.contains(run));
            self.change_job(&job.job_id, |_, job, changes| {
                changes.event(job, "review.updated", json!({ "by": what, "revision": self.workspace.revision() }));
                if is_decided && job.status == JobStatus::AwaitingReview {
                    complete(job, changes, now);
                }
                Ok(())
            })
            .await?;
        }
        Ok(())
    }
}

pub(super) async fn decide(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let wanted: DecideRequest = body(request)?;
    let selection = match (wanted.hunk_ids, wanted.file_path, wanted.all) {
        (Some(ids), None, false) => Selection::Hunks(ids),
        (None, Some(path), false) => Selection::All(Some(file(inner, &path).await?)),
        (None, None, true) => Selection::All(None),
        _ => {
            let message = "name what to decide on: hunk_ids, file_path, or all: true";
            return Err(ApiError::new(Code::InvalidArgument, message));
        }
    };
    let decision = match wanted.decision {
        DecisionName::Accept => HunkDecision::Accept,
        DecisionName::AcceptOver => HunkDecision::AcceptOver,
        DecisionName::Reject => HunkDecision::Reject(match wanted.dependents {
            DependentsName::Refuse if matches!(selection, Selection::All(_)) => DependentsPolicy::OnlyThese,
            DependentsName::Refuse => DependentsPolicy::Refuse,
            DependentsName::Only => DependentsPolicy::OnlyThese,
            DependentsName::With => DependentsPolicy::WithDependents,
        }),
    };
    let _deciding = inner.deciding.lock().await;
    let review = inner.workspace.decide(selection, decision).await?;
    inner.settle("decision").await?;
    Ok(review.into())
}

async fn file(inner: &Inner, path: &str) -> ApiResult<FilePath> {
    Ok(inner.workspace.environment().resolve(path, Access::Read).await?)
}

pub(super) async fn step(inner: &Inner, is_redo: bool) -> ApiResult<ReviewBody> {
    let _deciding = inner.deciding.lock().await;
    let review = if is_redo { inner.workspace.redo().await? } else { inner.workspace.undo().await? };
    inner.settle(if is_redo { "redo" } else { "undo" }).await?;
    Ok(review.into())
}

pub(super) async fn apply(inner: &Inner, request: &ApiRequest) -> ApiResult<ApplyReply> {
    let wanted: ApplyRequest = body(request)?;
    let job = inner.job(&wanted.job_id).await?;
    if job.session_id != wanted.session_id {
        return Err(ApiError::unknown("job of this session", &wanted.job_id));
    }
    if job.status != JobStatus::AwaitingReview {
        let message = "the job does not await review";
        return Err(ApiError::new(Code::Conflict, message).with_data(json!({ "status": job.status })));
    }
    let _deciding = inner.deciding.lock().await;
    let review = inner.review(Some(&job.runs));
    let known: Vec<&str> = review.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.hunk_id.as_str()).collect();
    if let Some(unknown) = wanted.accepted_hunk_ids.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(ApiError::unknown("pending hunk", unknown));
    }
    let is_accepted = |id: &str| wanted.accepted_hunk_ids.iter().any(|accepted| accepted == id);
    let mut applied_files = Vec::new();
    let mut rejected = Vec::new();
    for file in &review.files {
        let applied = file.hunks.iter().filter(|hunk| is_accepted(&hunk.hunk_id)).count() as u64;
        rejected.extend(file.hunks.iter().map(|hunk| hunk.hunk_id.clone()).filter(|id| !is_accepted(id)));
        applied_files.push(AppliedFileBody {
            file_path: file.file_path.clone(),
            applied_hunks: applied,
            rejected_hunks: file.hunks.len() as u64 - applied,
        });
    }
    inner.workspace.accept(&wanted.accepted_hunk_ids).await?;
    inner.workspace.reject(&rejected, DependentsPolicy::OnlyThese).await?;
    inner.settle("apply").await?;
    let status = inner.job(&wanted.job_id).await?.status;
    Ok(ApplyReply { status, applied_files })
}

pub(super) async fn buffer(inner: &Inner, request: &ApiRequest) -> ApiResult<Buffer> {
    let path = parameter(request, "file_path");
    let path = path.ok_or_else(|| ApiError::new(Code::InvalidArgument, "the parameter file_path is missing"))?;
    buffer_of(inner, path).await
}

async fn buffer_of(inner: &Inner, path: &str) -> ApiResult<Buffer> {
    let file = file(inner, path).await?;
    let content = inner.workspace.text(path).await?;
    let saved_content = inner.workspace.saved_text(path).await?;
    if content.is_none() && saved_content.is_none() {
        return Err(ApiError::unknown("file", path));
    }
    let revision = inner.workspace.revision_of(&file);
    let review = inner.workspace.review();
    let pending = review.files.iter().find(|found| found.path == file).map_or(0, |found| found.hunks.len());
    Ok(Buffer { file_path: file.to_string(), content, saved_content, revision, pending_hunks: pending as u64 })
}

pub(super) async fn user_edit(inner: &Inner, request: &ApiRequest) -> ApiResult<Buffer> {
    let wanted: UserEditRequest = body(request)?;
    let (text, base) = (wanted.content.as_deref(), wanted.base.as_deref());
    let file = inner.workspace.user_edit(&wanted.file_path, text, base).await?;
    inner.settle("user_edit").await?;
    if text.is_none() {
        let revision = inner.workspace.revision_of(&file);
        let file_path = file.to_string();
        return Ok(Buffer { file_path, content: None, saved_content: None, revision, pending_hunks: 0 });
    }
    buffer_of(inner, &wanted.file_path).await
}
