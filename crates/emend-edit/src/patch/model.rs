//! What every patch format parses to: edits of files, as lists of hunks, replacements or line ranges.
//!
//! The formats (`v4a`, `unified`, `replace`, `lines`) read their own syntax; [`crate::plan`] carries the edits out in
//! memory. Nothing here looks at a file.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;

pub use crate::hunk::LineKind;
use crate::lines::LineEdits;
use crate::unified::UnifiedEdit;

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
        hunks: Vec<Hunk>,
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

/// The lines of a hunk, kept in one string: a patch of many lines is few allocations.
#[derive(Clone, Default)]
pub struct HunkLines {
    // Holds the lines in order; what stands between them belongs to none.
    text: String,
    // Each line's kind and where it starts and ends in `text`.
    lines: Vec<(LineKind, usize, usize)>,
}

impl HunkLines {
    /// Takes lines out of `text` where they stand: in wasm one long copy costs much less than many short ones.
    pub(crate) fn within(text: String, lines: Vec<(LineKind, usize, usize)>) -> Self {
        Self { text, lines }
    }

    /// Appends one line.
    pub fn push(&mut self, kind: LineKind, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.lines.push((kind, start, self.text.len()));
    }

    /// Returns as many bytes as all lines together have, or a few more.
    pub(crate) fn n_bytes_max(&self) -> usize {
        self.text.len()
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns each line with its kind.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (LineKind, &str)> {
        self.lines.iter().map(|&(kind, start, end)| (kind, &self.text[start..end]))
    }

    /// Returns the lines that must be in the file: context and deleted ones.
    pub fn old(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.iter().filter(|&(kind, _)| kind != LineKind::Added).map(|(_, line)| line)
    }

    /// Returns the lines that are in the file afterwards: context and inserted ones.
    pub fn new_lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.iter().filter(|&(kind, _)| kind != LineKind::Removed).map(|(_, line)| line)
    }

    /// Returns whether any line is deleted or inserted.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.lines.iter().any(|&(kind, ..)| kind != LineKind::Context)
    }
}

impl PartialEq for HunkLines {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for HunkLines {}

impl fmt::Debug for HunkLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(kind, line)| format!("{}{line}", kind.marker()))).finish()
    }
}

/// A hunk that is found by its lines, as v4a writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The lines named after `@@`, outermost first; the hunk is below the last of them.
    pub anchors: Vec<String>,
    /// The lines, without line endings.
    pub lines: HunkLines,
    /// Whether the hunk ends where the file ends.
    pub end_of_file: bool,
    /// The line of the patch the hunk starts on, from 1.
    pub patch_line: usize,
}

/// Something about an edit that was accepted, and which the author should do differently next time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable name for the kind of slip.
    pub code: &'static str,
    /// What was found and what to write instead.
    pub message: String,
    /// The line of the patch, or of the file for notes about its text; from 1.
    pub line: Option<usize>,
}

/// How exactly the lines of an edit had to be compared with the file before they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// Equal, character for character.
    Exact,
    /// Equal but for blanks at the ends of lines.
    TrailingBlanks,
    /// Equal but for blanks at both ends of lines.
    Indentation,
    /// Equal once typographic quotes, dashes and spaces are read as their ASCII look-alikes as well.
    LookAlikes,
}

/// Where a hunk was put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedHunk {
    /// The hunk's number in its file edit, from 1.
    pub number: usize,
    /// The first line it covers in the old text, from 1. For an insertion: the line before which it goes.
    pub old_start: usize,
    /// How many lines of the old text it covers.
    pub old_lines: usize,
    /// The first line it covers in the new text, from 1.
    pub new_start: usize,
    /// How many lines of the new text it covers.
    pub new_lines: usize,
    /// How its lines were found.
    pub matched: Pass,
}
