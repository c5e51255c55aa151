//! Checkpoints: the states before each job, comparison with them, and rollback to them.

use serde_json::json;

use crate::environment::KeptPreview;
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, parameter};
use crate::service::bodies::{CheckpointList, CheckpointSummary};
use crate::service::changes::Changes;
use crate::service::checkpoint_bodies::{
    CheckpointBody, CheckpointFileBody, CheckpointHunkBody, Diff3Body, OtherFileBody, RollbackBody, RollbackModeName,
    RollbackReply, RolledBackFileBody,
};
use crate::service::handlers::review::file;
use crate::service::inner::Inner;
use crate::service::records::{JobRecord, RollingBack, SessionRecord};
use crate::service::settle::Deciding;
use crate::workspace::{RollbackMode, RollbackRequest};

pub(super) async fn list(inner: &Inner, request: &ApiRequest) -> ApiResult<CheckpointList> {
    let jobs = match parameter(request, "session_id") {
        Some(id) => {
            let purged = inner.session(id).await?.purged.into_iter().map(|job| job.job(id));
            purged.chain(inner.store.jobs(id).await?).collect()
        }
        None => {
            let runs: Vec<u64> = inner.workspace.runs().iter().map(|run| run.run_id).collect();
            let mut jobs = inner.purged_jobs().await?;
            jobs.extend(inner.store.jobs_of_runs(&runs).await?);
            jobs.sort_by_key(|job| job.created_at);
            jobs
        }
    };
    Ok(CheckpointList { checkpoints: jobs.into_iter().filter_map(|job| summary(inner, job)).collect() })
}

/// Returns the checkpoint of a job that changed files.
fn summary(inner: &Inner, job: JobRecord) -> Option<CheckpointSummary> {
    let runs: Vec<_> = inner.workspace.runs().into_iter().filter(|run| job.runs.contains(&run.run_id)).collect();
    let mut affected_files: Vec<String> = runs.iter().flat_map(|run| &run.files).map(ToString::to_string).collect();
    affected_files.sort();
    affected_files.dedup();
    let checkpoint_id = job.checkpoint_id.filter(|_| !runs.is_empty())?;
    Some(CheckpointSummary {
        checkpoint_id,
        session_id: job.session_id,
        job_id: job.job_id,
        created_at: job.started_at.unwrap_or(job.created_at),
        affected_files,
        is_on: runs.iter().any(|run| run.is_on),
    })
}

impl Inner {
    /// Returns the job of a checkpoint. A job that changed nothing has one without files.
    async fn job_of_checkpoint(&self, id: &str) -> ApiResult<JobRecord> {
        let unknown = || ApiError::unknown("checkpoint", id);
        let job_id = format!("job_{}", id.strip_prefix("cp_").ok_or_else(unknown)?);
        match self.store.job(&job_id).await? {
            Some(job) => Some(job).filter(|job| job.checkpoint_id.is_some()),
            None => self.purged_job(&job_id).await?,
        }
        .ok_or_else(unknown)
    }

    /// Changes the session of a job, which may be purged, with an event about its review.
    async fn tell_rollback(
        &self,
        job: &JobRecord,
        tell: impl FnOnce(&mut SessionRecord, &JobRecord, &mut Changes),
    ) -> ApiResult<()> {
        match self.store.job(&job.job_id).await? {
            Some(_) => {
                let change = |session: &mut SessionRecord, job: &mut JobRecord, changes: &mut Changes| {
                    tell(session, job, changes);
                    Ok(())
                };
                self.change_job(&job.job_id, change).await?;
            }
            None => {
                let change = |session: &mut SessionRecord, changes: &mut Changes| {
                    tell(session, job, changes);
                    Ok(())
                };
                self.change(&job.session_id, change).await?;
            }
        }
        Ok(())
    }
}

