//! Review: hunks, decisions, apply, undo, buffers and edits of the user.

use emend_edit::line_log::DependentsPolicy;
use emend_llm::Shared;
use serde_json::{Value, json};

use crate::environment::{Access, EnvError, FilePath};
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, parameter};
use crate::service::inner::Inner;
use crate::service::records::{JobRecord, JobStatus};
use crate::service::review_body::ReviewBody;
use crate::service::review_requests::{
    Buffer, DecideRequest, DecisionName, DependentsName, EditHunkRequest, HunkLinesBody, ReplacedLinesBody, SaveReply,
    SaveRequest, SavedFileBody, SplitRequest, StepRequest, TouchedBody, TouchedFileBody, UserEditRequest,
};
use crate::workspace::{HunkDecision, HunkLines, ReplacedLines, Review, ReviewError, ReviewFile, Selection, Workspace};

pub(super) async fn get(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let runs = match (parameter(request, "job_id"), parameter(request, "session_id")) {
        (Some(id), _) => Some(inner.job(id).await?.runs),
        (None, Some(id)) => {
            let session = inner.session(id).await?;
            let jobs = inner.store.jobs(id).await?.into_iter();
            Some(jobs.flat_map(|job| job.runs).chain(session.runs_without_job()).collect())
        }
        (None, None) => None,
    };
    // Another program may have changed the files. A file that cannot be read is shown as it is known.
    for file in inner.workspace.review_of(runs.as_deref()).files {
        drop(inner.workspace.text(file.path.as_str()).await);
    }
    Ok(inner.review(runs.as_deref()))
}

impl Inner {
    /// Returns the pending hunks, all or those of some runs.
    pub(in crate::service) fn review(&self, runs: Option<&[u64]>) -> ReviewBody {
        self.reviewed(self.workspace.review_of(runs))
    }

    /// Returns a review as a reply, with the files that wait for a save.
    fn reviewed(&self, review: Review) -> ReviewBody {
        ReviewBody::of(review, self.unsaved())
    }

    /// Returns the files that wait for a save.
    pub(in crate::service) fn unsaved(&self) -> Vec<String> {
        self.workspace.unsaved().iter().map(ToString::to_string).collect()
    }

    /// Returns the workspace for a change of the user that is saved at once, or waits for a save.
    pub(in crate::service) fn saving(&self, saves: bool) -> Shared<Workspace> {
        if saves { Shared::clone(&self.workspace) } else { Shared::new(self.workspace.deferring_saves()) }
    }

    /// Returns the hunks of a job, decided ones included.
    pub(in crate::service) fn diff_bundle(&self, job: &JobRecord) -> ApiResult<Value> {
        let mut bundle = data_of(&self.workspace.bundle(&job.runs))?;
        bundle["job_id"] = json!(job.job_id);
        bundle["review_revision"] = json!(job.review_revision);
        Ok(bundle)
    }

    /// Returns the edits of a job, whatever tool made them, with the reasons that the model gave.
    pub(in crate::service) fn proposed_edits(&self, job: &JobRecord) -> ApiResult<Value> {
        let mut edits = self.workspace.proposed_edits(&job.runs);
        for edit in &mut edits {
            let name = edit.edit_id.split('#').next().unwrap_or_default();
            edit.rationale = job.rationales.get(name).cloned();
        }
        data_of(&edits)
    }

    /// Returns the files of a job that another program changed after the job entered review.
    pub(in crate::service) async fn changed_since_review(&self, job: &JobRecord) -> ApiResult<Vec<FilePath>> {
        let files = self.workspace.pending_files(&job.runs);
        for file in &files {
            // Records a change on disk that no operation has noticed yet.
            self.workspace.text(file.as_str()).await?;
        }
        let since = job.reviewed_at.unwrap_or(job.created_at).0;
        Ok(files.into_iter().filter(|file| self.workspace.has_external_change(file, since)).collect())
    }

    /// Returns whether edits of a job wait for the user's decision, and the agent does not work on it.
    pub(in crate::service) fn is_in_review(&self, job: &JobRecord) -> bool {
        job.status == JobStatus::AwaitingReview
            || (job.status.is_terminal() && !self.workspace.pending_files(&job.runs).is_empty())
    }

    /// Stores an event about the review of a job, one of its session if the job has ended.
    pub(in crate::service) async fn review_event(&self, job_id: &str, kind: &str, data: Value) -> ApiResult<()> {
        self.change_job(job_id, |_, job, changes| {
            changes.review_event(job, kind, data);
            Ok(())
        })
        .await?;
        Ok(())
    }
}

/// Hunks that a request selects: whole ones, or some of their lines.
enum Selected {
    Hunks(Selection),
    Lines(Vec<HunkLines>),
}

