//! The history of a line log as data: its entries, and which of them can be undone and redone.

use serde::{Deserialize, Serialize};

use crate::line_log::types::{ChangeId, CheckpointId, Origin, Status};

/// The operation that an entry of the history records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Changes were made.
    Write,
    /// Changes were accepted.
    Accept,
    /// Changes were rejected.
    Reject,
    /// Some changes were accepted and others rejected.
    Apply,
    /// Changes became pending again.
    Reopen,
    /// Changes were rolled back: chosen ones, or all since a checkpoint.
    Rollback {
        /// The checkpoint whose text was restored.
        checkpoint: Option<CheckpointId>,
    },
    /// A hunk was split.
    Split {
        /// The first change of its second part.
        change: ChangeId,
    },
    /// An entry was undone.
    Undo {
        /// Number of the entry.
        entry: u64,
    },
    /// An undone entry was done again.
    Redo {
        /// Number of the entry.
        entry: u64,
    },
}

/// A change of a status. A new change comes from [`Status::RolledBack`].
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
pub struct LogEntry {
    /// Its number, from 1.
    pub number: u64,
    /// The author of the operation.
    pub by: Origin,
    /// The time, in milliseconds of the host's clock.
    pub at_ms: u64,
    /// The operation.
    pub action: Action,
    /// The statuses that it set.
    pub set: Vec<StatusChange>,
    /// Whether it takes back an entry that never reached the disk. That entry then counts as never made: it is not the next
    /// one to redo, and those that could be redone before it can be redone again.
    #[cfg(any(not(target_family = "wasm"), test))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_loss: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) entries: Vec<LogEntry>,
    /// Number of entries that compacting the log dropped.
    pub(super) n_dropped: u64,
    /// For each origin, the entries that can be undone and those that can be redone, the next one last.
    stacks: Vec<(Origin, Stacks)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stacks {
    pub(super) undo: Vec<u64>,
    pub(super) redo: Vec<u64>,
    /// The entries that could be redone before the last new one.
    #[cfg(any(not(target_family = "wasm"), test))]
    redo_before: Vec<u64>,
}

impl History {
    pub(super) fn next_number(&self) -> u64 {
        self.n_dropped + self.entries.len() as u64 + 1
    }

    pub(super) fn stacks_of(&self, by: Origin) -> Option<&Stacks> {
        self.stacks.iter().find(|(origin, _)| *origin == by).map(|(_, stacks)| stacks)
    }

    fn stacks_of_mut(&mut self, by: Origin) -> &mut Stacks {
        let at = self.stacks.iter().position(|(origin, _)| *origin == by).unwrap_or_else(|| {
            self.stacks.push((by, Stacks::default()));
            self.stacks.len() - 1
        });
        &mut self.stacks[at].1
    }

    /// Appends an entry and updates the undo and redo stacks of its origin.
    pub(super) fn push(&mut self, entry: LogEntry) {
        let stacks = self.stacks_of_mut(entry.by);
        match entry.action {
            #[cfg(any(not(target_family = "wasm"), test))]
            Action::Undo { entry: lost } if entry.is_loss => {
                stacks.undo.retain(|&number| number != lost);
                stacks.redo = std::mem::take(&mut stacks.redo_before);
            }
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
                #[cfg(any(not(target_family = "wasm"), test))]
                stacks.redo_before.clone_from(&stacks.redo);
                stacks.redo.clear();
            }
        }
        self.entries.push(entry);
    }

    /// Marks the last entry, the undo of one that never reached the disk: see [`LogEntry::is_loss`].
    #[cfg(any(not(target_family = "wasm"), test))]
    pub(super) fn note_loss(&mut self) {
        let Some(last) = self.entries.pop_if(|entry| matches!(entry.action, Action::Undo { .. })) else { return };
        self.push(LogEntry { is_loss: true, ..last });
    }

    /// Removes the entries from `number` on, all of origin `by`, as if they had not been made.
    pub(super) fn take_from(&mut self, number: u64, by: Origin) -> Vec<LogEntry> {
        self.stacks_of_mut(by).undo.retain(|&known| known < number);
        let index = usize::try_from(number.saturating_sub(self.n_dropped + 1)).unwrap_or(usize::MAX);
        self.entries.split_off(index.min(self.entries.len()))
    }

    pub(super) fn entry(&self, number: u64) -> Option<&LogEntry> {
        self.entries.get(usize::try_from(number.checked_sub(self.n_dropped + 1)?).ok()?)
    }
}
