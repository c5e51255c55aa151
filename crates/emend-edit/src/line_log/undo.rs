//! Undo, redo, checkpoints and compaction.
//!
//! The history only grows. Undo, redo and rollback are entries too, which only set statuses. So each of them can be
//! undone in turn, and none of them loses a line.

use std::collections::BTreeMap;

use crate::line_log::history::{Action, LogEntry, StatusChange};
use crate::line_log::log::{LineLog, View};
use crate::line_log::types::{ChangeId, ChangeIx, CheckpointId, DecisionError, DecisionOutcome, Origin, Status};

impl LineLog {
    /// Returns all entries of the history, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[LogEntry] {
        &self.history.entries
    }

    /// Undoes the last edit or decision of `by` that is not undone yet. `None` if there is none.
    ///
    /// Later changes of other origins stay: a user's undo never reverts a change of the agent.
    pub fn undo(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        while !self.history.stacks_of(by)?.undo.is_empty() {
            if let outcome @ Some(_) = self.undo_one(by, at_ms) {
                return outcome;
            }
        }
        None
    }

    /// Like [`LineLog::undo`], but never goes on to an earlier entry. `None` if the last one is no longer in force.
    pub fn undo_one(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        let number = *self.history.stacks_of(by)?.undo.last()?;
        let entry = self.history.entry(number)?;
        if let Action::Split { change } = entry.action {
            return Some(self.step_split(change, false, by, at_ms, Action::Undo { entry: number }));
        }
        let back: Vec<StatusChange> =
            entry.set.iter().map(|c| StatusChange { change: c.change, from: c.to, to: c.from }).collect();
        self.step(&back, by, at_ms, Action::Undo { entry: number })
    }

    /// Redoes the last undone edit or decision of `by`. `None` if there is none, or if `by` did something else since.
    pub fn redo(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        while !self.history.stacks_of(by)?.redo.is_empty() {
            if let outcome @ Some(_) = self.redo_one(by, at_ms) {
                return outcome;
            }
        }
        None
    }

    /// Like [`LineLog::redo`], but never goes on to another entry. `None` if the last one has nothing to redo.
    pub fn redo_one(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        let number = *self.history.stacks_of(by)?.redo.last()?;
        let entry = self.history.entry(number)?;
        if let Action::Split { change } = entry.action {
            return Some(self.step_split(change, true, by, at_ms, Action::Redo { entry: number }));
        }
        let forth = entry.set.clone();
        self.step(&forth, by, at_ms, Action::Redo { entry: number })
    }

    /// Joins the hunks before and after a change, or splits them again.
    fn step_split(
        &mut self,
        change: ChangeId,
        splits: bool,
        by: Origin,
        at_ms: u64,
        action: Action,
    ) -> DecisionOutcome {
        if let Some(ix) = self.index_of(change) {
            let first = self.first_part(ix);
            self.changes[first as usize].starts_hunk = splits;
        }
        self.record(by, at_ms, action, Vec::new());
        DecisionOutcome { revision: self.revision, changed: vec![change], edits: Vec::new() }
    }

    /// Sets the statuses that were not changed since. `None` if that leaves nothing to do.
    pub(super) fn step(
        &mut self,
        set: &[StatusChange],
        by: Origin,
        at_ms: u64,
        action: Action,
    ) -> Option<DecisionOutcome> {
        let mut due: Vec<(ChangeIx, Status)> = Vec::new();
        for change in set {
            let parts = self.resolve_all(&[change.change]).unwrap_or_default();
            due.extend(
                parts
                    .into_iter()
                    .filter(|&ix| self.changes[ix as usize].status == change.from)
                    .map(|ix| (ix, change.to)),
            );
        }
        if due.is_empty() {
            self.record(by, at_ms, action, Vec::new());
            return None;
        }
        Some(self.set_statuses(&due, by, at_ms, action))
    }

    /// Records the current state, to restore it with [`LineLog::rollback_to`].
    pub fn checkpoint(&mut self) -> CheckpointId {
        let id = CheckpointId(self.next_checkpoint);
        self.next_checkpoint += 1;
        self.checkpoints.insert(id, self.history.next_number());
        id
    }

    /// Discards a checkpoint. Returns whether it existed.
    pub fn release(&mut self, id: CheckpointId) -> bool {
        self.checkpoints.remove(&id).is_some()
    }

    /// Returns the changes that are on and were made since a checkpoint. A rollback to it would switch them off.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownCheckpoint`].
    pub fn changes_since(&self, id: CheckpointId) -> Result<Vec<ChangeId>, DecisionError> {
        let off = self.statuses_at(id)?.into_iter().filter(|(_, status)| !status.is_on());
        Ok(off.filter(|&(ix, _)| self.is_on(ix, View::Visible)).map(|(ix, _)| self.id_of(ix)).collect())
    }

    /// Restores the visible text of a checkpoint, as one entry, even if others changed it since.
    ///
    /// Every change and every decision since then is reverted. [`LineLog::undo`] restores them.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownCheckpoint`].
    pub fn rollback_to(&mut self, id: CheckpointId, by: Origin, at_ms: u64) -> Result<DecisionOutcome, DecisionError> {
        let set: Vec<(ChangeIx, Status)> = self.statuses_at(id)?.into_iter().collect();
        Ok(self.set_statuses(&set, by, at_ms, Action::Rollback { checkpoint: Some(id) }))
    }

    /// Returns the status, at a checkpoint, of every change whose status was set since.
    fn statuses_at(&self, id: CheckpointId) -> Result<BTreeMap<ChangeIx, Status>, DecisionError> {
        let first = *self.checkpoints.get(&id).ok_or(DecisionError::UnknownCheckpoint { id })?;
        let since = usize::try_from(first - self.history.n_dropped - 1).unwrap_or(usize::MAX);
        Ok(self.statuses_before(since))
    }

    /// Discards everything but the current text if no change is pending, no checkpoint is left and the text is saved.
    ///
    /// The visible text becomes the base. Earlier ids, hunk ids and history entries are gone; the numbering continues.
    /// Returns whether the log was compacted.
    pub fn compact(&mut self) -> bool {
        if !self.checkpoints.is_empty() || !self.pending().is_empty() || self.saved_text() != self.disk_text() {
            return false;
        }
        let mut fresh = Self::new(self.visible_text().as_deref());
        fresh.base_path = self.visible_path().map(str::to_owned);
        fresh.eol = self.eol.take();
        fresh.id_offset = self.id_offset + self.changes.len() as u64 - 1;
        fresh.history.n_dropped = self.history.next_number() - 1;
        fresh.next_checkpoint = self.next_checkpoint;
        fresh.revision = self.revision + 1;
        *self = fresh;
        true
    }

    pub(super) fn record(&mut self, by: Origin, at_ms: u64, action: Action, set: Vec<StatusChange>) {
        let number = self.history.next_number();
        self.history.push(LogEntry {
            number,
            by,
            at_ms,
            action,
            set,
            #[cfg(any(not(target_family = "wasm"), test))]
            is_loss: false,
        });
        self.revision += 1;
    }
}
