//! The history: what happened to the log, in order, and how it is undone, redone and rolled back.
//!
//! It only grows. Undo, redo and rollback are entries too, which set statuses and nothing else; so each of them can be
//! undone in turn, and no line is lost by any.

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

    /// Undoes the last edit or decision of `by` that is not undone yet; `None` if there is nothing to undo.
    ///
    /// What others did since stays: a user's undo never takes back what the agent wrote.
    pub fn undo(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        loop {
            let number = *self.history.stacks_of(by)?.undo.last()?;
            let entry = self.history.entry(number)?;
            let back: Vec<StatusChange> =
                entry.set.iter().map(|c| StatusChange { change: c.change, from: c.to, to: c.from }).collect();
            if let Some(applied) = self.step(&back, by, at_ms, Action::Undo { entry: number }) {
                return Some(applied);
            }
        }
    }

    /// Does the last undone edit or decision of `by` again; `None` if there is none or `by` did something else since.
    pub fn redo(&mut self, by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        loop {
            let number = *self.history.stacks_of(by)?.redo.last()?;
            let forth = self.history.entry(number)?.set.clone();
            if let Some(applied) = self.step(&forth, by, at_ms, Action::Redo { entry: number }) {
                return Some(applied);
            }
        }
    }

    /// Sets those statuses that nobody has set otherwise since; `None` if that leaves nothing to do.
    fn step(&mut self, set: &[StatusChange], by: Origin, at_ms: u64, action: Action) -> Option<DecisionOutcome> {
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

    /// Marks the present state, to come back to with [`LineLog::rollback_to`].
    pub fn checkpoint(&mut self) -> CheckpointId {
        let id = CheckpointId(self.next_checkpoint);
        self.next_checkpoint += 1;
        self.checkpoints.insert(id, self.history.next_number());
        id
    }

    /// Forgets a checkpoint. Returns whether there was one.
    pub fn release(&mut self, id: CheckpointId) -> bool {
        self.checkpoints.remove(&id).is_some()
    }

    /// Returns the changes that are on and were made since a checkpoint: what a rollback to it would switch off.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownCheckpoint`].
    pub fn changes_since(&self, id: CheckpointId) -> Result<Vec<ChangeId>, DecisionError> {
        let off = self.statuses_at(id)?.into_iter().filter(|(_, status)| !status.is_on());
        Ok(off.filter(|&(ix, _)| self.is_on(ix, View::Visible)).map(|(ix, _)| self.id_of(ix)).collect())
    }

    /// Takes the visible text back to what it was at a checkpoint, whoever changed it since, as one entry.
    ///
    /// Every change and every decision since is taken back; [`LineLog::undo`] restores them.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownCheckpoint`].
    pub fn rollback_to(&mut self, id: CheckpointId, by: Origin, at_ms: u64) -> Result<DecisionOutcome, DecisionError> {
        let set: Vec<(ChangeIx, Status)> = self.statuses_at(id)?.into_iter().collect();
        Ok(self.set_statuses(&set, by, at_ms, Action::Rollback { checkpoint: Some(id) }))
    }

    /// Returns the status at a checkpoint of every change whose status was set since.
    fn statuses_at(&self, id: CheckpointId) -> Result<BTreeMap<ChangeIx, Status>, DecisionError> {
        let first = *self.checkpoints.get(&id).ok_or(DecisionError::UnknownCheckpoint { id })?;
        let since = usize::try_from(first - self.history.n_dropped - 1).unwrap_or(usize::MAX);
        let mut statuses = BTreeMap::new();
        for entry in self.history.entries.iter().skip(since).rev() {
            for change in &entry.set {
                for ix in self.resolve_all(&[change.change]).unwrap_or_default() {
                    statuses.insert(ix, change.from);
                }
            }
        }
        Ok(statuses)
    }

    /// Drops everything but the present text if nothing is pending, no checkpoint is left and all is saved.
    ///
    /// The visible text becomes the base. Ids, hunk ids and history from before are gone; new ones go on counting.
    /// Returns whether it did so.
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
        self.history.push(LogEntry { number, by, at_ms, action, set });
        self.revision += 1;
    }
}
