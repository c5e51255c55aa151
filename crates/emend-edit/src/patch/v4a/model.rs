//! V4a hunks as data.

use crate::patch::model::{AppliedHunk, HunkLines};

/// A hunk that is found by its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct V4aHunk {
    /// The lines named after `@@`, outermost first. The hunk is below the last of them.
    pub anchors: Vec<String>,
    /// The lines, without line endings.
    pub lines: HunkLines,
    /// Whether the hunk ends where the file ends.
    pub end_of_file: bool,
    /// The line of the patch at which the hunk starts, from 1.
    pub patch_line: usize,
}

/// A text after hunks were applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V4aResult {
    /// The new text.
    pub text: String,
    /// The place of each hunk, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
}
