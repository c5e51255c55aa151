//! Serializing and deserializing a log.
//!
//! Only the facts are saved: tokens, changes, decisions. Derived state (the visible lines, the changes on the disk,
//! dependents) is computed again on loading. Facts that contradict each other are rejected.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::error_code::ErrorCode;
use crate::line_log::history::{History, LogEntry};
use crate::line_log::log::{ChangeState, Incarnation, LineLog, Saved, View, Write};
use crate::line_log::sequence::{Sequence, TokenIx};
use crate::line_log::types::{BASE, ChangeIx, ChangeMeta, ChangeOp, CheckpointId, Origin, Status};
use crate::text::split_lines;

/// The version of the saved form that this code writes and reads.
pub(super) const VERSION: u32 = 1;

/// Counters are limited to the integers that a JavaScript number can represent.
const COUNTER_MAX: u64 = (1 << 53) - 1;

/// Why a saved log cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// A later version saved it.
    #[error("the saved log has version {found}, but this program reads version {VERSION}; update the program")]
    Version {
        /// The version of the saved log.
        found: u32,
    },
    /// It contradicts itself.
    #[error("the saved log is damaged: bad {what}")]
    Damaged {
        /// The kind of entry that contradicts the others.
        what: &'static str,
    },
}

impl LoadError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Version { .. } => ErrorCode::Unsupported,
            Self::Damaged { .. } => ErrorCode::InvalidArgument,
        }
    }
}

/// A log in the form in which it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedLog {
    version: u32,
    pub(super) revision: u64,
    pub(super) eol: Option<String>,
    id_offset: u64,
    base_path: Option<String>,
    /// The lines in text order.
    pub(super) lines: Vec<SavedLine>,
    pub(super) incarnations: Vec<SavedIncarnation>,
    pub(super) writes: Vec<SavedWrite>,
    pub(super) changes: Vec<SavedChange>,
    pub(super) entries: Vec<LogEntry>,
    n_dropped: u64,
    pub(super) checkpoints: BTreeMap<CheckpointId, u64>,
    pub(super) next_checkpoint: u64,
    pub(super) saved: Option<SavedDisk>,
}

