//! Pure functions on texts: patch formats, diffs, three-way merge, the line log, truncation.
//!
//! The crate does not wait, read files or clocks, or know JSON. Callers pass texts in and get texts back.
//!
//! Each module only uses the modules above it:
//!
//! | module | contents |
//! |---|---|
//! | [`text`] | decoding, lines, content hashes, truncation |
//! | [`diff`] | line and word diffs, unified diffs, three-way merge |
//! | [`patch`] | the patch formats, and applying patches in memory |
//! | [`line_log`] | one file under review: changes, decisions, hunks, undo |
//!
//! # Examples
//!
//! An agent's edit is applied, recorded as pending, and rejected by the user:
//!
//! ```
//! use emend_edit::line_log::{ChangeMeta, DependentsPolicy, HunkQuery, Origin, Status};
//! use emend_edit::patch::v4a;
//! use emend_edit::{LineLog, edit_text};
//!
//! let before = "one\ntwo\nthree\n";
//! let (patch, _) = v4a::parse("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n")?;
//! let after = edit_text(before, &patch)?.text;
//! assert_eq!(after, "one\n2\nthree\n");
//!
//! let mut log = LineLog::new(Some(before));
//! log.write(Origin::Agent, ChangeMeta::default(), &after, Status::Pending);
//! assert_eq!(log.visible_text().as_deref(), Some("one\n2\nthree\n"));
//! assert_eq!(log.disk_text().as_deref(), Some(before));
//!
//! let hunk = &log.hunks(HunkQuery::default())[0];
//! log.reject(&hunk.change_ids, DependentsPolicy::Refuse, Origin::User, 0)?;
//! assert_eq!(log.visible_text().as_deref(), Some(before));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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

pub use error_code::ErrorCode;
pub use line_log::LineLog;
pub use patch::{Change, EditError, FileEdit, Patch, PlannedFile, edit_text, plan};
pub use text::{ContentHash, HashTrail, truncate};
