//! The order of changes in a root that several processes share.
//!
//! A host whose processes work on one root gives each workspace a [`RootGate`]. A change then enters the gate, takes in
//! what other processes have saved, and saves its own line logs before it leaves. Without a gate, the lock of this
//! process is enough.

use emend_edit::line_log::LineLog;
use emend_llm::{CancelToken, Shared};
use futures::future::{Either, select};
use futures::lock::MutexGuard;

use super::error::WorkspaceError;
use super::runs::lost_in_crash;
use super::snapshot::{RootEntry, RootGate, RootRight};
use super::state::Workspace;
use crate::environment::FilePath;

/// Whether a root can be shared. In a browser none is, and the constant keeps the code out of the module.
const MAY_SHARE: bool = cfg!(not(target_family = "wasm"));

/// The lock of changes. When it is dropped, the line logs are saved for others.
pub(super) struct Writing<'a> {
    workspace: &'a Workspace,
    /// Dropped before the lock of this process, so that this process does not wait for itself.
    right: Option<Box<dyn RootRight>>,
    _here: MutexGuard<'a, ()>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        #[cfg(not(target_family = "wasm"))]
        self.workspace.state().forget_in_flight();
        if MAY_SHARE && self.right.is_some() {
            if std::mem::take(&mut self.workspace.state().is_changing) {
                // The run was dropped during a change of files. The line logs that were saved before it name the files to
                // look at.
                self.workspace.state().is_stale = true;
                self.right = None;
                return;
            }
            // Changes that others made on the disk were recorded on the way. After a failure they are found anew.
            let _ = self.workspace.share();
            self.right = None;
        }
    }
}

impl Workspace {
    /// Orders the changes of this workspace with those of other processes.
    #[must_use]
    pub fn with_gate(self, gate: Shared<dyn RootGate>) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Returns a view of this workspace whose changes need the claim of a job, if several processes share the root.
    #[must_use]
    pub fn fenced(&self, claim: &str) -> Self {
        let view = self.in_mode(self.mode);
        match &self.gate {
            Some(gate) if MAY_SHARE => Self { gate: Some(gate.fenced(claim)), ..view },
            _ => view,
        }
    }

    /// Waits for the right to change files.
    pub(super) async fn enter(&self) -> Result<Writing<'_>, WorkspaceError> {
        let here = self.writing.lock().await;
        let Some(gate) = self.gate.as_ref().filter(|_| MAY_SHARE) else {
            return Ok(Writing { workspace: self, right: None, _here: here });
        };
        let reload = self.state().is_stale;
        let RootEntry { missed, right } = gate.enter(reload).await?;
        self.take_in(missed)?;
        let writing = Writing { workspace: self, right: Some(right), _here: here };
        if !self.state().expected.is_empty() {
            // The process that was about to write these files may have been killed.
            self.catch_up_logs().await;
        }
        Ok(writing)
    }

    /// Waits for the right to change files, for a run that `cancel` ends: the caller that has it may wait for a host that
    /// never answers.
    pub(super) async fn lock_writes(&self, cancel: &CancelToken) -> Result<Writing<'_>, WorkspaceError> {
        match select(Box::pin(self.enter()), cancel.cancelled()).await {
            Either::Left((writing, _)) => writing,
            Either::Right(_) => Err(WorkspaceError::Cancelled),
        }
    }

    /// Takes in what other processes have changed. Does nothing if no others share the root.
    ///
    /// # Errors
    ///
    /// The root cannot be used now.
    pub async fn refresh(&self) -> Result<(), WorkspaceError> {
        match self.gate {
            Some(_) if MAY_SHARE => self.enter().await.map(drop),
            _ => Ok(()),
        }
    }

    /// Returns whether other processes share the root.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn is_shared(&self) -> bool {
        self.gate.is_some()
    }

    /// Waits for the canvas of other processes, and keeps it from changing until the turn ends, which saves it for them. `None`
    /// if no others share the root.
    ///
    /// # Errors
    ///
    /// The root cannot be used now.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) async fn canvas_turn(&self) -> Result<Option<impl Drop>, WorkspaceError> {
        match self.gate {
            Some(_) => self.enter().await.map(Some),
            None => Ok(None),
        }
    }

    /// Saves the canvas for the other processes that share the root, if it has changed outside a turn. A failure is left for the
    /// next turn.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) async fn share_canvas(&self) {
        if !self.canvas.is_saved() {
            let _ = self.refresh().await;
        }
    }

    /// Saves the line logs for the other processes that share the root.
    pub(super) fn share(&self) -> Result<(), WorkspaceError> {
        if !MAY_SHARE || self.gate.is_none() {
            return Ok(());
        }
        let is_saved = {
            let state = self.state();
            state.saved_revision == state.revision && state.saved.len() >= state.files.len()
        };
        #[cfg(not(target_family = "wasm"))]
        let is_saved = is_saved && self.canvas.is_saved();
        if is_saved {
            return Ok(());
        }
        let outcome = self.persist();
        self.state().is_stale |= outcome.is_err();
        outcome
    }

    /// Starts a run as [`begin_run`](Self::begin_run) does, with a number that no other process uses.
    ///
    /// # Errors
    ///
    /// The number could not be saved.
    pub async fn begin_shared_run(&self) -> Result<u64, WorkspaceError> {
        if !MAY_SHARE || self.gate.is_none() {
            return Ok(self.begin_run());
        }
        let _writing = self.enter().await?;
        let run = self.begin_run();
        self.persist()?;
        Ok(run)
    }

    /// Returns the visible text for a reader. Edits of another process are not taken for changes of another program.
    pub(super) async fn visible_to_reader(&self, path: &FilePath) -> Result<Option<String>, WorkspaceError> {
        let _writing = match self.gate {
            Some(_) if MAY_SHARE => Some(self.enter().await?),
            _ => None,
        };
        self.visible(path).await
    }

    /// Returns the files that a call of a run has changed, also if the user has taken the changes back since. A change that
    /// was lost in a crash does not count.
    pub(crate) fn files_of_call(&self, run_id: u64, call_id: &str) -> Vec<FilePath> {
        let run = run_id.to_string();
        let is_of_call =
            |edit: &str| edit.strip_prefix(call_id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let was_made = |log: &LineLog| {
            let lost = lost_in_crash(log);
            let mut changes = log.changes();
            changes.any(|change| change.meta.run == run && is_of_call(&change.meta.edit) && !lost.contains(&change.id))
        };
        let state = self.state();
        state.files.iter().filter(|(_, entry)| was_made(&entry.log)).map(|(path, _)| path.clone()).collect()
    }
}
