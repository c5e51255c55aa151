//! Checkpoints: the states before each job, and rollback to them.

use crate::error_code::Code;
use crate::history::HistoryEntryKind;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, parameter};
use crate::service::bodies::{CheckpointList, CheckpointSummary, RewindReply, RewindRequest};
use crate::service::inner::Inner;
use crate::service::records::JobRecord;
use crate::service::store::SessionQuery;
use crate::workspace::UndoneRun;
use serde_json::json;

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

/// Takes a session back to before a job.
pub(super) async fn rewind(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<RewindReply> {
    let wanted: RewindRequest = body(request)?;
    let session = inner.session(session_id).await?;
    let jobs = inner.store.jobs(session_id).await?;
    let at = jobs.iter().position(|job| job.job_id == wanted.job_id);
    let later = &jobs[at.ok_or_else(|| ApiError::unknown("job of this session", &wanted.job_id))?..];
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    if slot.running.lock().is_some() || later.iter().any(|job| job.status.holds_slot()) {
        return Err(ApiError::new(Code::Busy, "a job runs; wait for it or cancel it"));
    }
    let job = &later[0];
    let mut removed_messages = 0;
    if wanted.conversation {
        let agent = inner.agent(&session).await?;
        let n_before = job.n_messages_before as usize;
        let entries = agent.session.entries();
        let begins_here = |entry: &crate::history::HistoryEntry| {
            entry.kind == HistoryEntryKind::User && entry.message.text().contains(job.instruction.trim())
        };
        // A job that failed before its message was recorded removes nothing.
        if entries.len() > n_before && !begins_here(&entries[n_before]) {
            let message =
                "the conversation was shortened since this job, so it cannot go back to it; rewind files only";
            return Err(ApiError::new(Code::Conflict, message));
        }
        removed_messages = agent.session.rewind(n_before).await?.len() as u64;
    }
    let undone = if wanted.files {
        let runs: Vec<u64> = later.iter().flat_map(|job| job.runs.iter().copied()).collect();
        let _deciding = inner.deciding.lock().await;
        inner.workspace.undo_runs(&runs).await?
    } else {
        UndoneRun::default()
    };
    inner.settle("rewind").await?;
    let data = json!({
        "job_id": job.job_id,
        "conversation": wanted.conversation,
        "files": wanted.files,
        "removed_messages": removed_messages,
    });
    inner
        .change(session_id, |_, changes| {
            changes.session_event("session.rewound", data);
            Ok(())
        })
        .await?;
    let paths = |files: Vec<crate::environment::FilePath>| files.iter().map(ToString::to_string).collect();
    Ok(RewindReply {
        instruction: job.instruction.clone(),
        removed_messages,
        restored: paths(undone.restored),
        kept: paths(undone.kept),
        lost: paths(undone.lost),
    })
}
