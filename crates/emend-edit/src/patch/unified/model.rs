//! Unified diffs as data.

use crate::patch::model::{AppliedHunk, HunkLines};

/// How a diff is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffMode {
    /// Numbers and counts must be right.
    Strict,
    /// Numbers are hints and counts are ignored: hunks are found by their lines.
    Located,
}

/// What a diff does to its file besides changing lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file exists before and after.
    Update,
    /// The file is new.
    Create,
    /// The file goes; the hunks hold its whole text.
    Delete,
}

/// One file of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedEdit {
    /// How the hunks are taken.
    pub mode: DiffMode,
    /// What happens to the file.
    pub kind: FileKind,
    /// Where the file is moved to, if anywhere.
    pub rename_to: Option<String>,
    /// Whether the file can be run afterwards, from git's mode lines; `None` if they say nothing about it.
    pub executable: Option<bool>,
    /// The hunks; none for a file that is only moved, or created empty.
    pub hunks: Vec<UnifiedHunk>,
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedHunk {
    /// The first old line it states, from 1; 0 if there is none before it. `None` if it states nothing.
    pub old_start: Option<usize>,
    /// Its lines with their endings. The last old and the last new one have none after `\ No newline at end of file`.
    pub lines: HunkLines,
    /// The line of the patch it starts on, from 1.
    pub patch_line: usize,
}

impl UnifiedHunk {
    pub(super) fn n_old(&self) -> usize {
        self.lines.old().count()
    }

    /// Returns the line (from 0) before which, or at which, the hunk says it stands.
    pub(super) fn stated(&self) -> Option<usize> {
        // A hunk without old lines states the line above it.
        let has_old = self.lines.old().next().is_some();
        self.old_start.map(|line| if has_old { line.saturating_sub(1) } else { line })
    }
}

/// A text with a diff applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedResult {
    /// The new text.
    pub text: String,
    /// Where each hunk went.
    pub hunks: Vec<AppliedHunk>,
    /// The hunks as they were applied: right numbers, and old lines as they are in the text (byte-order mark aside).
    pub corrected: Vec<UnifiedHunk>,
}
