//! Unified diffs: read, checked against a text, and applied.
//!
//! **Strict**: every hunk's old lines must stand, byte for byte, exactly at the line the hunk states. The usual tools
//! shift hunks silently; nothing here does. **Located**: models count lines badly, so wrong numbers and counts are
//! corrected by finding each hunk's old lines in the text, and the corrected diff is then applied strictly. Lines are
//! what LF ends, as in every tool that reads such diffs. Making diffs is left to the diff module.

mod located;
pub(crate) mod model;
mod parse_error;
mod parser;
mod render;
mod strict;

#[cfg(test)]
mod tests;

pub use located::apply_located;
pub use model::{DiffMode, FileKind, UnifiedEdit, UnifiedHunk, UnifiedResult};
pub use parse_error::UnifiedParseError;
pub use parser::{parse, parse_for};
pub use render::render;
pub use strict::apply_strict;

use crate::locate::hunk_error::HunkError;
use crate::patch::model::AppliedHunk;

/// Applies the hunks of `edit` as its mode says, and returns the new text and where each hunk went.
pub(crate) fn apply(before: &str, edit: &UnifiedEdit) -> Result<(String, Vec<AppliedHunk>), HunkError> {
    match edit.mode {
        DiffMode::Strict => strict::put(before, &edit.hunks),
        DiffMode::Located => apply_located(before, &edit.hunks).map(|applied| (applied.text, applied.hunks)),
    }
}
