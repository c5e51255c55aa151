//! The history: what happened to the log, in order, and how it is undone, redone and rolled back.
//!
//! It only grows. Undo, redo and rollback are entries too, which set statuses and nothing else; so each of them can be
//! undone in turn, and no line is lost by any.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Applied, ChangeId, ChangeIx, CheckpointId, DecisionError, LineLog, Origin, Status, View};

/// What an entry of the history records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Changes were made.
    Write,
    /// Changes were accepted.
    Accept,
    /// Changes were rejected.
    Reject,
    /// Changes were made pending again.
    Reopen,
    /// Changes were rolled back: chosen ones, or all since a checkpoint.
    Rollback {
        /// The checkpoint the text was taken back to.
        checkpoint: Option<CheckpointId>,
    },
    /// The entry with this number was undone.
    Undo {
        /// Its number.
        entry: u64,
    },
    /// The entry with this number was done again.
    Redo {
        /// Its number.
        entry: u64,
    },
}

/// A change got another status. A change that was just made comes from [`Status::RolledBack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    /// The change.
    pub change: ChangeId,
    /// Its status before.
    pub from: Status,
    /// Its status after.
    pub to: Status,
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub number: u64,
    /// Who did it.
    pub by: Origin,
    /// When, in milliseconds of the host's clock.
    pub at_ms: u64,
    /// What it was.
    pub action: Action,
    /// The statuses it set.
    pub set: Vec<StatusChange>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) entries: Vec<Entry>,
    /// How many entries were dropped when the log was compacted.
    pub(super) n_dropped: u64,
    /// For each caller: the entries that can be undone, and those that can be redone; the next one last.
    stacks: Vec<(Origin, Stacks)>,
}

#[derive(Clone, Debug, Default)]
struct Stacks {
    undo: Vec<u64>,
    redo: Vec<u64>,
}

impl History {
    pub(super) fn next_number(&self) -> u64 {
        self.n_dropped + self.entries.len() as u64 + 1
    }

    fn stacks_of(&self, by: Origin) -> Option<&Stacks> {
        self.stacks.iter().find(|(origin, _)| *origin == by).map(|(_, stacks)| stacks)
    }

    fn stacks_of_mut(&mut self, by: Origin) -> &mut Stacks {
        let at = self.stacks.iter().position(|(origin, _)| *origin == by).unwrap_or_else(|| {
            self.stacks.push((by, Stacks::default()));
            self.stacks.len() - 1
        });
        &mut self.stacks[at].1
    }

    /// Appends an entry and moves its caller's stacks along.
    pub(super) fn push(&mut self, entry: Entry) {
        let stacks = self.stacks_of_mut(entry.by);
        match entry.action {
            Action::Undo { entry: undone } => {
                stacks.undo.retain(|&number| number != undone);
                stacks.redo.push(undone);
            }
            Action::Redo { entry: redone } => {
                stacks.redo.retain(|&number| number != redone);
                stacks.undo.push(redone);
            }
            _ => {
                stacks.undo.push(entry.number);
                stacks.redo.clear();
            }
        }
        self.entries.push(entry);
    }

    fn entry(&self, number: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(number.checked_sub(self.n_dropped + 1)?).ok()?)
    }
}

impl LineLog {
    /// Returns all entries of the history, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.history.entries
    }

    /// Undoes the last edit or decision of `by` that is not undone yet; `None` if there is nothing to undo.
    ///
    /// What others did since stays: a user's undo never takes back what the agent wrote.
    pub fn undo(&mut self, by: Origin, at_ms: u64) -> Option<Applied> {
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
    pub fn redo(&mut self, by: Origin, at_ms: u64) -> Option<Applied> {
        loop {
            let number = *self.history.stacks_of(by)?.redo.last()?;
            let forth = self.history.entry(number)?.set.clone();
            if let Some(applied) = self.step(&forth, by, at_ms, Action::Redo { entry: number }) {
                return Some(applied);
            }
        }
    }

    /// Sets those statuses that nobody has set otherwise since; `None` if that leaves nothing to do.
    fn step(&mut self, set: &[StatusChange], by: Origin, at_ms: u64, action: Action) -> Option<Applied> {
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
    pub fn rollback_to(&mut self, id: CheckpointId, by: Origin, at_ms: u64) -> Result<Applied, DecisionError> {
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
        self.history.push(Entry { number, by, at_ms, action, set });
        self.revision += 1;
    }
}
