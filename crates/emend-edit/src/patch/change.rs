//! What every patch format parses to: edits of files, as lists of hunks, replacements or line ranges.
//!
//! The formats (`v4a`, `unified`, `replace`, `lines`) read their own syntax; [`crate::plan`] carries the edits out in
//! memory. Nothing here looks at a file.

use std::collections::HashSet;

use crate::patch::line_edits::LineEdits;
use crate::patch::unified::model::UnifiedEdit;
use crate::patch::v4a::model::V4aHunk;

/// Edits of one or more files that belong together: all are carried out or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The edits, in the order they are carried out in.
    pub edits: Vec<FileEdit>,
    /// Whether creating or moving onto an existing file replaces it instead of failing.
    pub overwrite: bool,
}

impl Patch {
    /// Wraps one edit of one file.
    #[must_use]
    pub fn of(path: impl Into<String>, change: Change) -> Self {
        Self { edits: vec![FileEdit { path: path.into(), change }], overwrite: false }
    }

    /// Returns every path the patch touches, targets of moves too, each once and in order of appearance.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let named = self.edits.iter().flat_map(|edit| [Some(edit.path.as_str()), edit.moved_to()]);
        named.flatten().filter(|&path| seen.insert(path)).collect()
    }
}

/// One edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The file, as the patch names it.
    pub path: String,
    /// What is done to it.
    pub change: Change,
}

impl FileEdit {
    /// Returns where the file is moved to, if it is.
    #[must_use]
    pub fn moved_to(&self) -> Option<&str> {
        match &self.change {
            Change::Update { move_to, .. } => move_to.as_deref(),
            Change::Unified(edit) => edit.rename_to.as_deref(),
            _ => None,
        }
    }
}

/// What an edit does to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates the file with this text.
    Create {
        /// The whole text.
        text: String,
    },
    /// Deletes the file.
    Delete,
    /// Applies v4a hunks, each of which finds its own place.
    Update {
        /// Where the file is moved to, if anywhere.
        move_to: Option<String>,
        /// The hunks, in file order.
        hunks: Vec<V4aHunk>,
    },
    /// Applies one file of a unified diff.
    Unified(UnifiedEdit),
    /// Replaces one string by another.
    Replace {
        /// The text to find. Empty to create the file.
        old: String,
        /// The text to put in its place.
        new: String,
        /// Whether every occurrence is replaced; otherwise there must be exactly one.
        replace_all: bool,
    },
    /// Replaces, inserts or deletes lines by number.
    Lines(LineEdits),
}
