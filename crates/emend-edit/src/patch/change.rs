//! The data that every patch format parses to: edits of files, as hunks, replacements or line ranges.

use std::collections::HashSet;

use crate::patch::line_edits::LineEdits;
use crate::patch::unified::model::UnifiedEdit;
use crate::patch::v4a::model::V4aHunk;

/// Edits of one or more files that belong together: all of them are applied, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The edits, in the order in which they are applied.
    pub edits: Vec<FileEdit>,
    /// Whether creating a file, or moving one, onto an existing file replaces it instead of failing.
    pub overwrite: bool,
}

impl Patch {
    /// Returns a patch with one edit of one file.
    #[must_use]
    pub fn of(path: impl Into<String>, change: Change) -> Self {
        Self { edits: vec![FileEdit { path: path.into(), change }], overwrite: false }
    }

    /// Returns every path that the patch touches, targets of moves included, each once and in order of appearance.
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
    /// Path of the file, as the patch writes it.
    pub path: String,
    /// The change of the file.
    pub change: Change,
}

impl FileEdit {
    /// Returns the new path if the edit moves the file.
    #[must_use]
    pub fn moved_to(&self) -> Option<&str> {
        match &self.change {
            Change::Update { move_to, .. } => move_to.as_deref(),
            Change::Unified(edit) => edit.rename_to.as_deref(),
            _ => None,
        }
    }
}

/// How an edit changes its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates the file with this text.
    Create {
        /// The whole text of the new file.
        text: String,
    },
    /// Deletes the file.
    Delete,
    /// Applies v4a hunks, each of which is found by its lines.
    Update {
        /// The new path, if the file is moved.
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
        /// The text that replaces it.
        new: String,
        /// Whether every occurrence is replaced. Otherwise there must be exactly one.
        replace_all: bool,
    },
    /// Replaces, inserts or deletes lines by number.
    Lines(LineEdits),
}
