//! An edited file, and its form in a snapshot: the line log, whole or as the changes since it was saved.

#[cfg(target_family = "wasm")]
use emend_edit::line_log::{HunkLimits, LineLog};
#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::{HunkLimits, LineLog, LoadError, LogDelta, SavedLog};
#[cfg(not(target_family = "wasm"))]
use serde::Serializer;
use serde::{Deserialize, Serialize};

use crate::environment::FilePath;

/// An edited file.
#[derive(Clone)]
pub(super) struct Entry {
    /// Part of the hunk ids of this file.
    pub(super) number: u64,
    /// The log knows the content of the environment at the last read or write.
    pub(super) log: LineLog,
    /// The file that it was moved from, whose mode bits it gets when it reaches the disk.
    pub(super) moved_from: Option<FilePath>,
    /// Workspace revision of the last change.
    pub(super) changed_at: u64,
    /// The workspace revision and the number of entries of the log after each change.
    pub(super) marks: Vec<(u64, usize)>,
    /// Whether the text waits for a save of the user, as in a view that
    /// [defers saves](super::Workspace::deferring_saves).
    pub(super) waits: bool,
}

/// A file of a snapshot. It has a log, or else a delta for the log that was saved before.
///
/// A page saves whole logs: its module has no room for deltas.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedEntry {
    number: u64,
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<SnapshotLog>,
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<LogDelta>,
    #[cfg(target_family = "wasm")]
    log: LineLog,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved_from: Option<FilePath>,
    pub(super) changed_at: u64,
    /// With a delta, only those that were not saved before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<(u64, usize)>,
}

/// A whole log, in use or as it was read.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "SavedLog")]
enum SnapshotLog {
    InUse(LineLog),
    Read(SavedLog),
}

#[cfg(not(target_family = "wasm"))]
impl Serialize for SnapshotLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::InUse(log) => log.serialize(serializer),
            Self::Read(saved) => saved.serialize(serializer),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
impl From<SavedLog> for SnapshotLog {
    fn from(saved: SavedLog) -> Self {
        Self::Read(saved)
    }
}

#[cfg(not(target_family = "wasm"))]
const NO_LOG: LoadError = LoadError::Damaged { what: "file without a log" };

#[cfg(target_family = "wasm")]
impl SavedEntry {
    /// Returns the entry of a file.
    #[inline(always)]
    pub(super) fn of(entry: Entry) -> Self {
        let Entry { number, log, moved_from, changed_at, marks, waits: _ } = entry;
        Self { number, log, moved_from, changed_at, marks }
    }

    /// Returns the file with its log.
    #[inline(always)]
    pub(super) fn into_entry(self, limits: HunkLimits) -> Entry {
        let Self { number, mut log, moved_from, changed_at, marks } = self;
        log.set_hunk_limits(limits);
        Entry { number, log, moved_from, changed_at, marks, waits: false }
    }
}

#[cfg(not(target_family = "wasm"))]
impl SavedEntry {
    /// Returns the entry of a file.
    pub(super) fn of(entry: Entry) -> Self {
        // A process that opens the file next compares the log with the disk to see whether it waits for a save.
        let Entry { number, log, moved_from, changed_at, marks, waits: _ } = entry;
        Self { number, log: Some(SnapshotLog::InUse(log)), delta: None, moved_from, changed_at, marks }
    }

    /// Returns the file with its log.
    pub(super) fn into_entry(self, limits: HunkLimits) -> Result<Entry, LoadError> {
        let Self { number, log, delta: _, moved_from, changed_at, marks } = self;
        let mut log = match log {
            Some(SnapshotLog::InUse(log)) => log,
            Some(SnapshotLog::Read(saved)) => saved.into_log()?,
            None => return Err(NO_LOG),
        };
        log.set_hunk_limits(limits);
        Ok(Entry { number, log, moved_from, changed_at, marks, waits: false })
    }

    /// Replaces the log by its changes since `saved`, the entry as it was saved before. Returns the log.
    pub(super) fn shrink(&mut self, saved: &Entry) -> Option<LineLog> {
        let Some(SnapshotLog::InUse(log)) = &self.log else { return None };
        let delta = log.delta_since(&saved.log)?;
        let marks = self.marks.strip_prefix(saved.marks.as_slice())?.to_vec();
        (self.delta, self.marks) = (Some(delta), marks);
        match self.log.take() {
            Some(SnapshotLog::InUse(log)) => Some(log),
            _ => None,
        }
    }

    /// Reverts [`shrink`](Self::shrink): `log` is the one that it returned, and `saved` the same entry.
    pub(super) fn regrow(&mut self, log: LineLog, saved: &Entry) {
        (self.log, self.delta) = (Some(SnapshotLog::InUse(log)), None);
        self.marks = [saved.marks.as_slice(), &self.marks].concat();
    }

    /// Puts this entry in the place of `saved`, which was saved before.
    pub(super) fn apply_to(mut self, saved: Option<Self>) -> Result<Self, LoadError> {
        let Some(delta) = self.delta.take() else { return Ok(self) };
        let saved = saved.ok_or(NO_LOG)?;
        let mut log = match saved.log.ok_or(NO_LOG)? {
            SnapshotLog::InUse(log) => SavedLog::of(&log),
            SnapshotLog::Read(saved) => saved,
        };
        log.apply(delta)?;
        self.log = Some(SnapshotLog::Read(log));
        self.marks = [saved.marks, self.marks].concat();
        Ok(self)
    }
}
