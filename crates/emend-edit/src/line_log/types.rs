//! The data types of the line log: ids, origins, statuses, changes and results.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error_code::ErrorCode;

/// Index of a change in the log. 0 stands for the base text, which is always on.
pub(super) type ChangeIx = u32;

/// The pseudo-change that inserted the lines of the base text.
pub(super) const BASE: ChangeIx = 0;

/// Identifies a change within one line log. Ids are assigned in order and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(pub u64);

/// Identifies a checkpoint within one line log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(pub u64);

/// The author of a change or decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The model, through a tool.
    Agent,
    /// The user, in the editor or the review.
    User,
    /// Another program, whose change was found on the disk.
    External,
}

/// The decision about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Shown, but not decided yet. Only the disk rule can put it on the disk.
    Pending,
    /// Shown and on the disk.
    Accepted,
    /// Switched off by a decision.
    Rejected,
    /// Switched off by a rollback or an undo.
    RolledBack,
}

impl Status {
    /// Returns whether a change with this status affects the visible text.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Pending | Self::Accepted)
    }
}

/// Metadata of a write, kept with every change that results from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMeta {
    /// The agent's run, or another group of the user's edits.
    pub run: String,
    /// The edit or tool call within the run.
    pub edit: String,
    /// The time of the write, in milliseconds of the host's clock.
    pub at_ms: u64,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOp {
    /// Lines were replaced, inserted or deleted.
    Edit,
    /// The file was created. The change may include lines of its first text.
    Create,
    /// The file and all its lines were deleted.
    Delete,
    /// The file was moved to another path.
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
    /// Its author.
    pub origin: Origin,
    /// The run, edit and time of its write.
    pub meta: ChangeMeta,
    /// The revision of the log before its write.
    pub base_revision: u64,
    /// Its kind.
    pub op: ChangeOp,
    /// The decision about it.
    pub status: Status,
    /// Number of lines it inserted.
    pub inserted_lines: usize,
    /// Number of lines it deleted.
    pub deleted_lines: usize,
    /// The changes on which it directly depends.
    pub deps: Vec<ChangeId>,
    /// Whether the text on the disk shows its effect.
    pub on_disk: bool,
}

/// One replacement of lines in the visible text. Lines refer to the text before the call.
///
/// The edits of one call are in order and do not overlap, as editors require.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VisibleEdit {
    /// Index of the first line replaced, from 0; for an insertion, the line before which it inserts.
    pub line: usize,
    /// Number of lines removed.
    pub removed: usize,
    /// The lines inserted there, with their line endings.
    pub inserted: Vec<String>,
}

/// The result of a decision, rollback, undo or redo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DecisionOutcome {
    /// The revision of the log after the call.
    pub revision: u64,
    /// The changes whose status changed, in order.
    pub changed: Vec<ChangeId>,
    /// The resulting edits of the visible text.
    pub edits: Vec<VisibleEdit>,
}

/// The treatment of changes that are on and depend on a change to be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependentsPolicy {
    /// Change nothing and return an error that lists them.
    Refuse,
    /// Switch off only the named changes. Lines that depend on them stay.
    OnlyThese,
    /// Switch off the named changes and all changes that depend on them.
    WithDependents,
}

/// Why a decision was rejected. The log is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecisionError {
    /// The log does not have this change: it never had it, or it was compacted away.
    #[error("there is no change {}", id.0)]
    UnknownChange {
        /// The id that the caller passed.
        id: ChangeId,
    },
    /// Changes that are on depend on a change to be switched off, and the policy is to refuse.
    #[error("later changes depend on it: {}, not made by the agent: {from_user}", dependents.len())]
    HasDependents {
        /// Every change that is on and directly or indirectly depends on the named ones, in order.
        dependents: Vec<ChangeId>,
        /// Number of these that the user or another program made.
        from_user: usize,
    },
    /// The log does not have this checkpoint.
    #[error("there is no checkpoint {}", id.0)]
    UnknownCheckpoint {
        /// The id that the caller passed.
        id: CheckpointId,
    },
}

impl DecisionError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownChange { .. } | Self::UnknownCheckpoint { .. } => ErrorCode::NotFound,
            Self::HasDependents { .. } => ErrorCode::Conflict,
        }
    }
}

/// Identifies a hunk by the changes in it, so that it means the same in every later revision.
///
/// Written as `h` and the ids, with ranges for consecutive ids: `h3`, `h4-7`, `h4-7.9`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HunkId(String);

impl HunkId {
    /// Returns the id of the hunk of these changes, in any order.
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

    /// Returns the ids in order, or `None` if the hunk id is malformed.
    ///
    /// Also returns `None` for more than about a million ids, so that a made-up range cannot exhaust the memory.
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

    /// Returns the id as text.
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