pub(super) async fn get(inner: &Inner, id: &str) -> ApiResult<CheckpointBody> {
    let job = inner.job_of_checkpoint(id).await?;
    let mut found = CheckpointBody {
        checkpoint_id: id.to_owned(),
        session_id: job.session_id,
        job_id: job.job_id,
        created_at: job.started_at.unwrap_or(job.created_at),
        affected_files: Vec::new(),
        files: Vec::new(),
        not_undoable: Vec::new(),
    };
    for run in &job.runs {
        // A run that changed nothing has no checkpoint.
        let Ok(checkpoint) = inner.workspace.checkpoint(*run) else { continue };
        found.affected_files.extend(checkpoint.affected_files.iter().map(ToString::to_string));
        found.not_undoable.extend(checkpoint.not_undoable.iter().map(ToString::to_string));
        for file in checkpoint.files {
            let hunks = file.hunks.into_iter().map(|hunk| CheckpointHunkBody {
                hunk_id: hunk.hunk_id,
                status: serde_json::to_value(hunk.status)
                    .ok()
                    .and_then(|name| Some(name.as_str()?.to_owned()))
                    .unwrap_or_default(),
                reverse_patch: hunk.reverse_patch,
            });
            let path = file.file_path.to_string();
            // The state before the job is that before its first run.
            match found.files.iter_mut().find(|known| known.file_path == path) {
                Some(known) => known.hunks.extend(hunks),
                None => found.files.push(CheckpointFileBody {
                    file_path: path,
                    base_snapshot_hash: file.base_snapshot_hash.to_string(),
                    hunks: hunks.collect(),
                }),
            }
        }
    }
    for paths in [&mut found.affected_files, &mut found.not_undoable] {
        paths.sort();
        paths.dedup();
    }
    Ok(found)
}

