//! Saving and loading of a workspace between processes or page loads.

use std::collections::BTreeMap;

use emend_edit::line_log::LineLog;
use emend_edit::size::compact_sort::map_of;
use emend_llm::{MaybeSend, MaybeSync};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::state::{Entry, Workspace};
use crate::environment::{EnvError, FilePath};

/// Version of the format. A snapshot of another version is rejected.
const VERSION: u32 = 1;

/// The line logs of a workspace, as plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    version: u32,
    revision: u64,
    run: u64,
    n_entries: u64,
    files: BTreeMap<FilePath, SavedEntry>,
    done: Vec<Vec<FilePath>>,
    undone: Vec<Vec<FilePath>>,
    /// Files that were about to be written: see [`Workspace::catch_up`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expected: Vec<FilePath>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedEntry {
    number: u64,
    log: LineLog,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved_from: Option<FilePath>,
    changed_at: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<(u64, usize)>,
}

/// Why a snapshot is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Another version of this library wrote it.
    #[error(
        "the saved review is of format {found}, this program reads format {VERSION}; finish it with the program that wrote it"
    )]
    Version {
        /// That version.
        found: u32,
    },
}

/// Saves the line logs of a workspace, for a host that keeps them.
pub trait SaveSnapshot: MaybeSend + MaybeSync {
    /// Saves `snapshot` durably in place of the previous one.
    ///
    /// # Errors
    ///
    /// The snapshot could not be saved; the previous one is intact then.
    fn save(&self, snapshot: &Snapshot) -> Result<(), EnvError>;
}

impl Snapshot {
    /// Returns the revision of the workspace that was saved.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Replaces the log of a file, as a write that is about to happen will.
    pub(super) fn expect(&mut self, path: &FilePath, mut log: LineLog, moved_from: Option<FilePath>) {
        log.mark_saved();
        self.revision += 1;
        let known = self.files.get(path).map(|entry| (entry.number, entry.moved_from.clone()));
        let (number, was_moved) = known.unwrap_or_else(|| {
            self.n_entries += 1;
            (self.n_entries, None)
        });
        let moved_from = moved_from.or(was_moved);
        self.expected.push(path.clone());
        let mut marks = self.files.remove(path).map(|entry| entry.marks).unwrap_or_default();
        marks.push((self.revision, log.entries().len()));
        self.files.insert(path.clone(), SavedEntry { number, log, moved_from, changed_at: self.revision, marks });
    }
}

impl Workspace {
    /// Saves the line logs, if the host keeps them.
    pub(super) fn persist(&self) -> Result<(), WorkspaceError> {
        self.save_expecting(|_| {})
    }

    /// Saves the line logs as `expect` changes them, if the host keeps them.
    pub(super) fn save_expecting(&self, expect: impl FnOnce(&mut Snapshot)) -> Result<(), WorkspaceError> {
        let Some(saver) = &self.saver else { return Ok(()) };
        let mut snapshot = self.snapshot();
        expect(&mut snapshot);
        Ok(saver.save(&snapshot)?)
    }

    /// Returns the state to save.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let files = state.files.iter().map(|(path, entry)| {
            let Entry { number, log, moved_from, changed_at, marks } = entry.clone();
            (path.clone(), SavedEntry { number, log, moved_from, changed_at, marks })
        });
        Snapshot {
            version: VERSION,
            revision: state.revision,
            run: state.run,
            n_entries: state.n_entries,
            files: map_of(files),
            done: state.done.clone(),
            undone: state.undone.clone(),
            expected: Vec::new(),
        }
    }

    /// Compares the files that were about to be written when the restored snapshot was saved. A write that did not reach
    /// them, as after a crash, is taken back in their logs.
    ///
    /// Other files are compared at their next use. A file that cannot be read is left for its next use, too.
    pub async fn catch_up(&self) {
        let expected = std::mem::take(&mut self.state().expected);
        for path in expected {
            let _ = self.visible(&path).await;
        }
    }

    /// Replaces the state of this workspace by a snapshot. Changes on disk since then are recorded at the next use of
    /// each file, and by [`catch_up`](Self::catch_up).
    ///
    /// # Errors
    ///
    /// Returns a [`SnapshotError`]; nothing changes then.
    pub fn restore(&self, snapshot: Snapshot) -> Result<(), SnapshotError> {
        if snapshot.version != VERSION {
            return Err(SnapshotError::Version { found: snapshot.version });
        }
        let mut state = self.state();
        state.revision = snapshot.revision;
        state.run = snapshot.run;
        state.n_entries = snapshot.n_entries;
        state.done = snapshot.done;
        state.undone = snapshot.undone;
        state.expected = snapshot.expected;
        let entry = |(path, saved)| {
            let SavedEntry { number, log, moved_from, changed_at, marks } = saved;
            (path, Entry { number, log, moved_from, changed_at, marks })
        };
        state.files = map_of(snapshot.files.into_iter().map(entry));
        Ok(())
    }
}
