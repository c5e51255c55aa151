//! Data that all patch formats share: hunk lines, applied hunks, diagnostics, edited texts.

use std::fmt;

use serde::Serialize;

use crate::diff::LineKind;
use crate::locate::leniency::Leniency;

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
    pub matched: Leniency,
}

/// A text with a patch carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    /// The new text.
    pub text: String,
    /// Where the hunks went, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
    /// What was accepted with a warning.
    pub diagnostics: Vec<Diagnostic>,
}

impl EditedText {
    /// Returns a text that no hunk describes.
    pub(crate) fn plain(text: String) -> Self {
        Self { text, hunks: Vec::new(), diagnostics: Vec::new() }
    }
}
