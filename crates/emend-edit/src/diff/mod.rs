//! Differences between texts: of lines, of words within a line, and of two texts with a common base.

mod greedy;
mod hunk_line;
mod line_diff;
mod merge;
mod render;
mod word_diff;

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests;
#[cfg(test)]
mod tests;

pub use hunk_line::{HunkLine, LineKind};
pub use line_diff::{EXACT_LINES_MAX, Op, diff_lines, diff_slices};
pub use merge::{Merged, Region, RegionKind, compare3, merge3};
pub use render::{Names, TextHunk, hunks, hunks_of, unified};
pub use word_diff::{WordSpans, word_spans};
