//! The words of the line log: ids, origins, statuses, and what callers are told about a change.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error_code::ErrorCode;

/// Index of a change in the log; 0 stands for the base text, which is always on.
pub(super) type ChangeIx = u32;

/// The pseudo-change that inserted the lines of the base text.
pub(super) const BASE: ChangeIx = 0;

/// Identifies a change within one line log. Ids are given in order and never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(pub u64);

/// Identifies a checkpoint within one line log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(pub u64);

/// Who made a change or a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The model, through a tool.
    Agent,
    /// The person, in the editor or the review.
    User,
    /// Another program, found on the disk.
    External,
}

/// What has been decided about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Shown, not yet decided; only the disk rule puts it on the disk.
    Pending,
    /// Shown and on the disk.
    Accepted,
    /// Switched off by a decision.
    Rejected,
    /// Switched off by a rollback or an undo.
    RolledBack,
}

impl Status {
    /// Returns whether a change with this status has an effect on the text.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Pending | Self::Accepted)
    }
}

/// What the caller knows about a write, kept with every change that comes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMeta {
    /// The agent run, or whatever groups the user's edits.
    pub run: String,
    /// The edit or tool call within the run.
    pub edit: String,
    /// When it happened, in milliseconds of the host's clock.
    pub at_ms: u64,
}

/// What kind of change this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOp {
    /// Lines were replaced, inserted or deleted.
    Edit,
    /// The file was created; the change may carry lines of its first text.
    Create,
    /// The file and all its lines were deleted.
    Delete,
    /// The file was given another path.
    Rename {
        /// The new path.
        to: String,
    },
}

/// A change as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoggedChange {
    /// Its id.
    pub id: ChangeId,
    /// Who made it.
    pub origin: Origin,
    /// The run, edit and time it was made in.
    pub meta: ChangeMeta,
    /// The revision of the log it was made against.
    pub base_revision: u64,
    /// What kind of change it is.
    pub op: ChangeOp,
    /// What has been decided about it.
    pub status: Status,
    /// How many lines it inserted.
    pub inserted_lines: usize,
    /// How many lines it deleted.
    pub deleted_lines: usize,
    /// The changes it directly stands on.
    pub deps: Vec<ChangeId>,
    /// Whether the text on the disk shows its effect.
    pub on_disk: bool,
}

/// One replacement in the visible text, in terms of the text before the call.
///
/// The edits of one call are in order and do not overlap, as editors want them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VisibleEdit {
    /// Index of the first line replaced, from 0; where nothing is removed, the line to insert before.
    pub line: usize,
    /// How many lines are removed.
    pub removed: usize,
    /// The lines that take their place, with their endings.
    pub inserted: Vec<String>,
}

/// What a decision, rollback, undo or redo did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DecisionOutcome {
    /// The revision of the log after the call.
    pub revision: u64,
    /// The changes whose status is another now, in order.
    pub changed: Vec<ChangeId>,
    /// What this does to the visible text: the derived patch.
    pub edits: Vec<VisibleEdit>,
}

/// What to do about live changes that stand on a change to be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependentsPolicy {
    /// Do nothing and name them.
    Refuse,
    /// Switch off only what was named; lines that stand on it stay.
    OnlyThese,
    /// Switch off what was named and everything that stands on it.
    WithDependents,
}

/// Why a decision was not carried out. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecisionError {
    /// The log has no such change: it never had, or it was compacted away.
    #[error("there is no change {}", id.0)]
    UnknownChange {
        /// The id that was asked for.
        id: ChangeId,
    },
    /// Live changes stand on a change to be switched off, and the policy is to refuse.
    #[error("{} later changes stand on it, {from_user} of them not the agent's", dependents.len())]
    HasDependents {
        /// Every live change that directly or indirectly stands on the ones named, in order.
        dependents: Vec<ChangeId>,
        /// How many of them the user or another program made.
        from_user: usize,
    },
    /// The log has no such checkpoint.
    #[error("there is no checkpoint {}", id.0)]
    UnknownCheckpoint {
        /// The id that was asked for.
        id: CheckpointId,
    },
}

impl DecisionError {
    /// Returns the code that HTTP and JavaScript callers branch on. Codes never change.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownChange { .. } | Self::UnknownCheckpoint { .. } => ErrorCode::NotFound,
            Self::HasDependents { .. } => ErrorCode::Conflict,
        }
    }
}

/// Identifies a hunk: a name for the changes in it, so that it means the same in every later revision.
///
/// Written as `h` and the ids, runs as ranges: `h3`, `h4-7`, `h4-7.9`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HunkId(String);

impl HunkId {
    /// Names the hunk of these changes. Their order does not matter.
    #[must_use]
    pub fn of(ids: &[ChangeId]) -> Self {
        let mut ids: Vec<u64> = ids.iter().map(|id| id.0).collect();
        ids.sort_unstable();
        ids.dedup();
        let runs = ids.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [one] => one.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        Self(format!("h{}", runs.collect::<Vec<_>>().join(".")))
    }

    /// Returns the ids the name spells out, in order, or none if it is no such name.
    ///
    /// At most a million ids, so that a made-up range cannot fill the memory.
    #[must_use]
    pub fn changes(&self) -> Option<Vec<ChangeId>> {
        const IDS_MAX: u64 = 1_000_000;
        let mut ids = Vec::new();
        for run in self.0.strip_prefix('h')?.split('.') {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let (first, last) = (u64::from_str(first).ok()?, u64::from_str(last).ok()?);
            if last < first || last - first >= IDS_MAX || ids.len() as u64 > IDS_MAX {
                return None;
            }
            ids.extend((first..=last).map(ChangeId));
        }
        Some(ids)
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for HunkId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
