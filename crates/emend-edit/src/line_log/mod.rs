//! The line log: one file's text under review, with every change to it and what was decided about each.
//!
//! A **token** is one line with its own ending. It remembers which change inserted it and which changes deleted it,
//! and is never removed. A change is *on* unless it was rejected or rolled back. A token shows if the change that
//! inserted it is on and none that deleted it is; so any change can be switched off or on at any time, in any order,
//! and nothing is ever rebased. Three texts are views of the same tokens: **visible** (what agent and user see),
//! **disk** (what a save writes) and **base** (what there was before the first change).
//!
//! **Disk rule.** The disk shows the changes that are on and not pending, and those pending ones that a change on the
//! disk stands on: a line the user typed inside a proposal takes the part of the proposal it stands on with it. Without
//! this a saved file would hold a line beside its own replacement.
//!
//! **Standing on.** A change depends on another if it deleted a line of it, inserted between two of its lines, or
//! inserted where it had deleted. These are the cases in which switching the other off leaves lines behind that were
//! written for a text that is no longer there; so rejecting asks first ([`DependentsPolicy`]).
//!
//! **Endings.** A line without an ending that is not the last of a view is shown with the file's ending: that of the
//! first line that has one.
//!
//! The log knows no files, paths' contents, sessions or clocks, and makes no diff between two files; a workspace owns
//! one log per file and tells it the time.

mod decide;
mod dependencies;
mod history;
mod hunk_size;
mod hunk_spans;
mod ingest;
mod log;
mod review;
mod save;
mod sequence;
mod split;
mod types;
mod undo;

#[cfg(test)]
mod tests;

pub use history::{Action, LogEntry, StatusChange};
pub use hunk_size::{HUNK_BYTES_MAX, HUNK_LINES_MAX};
pub use log::LineLog;
pub use review::{Hunk, HunkQuery};
pub use save::LoadError;
pub use types::{
    ChangeId, ChangeMeta, ChangeOp, CheckpointId, DecisionError, DecisionOutcome, DependentsPolicy, HunkId,
    LoggedChange, Origin, Status, VisibleEdit,
};
