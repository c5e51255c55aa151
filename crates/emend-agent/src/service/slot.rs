//! A session in use: its agent, its running job, and the locks that order its changes.

use std::sync::Arc;

use emend_llm::runtime::Mutex;
use emend_llm::{CancelToken, Shared};

use super::canvas_bodies::CanvasFlags;
use super::desk::Desk;
use super::host::RouteLog;
use super::jobs::Claim;
use super::provider_step::StepLog;
use super::records::{AgentMode, SessionRecord, WorkMode};
use super::steering::Passed;
use crate::session::Session;
use crate::tools::CanvasNotes;

/// The state of one session in this process. A slot is small and stays; its agent is opened on demand.
#[derive(Default)]
pub(super) struct Slot {
    /// Held from reading the records of the session to the end of the commit.
    pub(super) order: Arc<futures::lock::Mutex<()>>,
    /// The agent, if it was opened.
    pub(super) agent: Mutex<Option<Agent>>,
    /// The running job.
    pub(super) running: Mutex<Option<Running>>,
    /// Held while a job is created.
    pub(super) starting: futures::lock::Mutex<()>,
    /// Held while the agent is opened.
    pub(super) opening: futures::lock::Mutex<()>,
}

/// Settings of a session that need another agent when they change.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct AgentSettings {
    mode: WorkMode,
    confirm_before_edits: bool,
    canvas: CanvasFlags,
    model: String,
    agent_mode: Option<AgentMode>,
}

impl AgentSettings {
    pub(super) fn of(record: &SessionRecord) -> Self {
        let SessionRecord { mode, confirm_before_edits, canvas, agent_mode, .. } = *record;
        Self { mode, confirm_before_edits, canvas, model: record.model.clone(), agent_mode }
    }
}

/// An opened agent.
#[derive(Clone)]
pub(super) struct Agent {
    pub(super) session: Session,
    pub(super) desk: Shared<Desk>,
    /// Choices of the model's router that are not stored yet.
    pub(super) routes: Shared<RouteLog>,
    /// Model calls that are not stored yet.
    pub(super) steps: Shared<StepLog>,
    /// The canvas as the conversation knows it, if the agent has the canvas tools.
    pub(super) notes: Option<Shared<CanvasNotes>>,
    /// Settings of the session for which it was opened.
    pub(super) settings: AgentSettings,
    /// The host's maximum number of tool calls of a run, and of rounds of invalid arguments; 0 for no limit.
    pub(super) host_limits: (u64, u64),
}

impl Agent {
    /// Returns whether work of the agent would end with this process: a subagent works, or waits for the user.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn is_bound(&self) -> bool {
        self.session.has_working_subagents()
    }

    /// No other process goes on with a job of a browser.
    #[cfg(target_family = "wasm")]
    pub(super) fn is_bound(&self) -> bool {
        true
    }

    /// Forgets the canvas as the conversation knows it: the conversation may no longer have what it was told.
    pub(super) fn forget_canvas(&self) {
        if let Some(notes) = &self.notes {
            notes.forget();
        }
    }
}

/// A job that runs in this process.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) job_id: String,
    pub(super) cancel: CancelToken,
    /// Tells the run to stop without a trace, because another server has the job or takes it.
    pub(super) lost: CancelToken,
    pub(super) claim: Claim,
    /// The messages of the user that the agent has.
    pub(super) passed: Passed,
}