async fn selected(inner: &Inner, wanted: &DecideRequest) -> ApiResult<(Selected, HunkDecision)> {
    let selected = match wanted {
        DecideRequest { hunk_ids: Some(ids), lines: None, file_path: None, job_id: None, all: false, .. } => {
            Selected::Hunks(Selection::Hunks(ids.clone()))
        }
        DecideRequest { hunk_ids: None, lines: Some(lines), file_path: None, job_id: None, all: false, .. } => {
            let size = |line: &u64| usize::try_from(*line).unwrap_or(usize::MAX);
            let part = |part: &HunkLinesBody| HunkLines {
                hunk_id: part.hunk_id.clone(),
                lines: part.lines.iter().map(size).collect(),
            };
            Selected::Lines(lines.iter().map(part).collect())
        }
        DecideRequest { hunk_ids: None, lines: None, file_path: Some(path), job_id: None, all: false, .. } => {
            Selected::Hunks(Selection::All(Some(file(inner, path).await?)))
        }
        DecideRequest { hunk_ids: None, lines: None, file_path: None, job_id: Some(id), all: false, .. } => {
            Selected::Hunks(Selection::Runs(inner.job(id).await?.runs))
        }
        DecideRequest { hunk_ids: None, lines: None, file_path: None, job_id: None, all: true, .. } => {
            Selected::Hunks(Selection::All(None))
        }
        _ => {
            let message = "name exactly one of hunk_ids, lines, file_path, job_id and all";
            return Err(ApiError::new(Code::InvalidArgument, message));
        }
    };
    let is_bulk = wanted.file_path.is_some() || wanted.all;
    let decision = match wanted.decision {
        DecisionName::Accept => HunkDecision::Accept,
        DecisionName::AcceptOver => HunkDecision::AcceptOver,
        DecisionName::Reject => HunkDecision::Reject(match wanted.dependents {
            // A bulk rejection never takes lines of the user.
            DependentsName::Refuse if is_bulk => DependentsPolicy::OnlyThese,
            DependentsName::Refuse => DependentsPolicy::Refuse,
            DependentsName::Only => DependentsPolicy::OnlyThese,
            DependentsName::With => DependentsPolicy::WithDependents,
        }),
    };
    Ok((selected, decision))
}

pub(super) async fn decide(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let wanted: DecideRequest = body(request)?;
    let deciding = inner.begin_decision().await;
    let workspace = inner.saving(wanted.save);
    let (review, scope) = match selected(inner, &wanted).await? {
        (Selected::Hunks(selection), decision) => {
            let scope = (decision == HunkDecision::Accept).then(|| selection.clone());
            (workspace.decide(selection, decision).await?, scope)
        }
        (Selected::Lines(lines), decision) => (workspace.decide_lines(&lines, decision).await?, None),
    };
    // Without an edit that had replaced them, edits of another job are pending again.
    inner.reopen("decision").await?;
    inner.settle_decision(&deciding, "decision").await?;
    let skipped_hunk_ids = match scope {
        Some(Selection::All(path)) => contested(&review, |file| path.as_ref().is_none_or(|path| *path == file.path)),
        Some(Selection::Runs(runs)) => contested(&inner.workspace.review_of(Some(&runs)), |_| true),
        Some(Selection::Hunks(_)) | None => Vec::new(),
    };
    Ok(ReviewBody { skipped_hunk_ids, ..inner.reviewed(review) })
}

/// Returns the ids of the contested hunks in some files.
fn contested(review: &Review, is_wanted: impl Fn(&ReviewFile) -> bool) -> Vec<String> {
    let hunks = review.files.iter().filter(|file| is_wanted(file)).flat_map(|file| &file.hunks);
    hunks.filter(|hunk| hunk.contested).map(|hunk| hunk.id.clone()).collect()
}

pub(super) async fn preview(inner: &Inner, request: &ApiRequest) -> ApiResult<TouchedBody> {
    let wanted: DecideRequest = body(request)?;
    let touched = match selected(inner, &wanted).await? {
        (Selected::Hunks(selection), decision) => inner.workspace.preview(selection, decision).await?,
        (Selected::Lines(lines), decision) => inner.workspace.preview_lines(&lines, decision).await?,
    };
    let file = |file: crate::workspace::TouchedFile| TouchedFileBody {
        file_path: file.path.to_string(),
        hunks: file.hunks as u64,
        contested: file.contested as u64,
        oversized: file.oversized as u64,
        also_accepted: file.also_accepted as u64,
        dependents_from_user: file.dependents_from_user as u64,
        removes_user_lines: file.removes_user_lines as u64,
        refused: file.refused,
    };
    Ok(TouchedBody { files: touched.files.into_iter().map(file).collect() })
}

pub(super) async fn split(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let SplitRequest { hunk_id, line } = body(request)?;
    let _deciding = inner.begin_decision().await;
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let review = inner.workspace.split(&hunk_id, line).await?;
    inner.settle("split").await?;
    Ok(inner.reviewed(review))
}

pub(super) async fn edit_hunk(inner: &Inner, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let EditHunkRequest { hunk_id, text, save } = body(request)?;
    inner.check_text(&text)?;
    let deciding = inner.begin_decision().await;
    let review = inner.saving(save).edit_hunk(&hunk_id, &text).await?;
    inner.settle_decision(&deciding, "edit_hunk").await?;
    Ok(inner.reviewed(review))
}

