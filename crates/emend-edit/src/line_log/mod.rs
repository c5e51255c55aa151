//! The line log: the text of one file under review, with every change to it and the decision about each.
//!
//! A **token** is one line with its own line ending. It records the change that inserted it and the changes that
//! deleted it, and is never removed. A change is *on* unless it was rejected or rolled back. A token is shown if the
//! change that inserted it is on and none that deleted it is. So any change can be switched off or on at any time, in
//! any order, and nothing is ever rebased. Three texts are views of the same tokens: **visible** (the text that agent
//! and user see), **disk** (the text that a save writes) and **base** (the text before the first change).
//!
//! **Disk rule.** The disk shows the changes that are on and not pending. It also shows those pending changes on which
//! a change on the disk depends: a line that the user typed inside a proposal brings the part of the proposal that it
//! depends on. Without this rule a saved file could contain a line beside its own replacement.
//!
//! **Dependencies.** A change depends on another one if it deleted one of its lines or inserted between two of its
//! lines. A change of the agent also depends on another one if it inserted where that had deleted. In these cases,
//! switching the other change off leaves lines behind that were written for a text that is no longer there. So rejecting
//! asks first ([`DependentsPolicy`]). A line that the user types beside deleted lines depends on nothing: it comes after
//! them, and the deletion can still be rejected.
//!
//! **Line endings.** A line without a line ending that is not the last one of a view is shown with the file's line
//! ending: that of the first line that has one.
//!
//! The log does not know files, sessions or clocks, and does not compare two files. A workspace owns one log per file
//! and passes the time in.

mod contested;
mod decide;
#[cfg(any(not(target_family = "wasm"), test))]
mod delta;
mod dependencies;
mod history;
mod hunk_edit;
mod hunk_size;
mod hunk_spans;
mod ingest;
mod log;
mod new_lines;
mod proposal;
mod revert;
mod review;
mod save;
mod sequence;
mod split;
mod split_hunk;
mod types;
mod undo;

#[cfg(test)]
mod tests;

#[cfg(any(not(target_family = "wasm"), test))]
pub use delta::LogDelta;
pub use history::{Action, LogEntry, StatusChange};
pub use hunk_size::{HUNK_BYTES_MAX, HUNK_LINES_MAX, HunkLimits};
pub use log::LineLog;
pub use proposal::{Proposal, ProposedLines};
pub use review::{Hunk, HunkQuery};
pub use save::{LoadError, SavedLog};
pub use types::{
    ChangeId, ChangeMeta, ChangeOp, CheckpointId, DecisionError, DecisionOutcome, DependentsPolicy, HunkId,
    LoggedChange, Origin, Status, VisibleEdit,
};
