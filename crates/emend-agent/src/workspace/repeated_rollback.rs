//! Redo of a rollback whose undo restored more than texts.
//!
//! The list of the user's steps holds texts alone. The part that the keeper of files restored is redone by the same rollback
//! again, as long as it is the next step to redo.

#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeSet;

#[cfg(not(target_family = "wasm"))]
use serde::{Deserialize, Serialize};

#[cfg(not(target_family = "wasm"))]
use super::error::WorkspaceError;
use super::review::{Review, ReviewError};
#[cfg(not(target_family = "wasm"))]
use super::rollback::RollbackRequest;
#[cfg(not(target_family = "wasm"))]
use super::state::State;
use super::state::Workspace;

/// The last rollback that restored other files beside texts.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepeatedRollback {
    request: RollbackRequest,
    /// The state of the steps after its undo; `None` as long as it is in effect.
    undone_at: Option<StepCounts>,
}

/// Numbers of steps and runs. The next step or run of anyone changes them.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StepCounts {
    done: usize,
    undone: usize,
    run: u64,
}

#[cfg(not(target_family = "wasm"))]
impl StepCounts {
    fn of(state: &State) -> Self {
        Self { done: state.done.len(), undone: state.undone.len(), run: state.run }
    }
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
                let counts = StepCounts::of(&state);
                state.repeated_rollback.clone().filter(|rollback| rollback.undone_at == Some(counts))
            };
            if let Some(RepeatedRollback { request, .. }) = next {
                self.rollback(&request).await?;
                return Ok(self.review());
            }
        }
        self.redo().await
    }
}

#[cfg(not(target_family = "wasm"))]
impl Workspace {
    /// Notes a rollback that has restored other files beside texts, and saves that.
    pub(super) fn note_rollback(&self, request: &RollbackRequest) -> Result<(), WorkspaceError> {
        self.state().repeated_rollback = Some(RepeatedRollback { request: request.clone(), undone_at: None });
        self.persist()
    }

    /// Notes that the last rollback was undone, if it was one of these runs, and saves that.
    pub(super) fn note_undone_rollback(&self, runs: &BTreeSet<u64>) -> Result<(), WorkspaceError> {
        {
            let mut state = self.state();
            let counts = StepCounts::of(&state);
            let is_last = |rollback: &RepeatedRollback| {
                rollback.undone_at.is_none() && rollback.request.runs.iter().any(|run| runs.contains(run))
            };
            state.repeated_rollback = state
                .repeated_rollback
                .take()
                .filter(is_last)
                .map(|rollback| RepeatedRollback { undone_at: Some(counts), ..rollback });
        }
        self.persist()
    }
}
