//! Unified diffs as data.

use crate::patch::model::{AppliedHunk, HunkLines};

/// How strictly a diff is read and applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffMode {
    /// Line numbers and counts must be right.
    Strict,
    /// Line numbers are hints and counts are ignored: hunks are found by their lines.
    Located,
}

/// The effect of a diff on the file itself, besides its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file exists before and after.
    Update,
    /// The file is created.
    Create,
    /// The file is deleted. The hunks hold its whole text.
    Delete,
}

/// One file of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedEdit {
    /// How strictly the hunks are applied.
    pub mode: DiffMode,
    /// Whether the file is changed, created or deleted.
    pub kind: FileKind,
    /// The new path, if the file is moved.
    pub rename_to: Option<String>,
    /// Whether the file is executable afterwards, from git's mode lines; `None` if there are none.
    pub executable: Option<bool>,
    /// The hunks; empty for a file that is only moved, or created empty.
    pub hunks: Vec<UnifiedHunk>,
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedHunk {
    /// The first old line that it states, from 1, or 0 if no line is before it. `None` if it states none.
    pub old_start: Option<usize>,
    /// Its lines with their line endings. The last old line and the last new line have none if `\ No newline at end of
    /// file` follows.
    pub lines: HunkLines,
    /// The line of the patch at which it starts, from 1.
    pub patch_line: usize,
}

impl UnifiedHunk {
    pub(super) fn n_old(&self) -> usize {
        self.lines.old().count()
    }

    /// Returns the line (from 0) at which the hunk states to start, or before which it states to insert.
    pub(super) fn stated(&self) -> Option<usize> {
        // A hunk without old lines states the line above it.
        let has_old = self.lines.old().next().is_some();
        self.old_start.map(|line| if has_old { line.saturating_sub(1) } else { line })
    }
}

/// A text after a diff was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedResult {
    /// The new text.
    pub text: String,
    /// The place of each hunk.
    pub hunks: Vec<AppliedHunk>,
    /// The hunks as they were applied: with right numbers, and with old lines as in the text (except for a byte-order
    /// mark).
    pub corrected: Vec<UnifiedHunk>,
}
