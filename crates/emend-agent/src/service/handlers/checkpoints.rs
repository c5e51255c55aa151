//! Checkpoints: the states before each job, and rollback to them.

use crate::service::api::{ApiRequest, ApiResult, parameter};
use crate::service::bodies::{CheckpointList, CheckpointSummary};
use crate::service::inner::Inner;
use crate::service::records::JobRecord;
use crate::service::store::SessionQuery;

pub(super) async fn list(inner: &Inner, request: &ApiRequest) -> ApiResult<CheckpointList> {
    let jobs = match parameter(request, "session_id") {
        Some(id) => {
            inner.session(id).await?;
            inner.store.jobs(id).await?
        }
        None => {
            let query = SessionQuery { limit: usize::MAX, ..SessionQuery::default() };
            let mut jobs = Vec::new();
            for session in inner.store.sessions(&query).await?.sessions {
                jobs.extend(inner.store.jobs(&session.session_id).await?);
            }
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
