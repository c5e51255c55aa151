//! Rewind: a session goes back to before a job, in its conversation, its files, or both; and the undo of that.
//!
//! The files come first, because they can refuse it. The session notes what is being carried out, so that the next process
//! completes it if this one is killed in between.

use emend_edit::size::compact_sort::set_of;
use serde_json::json;

use crate::environment::FilePath;
use crate::error_code::Code;
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::bodies::{RewindReply, RewindRequest, UnwindReply, UnwindRequest};
use crate::service::inner::Inner;
#[cfg(not(target_family = "wasm"))]
use crate::service::jobs::Held;
use crate::service::records::{JobRecord, Rewinding, Rewound, SessionRecord};
use crate::service::settle::Deciding;
use crate::service::slot::Agent;
use crate::workspace::{RedoneRuns, ReviewError, UndoneRun};

/// Takes a session back to before a job.
pub(super) async fn rewind(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<RewindReply> {
    let wanted: RewindRequest = body(request)?;
    if !wanted.conversation && !wanted.files {
        return Err(ApiError::new(Code::InvalidArgument, "nothing to rewind: both conversation and files are false"));
    }
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    #[cfg(not(target_family = "wasm"))]
    let _alone = inner.alone_with(session_id).await?;
    let session = inner.session(session_id).await?;
    let jobs = inner.store.jobs(session_id).await?;
    let at = jobs.iter().position(|job| job.job_id == wanted.job_id);
    let later = &jobs[at.ok_or_else(|| ApiError::unknown("job of this session", &wanted.job_id))?..];
    if inner.is_at_work(&session).await? || later.iter().any(|job| job.status.holds_slot()) {
        return Err(busy());
    }
    let job = &later[0];
    let cut = if wanted.conversation { Some(Cut::before(inner.agent(&session).await?, job)?) } else { None };
    let plan = Rewinding {
        is_undo: false,
        job_id: job.job_id.clone(),
        conversation: wanted.conversation,
        n_kept: cut.as_ref().map_or(0, |cut| cut.n_kept as u64),
        n_removed: cut.as_ref().map_or(0, |cut| (cut.entries.len() - cut.n_kept) as u64),
        files: wanted.files,
        runs: later.iter().flat_map(|job| job.runs.iter().copied()).collect(),
    };
    if wanted.preview {
        let undone = match wanted.files {
            true => inner.workspace.preview_undo_runs(&plan.runs).await?,
            false => UndoneRun::default(),
        };
        return Ok(reply(job, plan.n_removed, undone));
    }
    // Without an effect it would only end the undo of the rewind before.
    if plan.n_removed == 0 && !(plan.files && inner.has_edits_in_effect(&plan)) {
        let message = "the session is as it was before this job already; nothing was done";
        return Err(ApiError::new(Code::Conflict, message));
    }
    let deciding = inner.begin_decision().await;
    if let Some(cut) = &cut {
        inner.keep_conversation(session_id, &cut.entries).await?;
    }
    inner.note_rewind(&session, Some(&plan)).await?;
    let undone = inner.carry_out_rewind(session_id, &plan, cut.map(|cut| cut.agent), (&deciding, false)).await;
    match undone {
        Ok(undone) => Ok(reply(job, plan.n_removed, undone)),
        Err(error) => {
            inner.note_rewind(&session, None).await?;
            Err(error)
        }
    }
}

/// Undoes the last rewind of a session.
pub(super) async fn undo(inner: &Inner, session_id: &str, request: &ApiRequest) -> ApiResult<UnwindReply> {
    let wanted: UnwindRequest = body(request)?;
    let slot = inner.slot(session_id);
    let _starting = slot.starting.lock().await;
    #[cfg(not(target_family = "wasm"))]
    let _alone = inner.alone_with(session_id).await?;
    let session = inner.session(session_id).await?;
    if inner.is_at_work(&session).await? {
        return Err(busy());
    }
    let nothing = || ApiError::new(Code::Conflict, "there is no rewind to undo, or a job came after it");
    let Rewound { job_id, removed_messages, files, runs } = session.rewound.clone().ok_or_else(nothing)?;
    let plan = Rewinding {
        is_undo: true,
        job_id,
        conversation: removed_messages > 0,
        n_kept: 0,
        n_removed: removed_messages,
        files: files && wanted.files,
        runs,
    };
    let agent = if plan.conversation { Some(inner.agent(&session).await?) } else { None };
    let deciding = inner.begin_decision().await;
    if plan.files && !inner.can_redo(&plan) {
        return Err(too_late());
    }
    inner.note_rewind(&session, Some(&plan)).await?;
    match inner.carry_out_undo(session_id, &plan, agent, &deciding).await {
        Ok(redone) => {
            let (restored, kept) = (paths(redone.restored), paths(redone.kept));
            Ok(UnwindReply { restored_messages: plan.n_removed, restored, kept })
        }
        Err(error) => {
            inner.note_rewind(&session, None).await?;
            Err(error)
        }
    }
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
    /// Completes what a former process was carrying out in a session.
    pub(in crate::service) async fn complete_rewind(&self, session: &SessionRecord) -> ApiResult<()> {
        let Some(plan) = &session.rewinding else { return Ok(()) };
        // A model that cannot be opened any more must not keep the service from starting: the user finds both parts as they
        // are, and can ask again.
        match self.completed_rewind(session, plan).await {
            Err(_) => self.note_rewind(session, None).await,
            done => done,
        }
    }

    async fn completed_rewind(&self, session: &SessionRecord, plan: &Rewinding) -> ApiResult<()> {
        let agent = if plan.conversation { Some(self.agent(session).await?) } else { None };
        let (deciding, id) = (self.begin_decision().await, &session.session_id);
        match plan.is_undo {
            true => self.carry_out_undo(id, plan, agent, &deciding).await.map(drop),
            false => self.carry_out_rewind(id, plan, agent, (&deciding, true)).await.map(drop),
        }
    }

    /// Keeps other servers from rewinding a session, and from starting a job in it meanwhile. Completes a rewind whose server
    /// was killed.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::service) async fn alone_with(&self, session_id: &str) -> ApiResult<Option<Box<dyn Held>>> {
        let Some(jobs) = self.shared_jobs() else { return Ok(None) };
        let held = jobs.lock(&format!("rewind {session_id}")).await?;
        self.complete_rewind(&self.session(session_id).await?).await?;
        Ok(held)
    }

    /// Stores that a rewind begins, unless another server has started a job since the session was read, or that it is over.
    async fn note_rewind(&self, known: &SessionRecord, plan: Option<&Rewinding>) -> ApiResult<()> {
        self.change(&known.session_id, |session, _| {
            #[cfg(not(target_family = "wasm"))]
            if plan.is_some() && session.last_job_id != known.last_job_id {
                return Err(busy());
            }
            session.rewinding = plan.cloned();
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// Carries out a rewind. Repeating it after an interruption (`is_repeated`) completes it.
    async fn carry_out_rewind(
        &self,
        session_id: &str,
        plan: &Rewinding,
        agent: Option<Agent>,
        (deciding, is_repeated): (&Deciding<'_>, bool),
    ) -> ApiResult<UndoneRun> {
        let undone = if plan.files { self.workspace.undo_runs(&plan.runs).await? } else { UndoneRun::default() };
        if let Some(agent) = agent {
            agent.session.rewind(plan.n_kept as usize).await?;
            agent.forget_canvas();
        }
        self.reopen("rewind").await?;
        self.settle_decision(deciding, "rewind").await?;
        let data = json!({
            "job_id": plan.job_id,
            "conversation": plan.conversation,
            "files": plan.files,
            "removed_messages": plan.n_removed,
        });
        let rewound = Rewound {
            job_id: plan.job_id.clone(),
            removed_messages: plan.n_removed,
            // An undo that was complete before the interruption finds nothing to restore. Otherwise the files that can be
            // redone are those of an earlier rewind.
            files: plan.files && (!undone.restored.is_empty() || is_repeated && self.has_undone(plan)),
            runs: if plan.files { plan.runs.clone() } else { Vec::new() },
        };
        self.change(session_id, |session, changes| {
            (session.rewound, session.rewinding) = (Some(rewound), None);
            if plan.conversation {
                session.told_canvas.clear();
            }
            changes.session_event("session.rewound", data);
            Ok(())
        })
        .await?;
        Ok(undone)
    }

    /// Returns whether an edit of the jobs of a rewind is in effect.
    fn has_edits_in_effect(&self, plan: &Rewinding) -> bool {
        self.workspace.runs().iter().any(|run| run.is_on && plan.runs.contains(&run.run_id))
    }

    /// Returns whether a redo would bring back edits of a rewind, and no others.
    fn can_redo(&self, plan: &Rewinding) -> bool {
        let next = self.workspace.runs_to_redo();
        !next.is_empty() && next.iter().all(|run| plan.runs.contains(run))
    }

    /// Carries out the undo of a rewind. Repeating it after an interruption completes it.
    async fn carry_out_undo(
        &self,
        session_id: &str,
        plan: &Rewinding,
        agent: Option<Agent>,
        deciding: &Deciding<'_>,
    ) -> ApiResult<RedoneRuns> {
        let mut redone = RedoneRuns::default();
        if plan.files && self.has_undone(plan) {
            redone = self.workspace.redo_runs().await.map_err(|error| match error {
                ReviewError::Nothing { .. } => too_late(),
                error => error.into(),
            })?;
        }
        if let Some(agent) = agent {
            let entries = self.kept_conversation(session_id).await?;
            agent.session.unwind(entries).await?;
            agent.forget_canvas();
        }
        self.reopen("rewind").await?;
        self.settle_decision(deciding, "rewind").await?;
        let data = json!({
            "job_id": plan.job_id,
            "restored_messages": plan.n_removed,
            "restored": redone.restored,
        });
        self.change(session_id, |session, changes| {
            (session.rewound, session.rewinding) = (None, None);
            if plan.conversation {
                session.told_canvas.clear();
            }
            changes.session_event("session.rewind_undone", data);
            Ok(())
        })
        .await?;
        Ok(redone)
    }

    /// Returns whether edits of a rewind are undone, as far as a redo knows.
    fn has_undone(&self, plan: &Rewinding) -> bool {
        self.workspace.runs_to_redo().iter().any(|run| plan.runs.contains(run))
    }

    /// Keeps the whole conversation for the undo of a rewind.
    async fn keep_conversation(&self, session_id: &str, entries: &[HistoryEntry]) -> ApiResult<()> {
        let name = name_of_kept(session_id);
        let lines: Result<Vec<String>, _> = entries.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| ApiError::new(Code::Internal, error.to_string()))?;
        self.conversations.remove(&name).await?;
        self.conversations.append(&name, &lines.iter().map(|line| format!("{line}\n")).collect::<String>()).await?;
        Ok(())
    }

    async fn kept_conversation(&self, session_id: &str) -> ApiResult<Vec<HistoryEntry>> {
        let missing = || ApiError::new(Code::Conflict, "the messages before the rewind were not kept");
        let text = self.conversations.load(&name_of_kept(session_id)).await?.ok_or_else(missing)?;
        let entries: Result<_, _> = text.lines().map(serde_json::from_str).collect();
        entries.map_err(|error| ApiError::new(Code::Internal, error.to_string()))
    }
}

fn name_of_kept(session_id: &str) -> String {
    format!("{session_id}.rewound")
}

fn busy() -> ApiError {
    ApiError::new(Code::Busy, "a job runs; wait for it or cancel it")
}

fn too_late() -> ApiError {
    let message = "edits or decisions came after the rewind, so its files stay; `\"files\": false` restores the conversation alone";
    ApiError::new(Code::Conflict, message)
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