pub(super) async fn diff3(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<Diff3Body> {
    let job = inner.job_of_checkpoint(id).await?;
    let path = parameter(request, "file_path");
    let path = path.ok_or_else(|| ApiError::new(Code::InvalidArgument, "the parameter file_path is missing"))?;
    let file = file(inner, path).await?;
    let texts = inner.workspace.diff3(&job.runs, &file).await?;
    Ok(Diff3Body {
        file_path: file.to_string(),
        current_file: texts.current_file,
        checkpoint_base: texts.checkpoint_base,
        agent_proposed: texts.agent_proposed,
    })
}

pub(super) async fn roll_back(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<RollbackReply> {
    let wanted: RollbackBody = body(request)?;
    let job = inner.job_of_checkpoint(id).await?;
    let asked = RollbackRequest { preview: wanted.preview, ..inner.rollback_of(&job, &wanted).await? };
    if wanted.preview {
        let others = inner.other_files(&asked, wanted.save).await?;
        let effect = inner.workspace.rollback(&asked).await?;
        return Ok(inner.rolled_back("preview", effect, others));
    }
    let deciding = inner.begin_decision().await;
    let expected = inner.workspace.rollback(&RollbackRequest { preview: true, ..asked.clone() }).await?;
    let (save, data) = (wanted.save, json!({ "checkpoint_id": id, "mode": wanted.mode }));
    let files = inner.rolled_back("preview", expected, Vec::new()).files;
    let others = inner.other_files(&asked, save).await?;
    let plan = RollingBack { job_id: job.job_id.clone(), request: wanted, files };
    let begin = |session: &mut SessionRecord, job: &JobRecord, changes: &mut Changes| {
        session.rolling_back = Some(plan);
        changes.review_event(job, "checkpoint.rollback.started", data);
    };
    inner.tell_rollback(&job, begin).await?;
    match inner.saving(save).rollback(&asked).await {
        Ok(effect) => {
            let has_conflicts = effect.files.iter().any(|file| !file.conflicts.is_empty());
            let reply = inner.rolled_back(if has_conflicts { "conflict" } else { "completed" }, effect, others);
            inner.end_rollback(&job, Ok(&reply.files), &deciding).await?;
            Ok(reply)
        }
        Err(error) => {
            let error = ApiError::from(error);
            inner.end_rollback(&job, Err(&error), &deciding).await?;
            Err(error)
        }
    }
}

impl Inner {
    /// Returns what a request asks of the workspace.
    async fn rollback_of(&self, job: &JobRecord, wanted: &RollbackBody) -> ApiResult<RollbackRequest> {
        let mode = match wanted.mode {
            RollbackModeName::HardAll if !wanted.hunk_ids.is_empty() => {
                let message = "hard_all takes all hunks back; hunk_ids must be empty";
                return Err(ApiError::new(Code::InvalidArgument, message));
            }
            RollbackModeName::HardAll => RollbackMode::HardAll,
            RollbackModeName::ScopedSelected => RollbackMode::ScopedSelected,
        };
        let files = match &wanted.file_paths {
            Some(paths) => {
                let mut files = Vec::new();
                for path in paths {
                    files.push(file(self, path).await?);
                }
                Some(files)
            }
            None => None,
        };
        let (runs, hunk_ids) = (job.runs.clone(), wanted.hunk_ids.clone());
        Ok(RollbackRequest { mode, runs, hunk_ids, preview: true, files })
    }

    /// Settles the jobs after a rollback, and stores its end.
    async fn end_rollback(
        &self,
        job: &JobRecord,
        outcome: Result<&Vec<RolledBackFileBody>, &ApiError>,
        deciding: &Deciding<'_>,
    ) -> ApiResult<()> {
        if outcome.is_ok() {
            self.reopen("rollback").await?;
            self.settle_decision(deciding, "rollback").await?;
        }
        self.tell_rollback(job, |session, job, changes| {
            // Another server has told it.
            let Some(plan) = session.rolling_back.take() else { return };
            let mut data = json!({ "checkpoint_id": job.checkpoint_id, "mode": plan.request.mode });
            let kind = match outcome {
                Ok(files) => {
                    data["files"] = serde_json::to_value(files).unwrap_or_default();
                    "checkpoint.rollback.completed"
                }
                Err(error) => {
                    data["error"] = serde_json::to_value(error.body()).unwrap_or_default();
                    "checkpoint.rollback.failed"
                }
            };
            changes.review_event(job, kind, data);
        })
        .await
    }

    /// Tells how a rollback of a former process ended. All files of a rollback change in one step, or none.
    pub(in crate::service) async fn complete_rollback(&self, session: &SessionRecord) -> ApiResult<()> {
        let Some(plan) = &session.rolling_back else { return Ok(()) };
        let deciding = self.begin_decision().await;
        let job = self.job_of_checkpoint(&plan.job_id.replacen("job_", "cp_", 1)).await?;
        let left = match self.rollback_of(&job, &plan.request).await {
            Ok(asked) => self.workspace.rollback(&asked).await.map_err(ApiError::from),
            Err(error) => Err(error),
        };
        let n_reverted = |files: &[RolledBackFileBody]| files.iter().map(|file| file.reverted).sum::<u64>();
        let is_left = left.map(|effect| {
            let files = self.rolled_back("preview", effect, Vec::new()).files;
            n_reverted(&files) > 0 || (n_reverted(&plan.files) == 0 && files == plan.files)
        });
        match is_left {
            Ok(false) => self.end_rollback(&job, Ok(&plan.files), &deciding).await,
            Ok(true) => self.end_rollback(&job, Err(&interrupted()), &deciding).await,
            Err(error) => self.end_rollback(&job, Err(&error), &deciding).await,
        }
    }
}

fn interrupted() -> ApiError {
    ApiError::new(Code::Aborted, "the process ended before the rollback; no file has changed")
}

impl Inner {
    /// Returns the paths beside texts that a rollback concerns. Only a hard one with `save` restores them.
    async fn other_files(&self, asked: &RollbackRequest, save: bool) -> ApiResult<Vec<OtherFileBody>> {
        let is_hard = asked.mode == RollbackMode::HardAll && asked.files.is_none();
        let others = if is_hard { self.workspace.other_changes(&asked.runs, true).await? } else { Vec::new() };
        let other = |change: KeptPreview| OtherFileBody {
            file_path: change.path.to_string(),
            restored: save && !change.is_blocked,
        };
        Ok(others.into_iter().map(other).collect())
    }

    fn rolled_back(
        &self,
        status: &str,
        effect: crate::workspace::Rollback,
        mut other_files: Vec<OtherFileBody>,
    ) -> RollbackReply {
        for other in &mut other_files {
            let is_path = |path: &crate::environment::FilePath| path.as_str() == other.file_path;
            other.restored &= !effect.kept.iter().any(is_path) || effect.restored.iter().any(is_path);
        }
        let refused = effect.files.iter().filter(|file| file.refused).map(|file| file.file_path.to_string());
        other_files.extend(refused.map(|file_path| OtherFileBody { file_path, restored: false }));
        let file = |file: crate::workspace::RolledBackFile| RolledBackFileBody {
            file_path: file.file_path.to_string(),
            reverted: file.reverted as u64,
            reverted_from_user: file.reverted_from_user as u64,
            kept: file.kept as u64,
            conflicts: file.conflicts,
        };
        let undoable = effect.is_step && status != "preview";
        let files: Vec<RolledBackFileBody> = effect.files.into_iter().map(file).collect();
        let is_affected = |path: &String| files.iter().any(|file| file.file_path == *path);
        let unsaved = self.unsaved().into_iter().filter(is_affected).collect();
        RollbackReply { status: status.to_owned(), files, other_files, unsaved, undoable }
    }
}
