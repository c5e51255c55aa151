//! Rewind: a session goes back to before a job, in its conversation, its files, or both.

use emend_edit::size::compact_sort::set_of;
use serde_json::json;

use crate::error_code::Code;
use crate::history::HistoryEntryKind;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::bodies::{RewindReply, RewindRequest};
use crate::service::inner::Inner;
use crate::workspace::UndoneRun;

/// Takes a session back to before a job.
pub(super) async fn rewind(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<RewindReply> {
    let wanted: RewindRequest = body(request)?;
    let session = inner.session(session_id).await?;
    let jobs = inner.store.jobs(session_id).await?;
    let at = jobs.iter().position(|job| job.job_id == wanted.job_id);
    let later = &jobs[at.ok_or_else(|| ApiError::unknown("job of this session", &wanted.job_id))?..];
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    if inner.is_at_work(&session).await? || later.iter().any(|job| job.status.holds_slot()) {
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
        kept: paths(set_of(undone.kept.into_iter().chain(undone.blocked)).into_iter().collect()),
        lost: paths(undone.lost),
    })
}
