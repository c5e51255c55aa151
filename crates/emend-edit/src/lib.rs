//! Text in, text out: patch formats, diff and hunks, the line log, truncation.
//!
//! Nothing here waits, reads a file, tells the time or knows JSON; callers bring texts and take texts away.
#![forbid(unsafe_code)]

pub mod diff;
mod error_code;
pub mod line_log;
mod locate;
pub mod patch;
pub mod size;
#[cfg(test)]
mod test_support;
pub mod text;
pub mod truncate;

pub use error_code::ErrorCode;
pub use line_log::LineLog;
pub use patch::{Change, EditError, FileEdit, Patch, PlannedFile, edit_text, plan};
pub use text::ContentHash;