fn data_of(value: &impl serde::Serialize) -> ApiResult<Value> {
    serde_json::to_value(value).map_err(|error| ApiError::new(Code::Internal, error.to_string()))
}

/// Returns a file that is on the disk, or that the workspace knows: a pending or unsaved edit creates it, or it was deleted.
pub(super) async fn file(inner: &Inner, path: &str) -> ApiResult<FilePath> {
    let environment = inner.workspace.environment();
    match environment.resolve(path, Access::Read).await {
        Err(EnvError::NotFound { path, suggestions }) => {
            let file = environment.resolve(&path, Access::Write).await?;
            if inner.workspace.revision_of(&file) > 0 {
                Ok(file)
            } else {
                Err(EnvError::NotFound { path, suggestions }.into())
            }
        }
        found => Ok(found?),
    }
}

pub(super) async fn step(inner: &Inner, is_redo: bool, request: &ApiRequest) -> ApiResult<ReviewBody> {
    let StepRequest { save } = body(request)?;
    let deciding = inner.begin_decision().await;
    let workspace = inner.saving(save);
    let review = match is_redo {
        // The disk keeps what commands changed until the user saves, and nothing saves that later.
        true if save => workspace.redo_whole().await?,
        true => workspace.redo().await?,
        false if save => workspace.undo_whole().await?,
        false => workspace.undo().await?,
    };
    let what = if is_redo { "redo" } else { "undo" };
    inner.reopen(what).await?;
    inner.settle_decision(&deciding, what).await?;
    Ok(inner.reviewed(review))
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
    let unsaved = inner.workspace.unsaved().contains(&file);
    let (file_path, pending_hunks) = (file.to_string(), pending as u64);
    Ok(Buffer { file_path, content, saved_content, revision, pending_hunks, unsaved, replaced: Vec::new() })
}

pub(super) async fn user_edit(inner: &Inner, request: &ApiRequest) -> ApiResult<Buffer> {
    let wanted: UserEditRequest = body(request)?;
    let (text, base) = (wanted.content.as_deref(), wanted.base.as_deref());
    if !wanted.allow_git {
        check_outside_git(inner, &wanted.file_path).await?;
    }
    let (file, replaced) = inner.saving(wanted.save).user_edit_over(&wanted.file_path, text, base).await?;
    inner.settle("user_edit").await?;
    if text.is_none() {
        let saved_content = inner.workspace.saved_text(&wanted.file_path).await?;
        let (revision, unsaved) = (inner.workspace.revision_of(&file), inner.workspace.unsaved().contains(&file));
        let file_path = file.to_string();
        let replaced = Vec::new();
        return Ok(Buffer { file_path, content: None, saved_content, revision, pending_hunks: 0, unsaved, replaced });
    }
    let replaced =
        replaced.into_iter().map(|ReplacedLines { line, text }| ReplacedLinesBody { line: line as u64, text });
    Ok(Buffer { replaced: replaced.collect(), ..buffer_of(inner, &wanted.file_path).await? })
}

pub(super) async fn save(inner: &Inner, request: &ApiRequest) -> ApiResult<SaveReply> {
    let SaveRequest { file_paths, rebase } = body(request)?;
    let mut files = Vec::new();
    for path in file_paths.iter().flatten() {
        let file = inner.workspace.environment().resolve(path, Access::Write).await?;
        // To read a file that waits would take in what another program has written, and the save would see no conflict.
        let is_known = inner.workspace.unsaved().contains(&file);
        files.push(file);
        if !is_known && inner.workspace.text(path).await?.is_none() && inner.workspace.saved_text(path).await?.is_none()
        {
            return Err(ApiError::unknown("file", path));
        }
    }
    let _deciding = inner.begin_decision().await;
    let saved = match inner.workspace.save(file_paths.as_ref().map(|_| files.as_slice()), rebase).await {
        Err(ReviewError::Conflict { files }) => {
            let paths: Vec<String> = files.iter().map(ToString::to_string).collect();
            let message = format!(
                "{} changed on disk since; nothing was saved. The buffer has both now: look at it and save again",
                paths.join(", ")
            );
            return Err(ApiError::new(Code::Conflict, message).with_data(json!({ "files": paths })));
        }
        saved => saved?,
    };
    inner.settle("save").await?;
    let saved =
        saved.into_iter().map(|file| SavedFileBody { file_path: file.path.to_string(), revision: file.revision });
    Ok(SaveReply { saved: saved.collect(), unsaved: inner.unsaved() })
}

/// Refuses a file in a directory `.git`: git runs programs that its files name, and a wrong text loses commits.
pub(super) async fn check_outside_git(inner: &Inner, path: &str) -> ApiResult<()> {
    let file = inner.workspace.environment().resolve(path, Access::Write).await?;
    if file.as_str().split('/').any(|name| name.eq_ignore_ascii_case(".git")) {
        let message =
            format!("{path} belongs to git, which can run programs that it names; allow_git permits the edit");
        return Err(ApiError::new(Code::PermissionDenied, message));
    }
    Ok(())
}
