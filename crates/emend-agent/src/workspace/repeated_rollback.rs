//! Redo of a rollback whose undo restored more than texts.
//!
//! The list of the user's steps holds texts alone. The part that the keeper of files restored is redone by the same rollback
//! again, as long as it is the next step to redo.

#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeSet;

#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::{LineLog, Origin};

use super::review::{Review, ReviewError};
#[cfg(not(target_family = "wasm"))]
use super::rollback::{RollbackMode, RollbackRequest};
#[cfg(not(target_family = "wasm"))]
use super::state::State;
use super::state::Workspace;
#[cfg(not(target_family = "wasm"))]
use super::steps::{RepeatedRollback, Step, StepCounts, StepKind};
#[cfg(not(target_family = "wasm"))]
use crate::environment::FilePath;

#[cfg(not(target_family = "wasm"))]
fn counts_of(state: &State) -> StepCounts {
    StepCounts { done: state.done.len(), undone: state.undone.len(), run: state.run }
}

impl Workspace {
    /// Redoes the user's last undone edit or decision as [`redo`](Self::redo) does. A rollback that
    /// [`undo_whole`](Self::undo_whole) has undone with the changes of commands is redone with them.
    ///
    /// # Errors
    ///
    /// As [`redo`](Self::redo) and [`rollback`](Self::rollback).
    pub async fn redo_whole(&self) -> Result<Review, ReviewError> {
        #[cfg(not(target_family = "wasm"))]
        {
            let next = {
                let state = self.state();
                let counts = counts_of(&state);
                state.repeated_rollback.clone().filter(|rollback| rollback.undone_at == Some(counts))
            };
            if let Some(RepeatedRollback { runs, is_hard, .. }) = next {
                let mode = if is_hard { RollbackMode::HardAll } else { RollbackMode::ScopedSelected };
                let request = RollbackRequest { mode, runs, ..RollbackRequest::default() };
                self.roll_back(&request, true).await?;
                return Ok(self.review());
            }
        }
        self.redo().await
    }
}

#[cfg(not(target_family = "wasm"))]
impl Workspace {
    /// Notes a rollback that has restored other files beside texts, and saves that.
    pub(super) fn note_rollback(&self, request: &RollbackRequest) {
        let is_hard = request.mode == RollbackMode::HardAll;
        let noted = RepeatedRollback { runs: request.runs.clone(), is_hard, undone_at: None };
        self.state().repeated_rollback = Some(noted);
        // The files are restored. The next save tries again.
        let _ = self.persist();
    }

    /// Returns the logs and the step of a repeated rollback as a redo of the last undone step, if both are the same. A new step
    /// would end the redo of the steps that were undone before.
    pub(super) async fn as_redo(
        &self,
        logs: Vec<(FilePath, LineLog)>,
        step: Step,
    ) -> Result<(Vec<(FilePath, LineLog)>, Step), ReviewError> {
        let is_next =
            self.state().undone.last().is_some_and(|paths| {
                paths.len() == step.paths.len() && paths.iter().all(|path| step.paths.contains(path))
            });
        if !is_next {
            return Ok((logs, step));
        }
        let mut redone = Vec::with_capacity(logs.len());
        for (path, log) in &logs {
            let mut again = self.log_to_switch(path).await?;
            let has_effect = again.redo_one(Origin::User, self.clock.now_ms()).is_some();
            if !has_effect || again.visible_text() != log.visible_text() || again.disk_text() != log.disk_text() {
                return Ok((logs, step));
            }
            redone.push((path.clone(), again));
        }
        Ok((redone, Step { kind: StepKind::Redone, ..step }))
    }

    /// Notes that the last rollback was undone, if it was one of these runs, and saves that.
    pub(super) fn note_undone_rollback(&self, runs: &BTreeSet<u64>) {
        {
            let mut state = self.state();
            let counts = counts_of(&state);
            let is_last = |rollback: &RepeatedRollback| {
                rollback.undone_at.is_none() && rollback.runs.iter().any(|run| runs.contains(run))
            };
            state.repeated_rollback = state
                .repeated_rollback
                .take()
                .filter(is_last)
                .map(|rollback| RepeatedRollback { undone_at: Some(counts), ..rollback });
        }
        // The files are restored. The next save tries again.
        let _ = self.persist();
    }
}