/// A line: its text, the change that inserted it (absent for the base), and the changes that deleted it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedLine(
    pub(super) String,
    #[serde(default)] pub(super) ChangeIx,
    #[serde(default)] pub(super) Vec<ChangeIx>,
);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedIncarnation {
    created_by: Vec<ChangeIx>,
    deleted_by: Vec<ChangeIx>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedWrite {
    origin: Origin,
    #[serde(flatten)]
    meta: ChangeMeta,
    base_revision: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedChange {
    write: u32,
    op: ChangeOp,
    status: Status,
    deps: Vec<ChangeIx>,
    parent: ChangeIx,
    parts: Vec<ChangeIx>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    starts_hunk: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedDisk {
    pub(super) exists: bool,
    /// The indexes in `lines` of the lines that were on the disk.
    pub(super) lines: Vec<u32>,
}

impl Serialize for LineLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_saved().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LineLog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_saved(SavedLog::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl LineLog {
    pub(super) fn to_saved(&self) -> SavedLog {
        let order: Vec<TokenIx> = self.sequence.iter().collect();
        let line = |&token: &TokenIx| {
            let state = self.sequence.token(token);
            SavedLine(self.sequence.text(token).to_owned(), state.inserted_by, self.sequence.deleted_by(token).to_vec())
        };
        let saved = self.saved.as_ref().map(|saved| {
            let mut place = vec![0; order.len()];
            order.iter().enumerate().for_each(|(at, &token)| place[token as usize] = at as u32);
            let lines = saved.tokens.iter().map(|&token| place[token as usize]).collect();
            SavedDisk { exists: saved.exists, lines }
        });
        SavedLog {
            version: VERSION,
            revision: self.revision,
            eol: self.eol.clone(),
            id_offset: self.id_offset,
            base_path: self.base_path.clone(),
            lines: order.iter().map(line).collect(),
            incarnations: self.incarnations.iter().map(SavedIncarnation::of).collect(),
            writes: self.writes.iter().map(SavedWrite::of).collect(),
            changes: self.changes[1..].iter().map(SavedChange::of).collect(),
            entries: self.history.entries.clone(),
            n_dropped: self.history.n_dropped,
            checkpoints: self.checkpoints.clone(),
            next_checkpoint: self.next_checkpoint,
            saved,
        }
    }

    pub(super) fn from_saved(saved: SavedLog) -> Result<Self, LoadError> {
        if saved.version != VERSION {
            return Err(LoadError::Version { found: saved.version });
        }
        let counters = [saved.revision, saved.id_offset, saved.n_dropped, saved.next_checkpoint];
        ensure(counters.iter().all(|&counter| counter <= COUNTER_MAX), "counter")?;
        ensure(saved.eol.as_deref().is_none_or(|eol| matches!(eol, "\n" | "\r\n" | "\r")), "line ending")?;
        let mut log = Self::new(None);
        log.revision = saved.revision;
        log.eol = saved.eol;
        log.id_offset = saved.id_offset;
        log.base_path = saved.base_path;
        log.next_checkpoint = saved.next_checkpoint;
        log.writes = saved.writes.into_iter().map(SavedWrite::into_write).collect();
        log.load_changes(saved.changes)?;
        log.load_lines(&saved.lines)?;
        log.load_incarnations(saved.incarnations)?;
        log.load_on_disk();
        log.saved = match saved.saved {
            None => None,
            Some(disk) => {
                let in_order = disk.lines.is_sorted_by(|a, b| a < b);
                let known = disk.lines.last().is_none_or(|&line| (line as usize) < log.sequence.len());
                ensure(in_order && known, "line on the disk")?;
                Some(Saved { exists: disk.exists, tokens: disk.lines })
            }
        };
        log.load_history(saved.entries, saved.n_dropped)?;
        let reachable = saved.n_dropped + 1..=log.history.next_number();
        ensure(saved.checkpoints.values().all(|number| reachable.contains(number)), "checkpoint")?;
        log.checkpoints = saved.checkpoints;
        Ok(log)
    }

    fn load_changes(&mut self, changes: Vec<SavedChange>) -> Result<(), LoadError> {
        let n = changes.len() as ChangeIx + 1;
        let mut is_part = vec![false; n as usize];
        for (saved, ix) in changes.into_iter().zip(1..) {
            ensure((saved.write as usize) < self.writes.len(), "write of a change")?;
            ensure(saved.deps.iter().all(|&dep| dep != BASE && dep < n && dep != ix), "dependency")?;
            ensure(saved.parent < n, "nesting of changes")?;
            for &part in &saved.parts {
                // A part is later than the whole and belongs to one whole only, so following parts terminates.
                ensure(part > ix && part < n && !is_part[part as usize], "part of a change")?;
                is_part[part as usize] = true;
            }
            let mut state = ChangeState::new(saved.write, saved.op, saved.status);
            (state.deps, state.parent, state.parts) = (saved.deps, saved.parent, saved.parts);
            state.starts_hunk = saved.starts_hunk;
            self.changes.push(state);
        }
        for ix in 1..n {
            self.load_depth(ix)?;
            for dep in self.changes[ix as usize].deps.clone() {
                self.changes[dep as usize].dependents.push(ix);
            }
        }
        Ok(())
    }

    /// Computes the nesting depth of a change, and of the changes around it.
    fn load_depth(&mut self, ix: ChangeIx) -> Result<(), LoadError> {
        let mut open = vec![ix];
        while let Some(&at) = open.last() {
            let parent = self.changes[at as usize].parent;
            if parent == BASE || self.changes[parent as usize].depth > 0 {
                self.changes[at as usize].depth = self.changes[parent as usize].depth + 1;
                open.pop();
            } else {
                ensure(open.len() < self.changes.len(), "nesting of changes")?;
                open.push(parent);
            }
        }
        Ok(())
    }

    fn load_lines(&mut self, lines: &[SavedLine]) -> Result<(), LoadError> {
        let n = self.changes.len();
        self.sequence = Sequence::new();
        let texts: Vec<&str> = lines.iter().map(|SavedLine(text, ..)| text.as_str()).collect();
        let tokens = self.sequence.insert_after(None, &texts, BASE);
        for (token, SavedLine(text, inserted_by, deleted_by)) in tokens.zip(lines) {
            ensure(split_lines(text).len() == 1, "line")?;
            ensure((*inserted_by as usize) < n, "line's change")?;
            ensure(deleted_by.iter().all(|&by| by != BASE && (by as usize) < n), "line's change")?;
            self.sequence.token_mut(token).inserted_by = *inserted_by;
            if !deleted_by.is_empty() {
                self.sequence.deleted_by_mut(token).clone_from(deleted_by);
            }
            if *inserted_by != BASE {
                self.changes[*inserted_by as usize].inserted.push(token);
            }
            for &by in deleted_by {
                self.changes[by as usize].deleted.push(token);
            }
            let visible = self.shows(token, |ix| self.is_on(ix, View::Visible));
            self.sequence.set_visible(token, visible);
        }
        Ok(())
    }

    fn load_incarnations(&mut self, incarnations: Vec<SavedIncarnation>) -> Result<(), LoadError> {
        let n = self.changes.len();
        for saved in incarnations {
            let mut named = saved.created_by.iter().chain(&saved.deleted_by);
            ensure(named.all(|&ix| ix != BASE && (ix as usize) < n), "existence of the file")?;
            self.incarnations.push(Incarnation { created_by: saved.created_by, deleted_by: saved.deleted_by });
        }
        Ok(())
    }

    /// Computes which changes are on the disk.
    fn load_on_disk(&mut self) {
        let accepted = |&ix: &ChangeIx| self.changes[ix as usize].status == Status::Accepted;
        for ix in self.live_indexes().filter(accepted).collect::<Vec<_>>() {
            self.count_on_disk(ix);
        }
    }

    fn load_history(&mut self, entries: Vec<LogEntry>, n_dropped: u64) -> Result<(), LoadError> {
        self.history = History::default();
        self.history.n_dropped = n_dropped;
        for entry in entries {
            ensure(entry.number == self.history.next_number(), "history entry")?;
            let known = entry.set.iter().all(|change| self.index_of(change.change).is_some());
            ensure(known, "change in the history")?;
            self.history.push(entry);
        }
        Ok(())
    }
}

impl SavedIncarnation {
    pub(super) fn of(incarnation: &Incarnation) -> Self {
        Self { created_by: incarnation.created_by.clone(), deleted_by: incarnation.deleted_by.clone() }
    }
}

impl SavedWrite {
    pub(super) fn of(write: &Write) -> Self {
        Self { origin: write.origin, meta: write.meta.clone(), base_revision: write.base_revision }
    }

    fn into_write(self) -> Write {
        Write { origin: self.origin, meta: self.meta, base_revision: self.base_revision }
    }
}

impl SavedChange {
    pub(super) fn of(change: &ChangeState) -> Self {
        Self {
            write: change.write,
            op: change.op.clone(),
            status: change.status,
            deps: change.deps.clone(),
            parent: change.parent,
            parts: change.parts.clone(),
            starts_hunk: change.starts_hunk,
        }
    }
}

pub(super) fn ensure(holds: bool, what: &'static str) -> Result<(), LoadError> {
    if holds { Ok(()) } else { Err(LoadError::Damaged { what }) }
}
