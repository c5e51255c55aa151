//! Unified diffs: parsed, checked against a text, and applied.
//!
//! In **strict** mode the old lines of every hunk must be, byte for byte, at the line that the hunk states. Common
//! tools shift hunks silently; this module does not.
//!
//! In **located** mode wrong numbers and counts are corrected, because models count lines badly: the old lines of each
//! hunk are searched in the text, and the corrected diff is then applied strictly.
//!
//! Lines end at LF, as in every tool that reads such diffs. [`crate::diff::unified`] makes diffs.

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

/// Applies the hunks of `edit` in its mode. Returns the new text and where each hunk was applied.
pub(crate) fn apply(before: &str, edit: &UnifiedEdit) -> Result<(String, Vec<AppliedHunk>), HunkError> {
    match edit.mode {
        DiffMode::Strict => strict::apply_hunks(before, &edit.hunks),
        DiffMode::Located => apply_located(before, &edit.hunks).map(|applied| (applied.text, applied.hunks)),
    }
}
