//! Data that several patch formats share: hunk lines, applied hunks, diagnostics and edited texts.

use std::fmt;

use serde::Serialize;

use crate::diff::LineKind;
use crate::locate::leniency::Leniency;

/// The lines of a hunk, stored in one string so that a patch of many lines needs few allocations.
#[derive(Clone, Default)]
pub struct HunkLines {
    // Holds the lines in order. Text between them belongs to no line.
    text: String,
    // The kind of each line, and where it starts and ends in `text`.
    lines: Vec<(LineKind, usize, usize)>,
}

impl HunkLines {
    /// Wraps lines that are ranges of `text`. In wasm one long copy costs much less than many short ones.
    pub(crate) fn within(text: String, lines: Vec<(LineKind, usize, usize)>) -> Self {
        Self { text, lines }
    }

    /// Appends one line.
    pub fn push(&mut self, kind: LineKind, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.lines.push((kind, start, self.text.len()));
    }

    /// Returns an upper limit of the total size of all lines, in bytes.
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

    /// Returns the lines that are in the file after the edit: context and inserted ones.
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

/// A note about an edit that was accepted, for its author to do differently next time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable name of the kind of note, such as `loose_match`.
    pub code: &'static str,
    /// The finding, and what to write instead.
    pub message: String,
    /// The line of the patch, or of the file for notes about its text; from 1.
    pub line: Option<usize>,
}

/// The place at which a hunk was applied, in the old and the new text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedHunk {
    /// Number of the hunk in its file edit, from 1.
    pub number: usize,
    /// The first line it covers in the old text, from 1. For an insertion, the line before which it inserts.
    pub old_start: usize,
    /// Number of lines of the old text it covers.
    pub old_lines: usize,
    /// The first line it covers in the new text, from 1.
    pub new_start: usize,
    /// Number of lines of the new text it covers.
    pub new_lines: usize,
    /// How loosely its lines matched.
    pub matched: Leniency,
}

/// A text after a patch was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    /// The new text.
    pub text: String,
    /// The place of each hunk, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
    /// Notes about edits that were accepted.
    pub diagnostics: Vec<Diagnostic>,
}

impl EditedText {
    /// Wraps a whole text that was not made by hunks.
    pub(crate) fn plain(text: String) -> Self {
        Self { text, hunks: Vec::new(), diagnostics: Vec::new() }
    }
}
