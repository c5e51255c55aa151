//! Rewind: a session goes back to before a job, in its conversation, its files, or both; and the undo of that.

use emend_edit::size::compact_sort::set_of;
use serde_json::json;

use crate::environment::FilePath;
use crate::error_code::Code;
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::bodies::{RewindReply, RewindRequest, UnwindReply, UnwindRequest};
use crate::service::inner::Inner;
use crate::service::records::{JobRecord, Rewound};
use crate::service::slot::Agent;
use crate::workspace::{ReviewError, UndoneRun};

/// Takes a session back to before a job: first its files, which can fail, and then its conversation.
pub(super) async fn rewind(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<RewindReply> {
    let wanted: RewindRequest = body(request)?;
    if !wanted.conversation && !wanted.files {
        return Err(ApiError::new(Code::InvalidArgument, "nothing to rewind: both conversation and files are false"));
    }
    let session = inner.session(session_id).await?;
    let jobs = inner.store.jobs(session_id).await?;
    let at = jobs.iter().position(|job| job.job_id == wanted.job_id);
    let later = &jobs[at.ok_or_else(|| ApiError::unknown("job of this session", &wanted.job_id))?..];
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    if inner.is_at_work(&session).await? || later.iter().any(|job| job.status.holds_slot()) {
        return Err(busy());
    }
    let job = &later[0];
    let cut = if wanted.conversation { Some(Cut::before(inner.agent(&session).await?, job)?) } else { None };
    let runs: Vec<u64> = later.iter().flat_map(|job| job.runs.iter().copied()).collect();
    let removed_messages = cut.as_ref().map_or(0, |cut| (cut.entries.len() - cut.n_kept) as u64);
    if wanted.preview {
        let undone = match wanted.files {
            true => inner.workspace.preview_undo_runs(&runs).await?,
            false => UndoneRun::default(),
        };
        return Ok(reply(job, removed_messages, undone));
    }
    let deciding = inner.begin_decision().await;
    if let Some(cut) = &cut {
        inner.keep_conversation(session_id, &cut.entries).await?;
    }
    let undone = if wanted.files { inner.workspace.undo_runs(&runs).await? } else { UndoneRun::default() };
    if let Some(cut) = cut {
        cut.agent.session.rewind(cut.n_kept).await?;
    }
    inner.settle_decision(&deciding, "rewind").await?;
    let data = json!({
        "job_id": job.job_id,
        "conversation": wanted.conversation,
        "files": wanted.files,
        "removed_messages": removed_messages,
    });
    let files = !undone.restored.is_empty();
    inner
        .change(session_id, |session, changes| {
            let runs = if files { runs } else { Vec::new() };
            session.rewound = Some(Rewound { job_id: job.job_id.clone(), removed_messages, files, runs });
            changes.session_event("session.rewound", data);
            Ok(())
        })
        .await?;
    Ok(reply(job, removed_messages, undone))
}

/// Undoes the last rewind of a session: first in its files, which can refuse it, and then in its conversation.
pub(super) async fn undo(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<UnwindReply> {
    let wanted: UnwindRequest = body(request)?;
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    let session = inner.session(session_id).await?;
    if inner.is_at_work(&session).await? {
        return Err(busy());
    }
    let nothing = || ApiError::new(Code::Conflict, "there is no rewind to undo, or a job came after it");
    let rewound = session.rewound.clone().ok_or_else(nothing)?;
    let whole = match rewound.removed_messages {
        0 => None,
        _ => Some((inner.agent(&session).await?, inner.kept_conversation(session_id).await?.ok_or_else(nothing)?)),
    };
    let deciding = inner.begin_decision().await;
    let (restored, kept) = match rewound.files && wanted.files {
        true => {
            check_redo(inner, &rewound)?;
            let redone = inner.workspace.redo_runs().await.map_err(|error| match error {
                ReviewError::Nothing { .. } => too_late(),
                error => error.into(),
            })?;
            (paths(redone.restored), paths(redone.kept))
        }
        false => Default::default(),
    };
    if let Some((agent, entries)) = whole {
        agent.session.unwind(entries).await?;
    }
    inner.reopen("rewind").await?;
    inner.settle_decision(&deciding, "rewind").await?;
    let restored_messages = rewound.removed_messages;
    let data = json!({ "job_id": rewound.job_id, "restored_messages": restored_messages, "restored": restored });
    inner
        .change(session_id, |session, changes| {
            session.rewound = None;
            changes.session_event("session.rewind_undone", data);
            Ok(())
        })
        .await?;
    Ok(UnwindReply { restored_messages, restored, kept })
}

/// Checks that a redo would bring back the edits of a rewind, and no others.
fn check_redo(inner: &Inner, rewound: &Rewound) -> ApiResult<()> {
    let next = inner.workspace.runs_to_redo();
    if !next.is_empty() && next.iter().all(|run| rewound.runs.contains(run)) {
        return Ok(());
    }
    Err(too_late())
}

fn too_late() -> ApiError {
    let message =
        "edits or decisions came after the rewind, so its files stay; `\"files\": false` restores the conversation alone";
    ApiError::new(Code::Conflict, message)
}

/// The conversation of a session, and where it is cut.
struct Cut {
    agent: Agent,
    entries: Vec<HistoryEntry>,
    n_kept: usize,
}

impl Cut {
    fn before(agent: Agent, job: &JobRecord) -> ApiResult<Self> {
        let n_before = job.n_messages_before as usize;
        let entries = agent.session.entries();
        let begins_here = |entry: &HistoryEntry| {
            entry.kind == HistoryEntryKind::User && entry.message.text().contains(job.instruction.trim())
        };
        // A job that failed before its message was recorded removes nothing.
        if entries.len() > n_before && !begins_here(&entries[n_before]) {
            let message =
                "the conversation was shortened since this job, so it cannot go back to it; rewind files only";
            return Err(ApiError::new(Code::Conflict, message));
        }
        Ok(Self { agent, n_kept: n_before.min(entries.len()), entries })
    }
}

impl Inner {
    /// Keeps the whole conversation for the undo of a rewind.
    async fn keep_conversation(&self, session_id: &str, entries: &[HistoryEntry]) -> ApiResult<()> {
        let name = name_of_kept(session_id);
        let lines: Result<Vec<String>, _> = entries.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| ApiError::new(Code::Internal, error.to_string()))?;
        self.conversations.remove(&name).await?;
        self.conversations.append(&name, &lines.iter().map(|line| format!("{line}\n")).collect::<String>()).await?;
        Ok(())
    }

    async fn kept_conversation(&self, session_id: &str) -> ApiResult<Option<Vec<HistoryEntry>>> {
        let Some(text) = self.conversations.load(&name_of_kept(session_id)).await? else { return Ok(None) };
        let entries: Result<_, _> = text.lines().map(serde_json::from_str).collect();
        entries.map(Some).map_err(|error| ApiError::new(Code::Internal, error.to_string()))
    }
}

fn name_of_kept(session_id: &str) -> String {
    format!("{session_id}.rewound")
}

fn busy() -> ApiError {
    ApiError::new(Code::Busy, "a job runs; wait for it or cancel it")
}

fn reply(job: &JobRecord, removed_messages: u64, undone: UndoneRun) -> RewindReply {
    let left = undone.kept.into_iter().chain(undone.blocked).chain(undone.refused);
    RewindReply {
        instruction: job.instruction.clone(),
        removed_messages,
        restored: paths(undone.restored),
        kept: paths(set_of(left).into_iter().collect()),
        lost: paths(undone.lost),
    }
}

fn paths(files: Vec<FilePath>) -> Vec<String> {
    files.iter().map(ToString::to_string).collect()
}
