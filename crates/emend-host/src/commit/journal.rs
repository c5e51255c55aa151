//! The journal of a commit: the data that the next run needs to complete it or to roll it back.
//!
//! It is stored with the project's state, outside the project. It contains paths and hashes but no text of files.

use std::collections::BTreeSet;
use std::io;

use emend_agent::environment::FilePath;
use emend_edit::ContentHash;
use serde::{Deserialize, Serialize};

/// Version of the format. A journal of another version is rejected.
const VERSION: u32 = 1;

/// The planned changes of a commit and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    pub(super) stage: Stage,
    /// Directories that the commit creates, outer ones first.
    pub(super) made: Vec<FilePath>,
    /// Directories that give way to files of the same path once their own files are removed, inner ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) cleared: Vec<FilePath>,
    /// Directories that take the place of removed files, outer ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) late: Vec<FilePath>,
    /// The written files, then the removed files, then the files for which something has to give way.
    pub(super) entries: Vec<JournalEntry>,
}

/// The progress of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Temporary files are being written; no file of the project has changed.
    Preparing,
    /// All temporary files are complete: recovery completes the commit if it can.
    Prepared,
}

/// One file of a commit. The present hashes tell which kind of change it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub(super) path: FilePath,
    /// Path of the temporary file; absent for a file to be removed.
    pub(super) temporary: Option<FilePath>,
    /// Hash of the old content; absent for a file to be created.
    pub(super) before: Option<ContentHash>,
    /// Hash of the new content; absent for a file to be removed.
    pub(super) after: Option<ContentHash>,
    /// The new executable bit; absent if it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) executable: Option<bool>,
}

impl Journal {
    pub(super) fn new(made: Vec<FilePath>, entries: Vec<JournalEntry>) -> Self {
        let (cleared, late) = (Vec::new(), Vec::new());
        Self { version: VERSION, stage: Stage::Preparing, made, cleared, late, entries }
    }

    /// Returns the commit with the directories that give way to files, and those that take the place of files.
    pub(super) fn changing_kinds(self, cleared: Vec<FilePath>, late: Vec<FilePath>) -> Self {
        Self { cleared, late, ..self }
    }

    /// Returns whether something has to give way before an entry can be written.
    pub(super) fn is_blocked(&self, entry: &JournalEntry) -> bool {
        let is_late = |directory: &FilePath| entry.path.is_under(directory);
        entry.temporary.is_some() && (self.cleared.contains(&entry.path) || self.late.iter().any(is_late))
    }

    /// Returns the same commit at another stage.
    pub(super) fn at(&self, stage: Stage) -> Self {
        Self { stage, ..self.clone() }
    }

    pub(super) fn decode(text: &[u8]) -> io::Result<Self> {
        let journal: Self = serde_json::from_slice(text)?;
        if journal.version != VERSION {
            let reason = format!(
                "an interrupted commit has format {}, but this program reads only format {VERSION}; complete it with the \
                 program that wrote it",
                journal.version
            );
            return Err(io::Error::other(reason));
        }
        Ok(journal)
    }

    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    pub(super) fn temporaries(&self) -> impl Iterator<Item = &FilePath> {
        self.entries.iter().filter_map(|entry| entry.temporary.as_ref())
    }

    /// Returns the directories whose entries change, including created directories and their parents.
    pub(super) fn directories(&self) -> BTreeSet<FilePath> {
        let changed = self.entries.iter().map(|entry| &entry.path).chain(self.temporaries());
        let changed = changed.chain(&self.made).chain(&self.cleared).chain(&self.late);
        changed.filter_map(FilePath::parent).collect()
    }

    pub(super) fn paths(&self) -> Vec<FilePath> {
        self.entries.iter().map(|entry| entry.path.clone()).collect()
    }
}
