//! The journal of a commit: what the next run must know to complete it or to take it back.
//!
//! It is kept with the project's state, outside of the project, and holds paths and hashes but no text.

use std::collections::BTreeSet;
use std::io;

use emend_agent::environment::FilePath;
use emend_edit::ContentHash;
use serde::{Deserialize, Serialize};

/// The format's version. A journal of another version is refused, never guessed at.
const VERSION: u32 = 1;

/// What a commit is about to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    pub(super) stage: Stage,
    /// Directories that the commit makes, outer ones first.
    pub(super) made: Vec<FilePath>,
    /// Files that are written, then files that are removed.
    pub(super) entries: Vec<JournalEntry>,
}

/// How far a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Temporary files are being written; no file of the project has changed.
    Preparing,
    /// All temporary files are complete: from here on the commit is completed, not taken back.
    Prepared,
}

/// One file of a commit. What is done to it follows from which hashes there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub(super) path: FilePath,
    /// Where the new content waits; none for a file that is removed.
    pub(super) temporary: Option<FilePath>,
    /// The hash of the old content; none for a file that is created.
    pub(super) before: Option<ContentHash>,
    /// The hash of the new content; none for a file that is removed.
    pub(super) after: Option<ContentHash>,
    /// Whether the new file can be run; none if that stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) executable: Option<bool>,
}

impl Journal {
    pub(super) fn new(made: Vec<FilePath>, entries: Vec<JournalEntry>) -> Self {
        Self { version: VERSION, stage: Stage::Preparing, made, entries }
    }

    /// Returns the same commit at another stage.
    pub(super) fn at(&self, stage: Stage) -> Self {
        Self { stage, ..self.clone() }
    }

    pub(super) fn decode(text: &[u8]) -> io::Result<Self> {
        let journal: Self = serde_json::from_slice(text)?;
        if journal.version != VERSION {
            let reason = format!(
                "an interrupted commit was written in format {}, this program reads format {VERSION}; complete it with \
                 the program that wrote it",
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

    /// Returns the directories in which names come and go, those that are made and their parents included.
    pub(super) fn directories(&self) -> BTreeSet<FilePath> {
        let changed = self.entries.iter().map(|entry| &entry.path).chain(&self.made);
        changed.filter_map(FilePath::parent).collect()
    }

    pub(super) fn paths(&self) -> Vec<FilePath> {
        self.entries.iter().map(|entry| entry.path.clone()).collect()
    }
}
