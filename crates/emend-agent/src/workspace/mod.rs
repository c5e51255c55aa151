//! The workspace: every read and write of files under one root, between tools and the environment.
//!
//! The workspace keeps a line log for each edited file, decides which texts reach the disk, checks the preconditions of
//! writes, and applies pending edits to reads. `emend-edit` locates edits in text; the environment reads and writes
//! bytes.

mod apply;
mod around_logs;
mod bundle;
mod checkpoint;
mod command;
mod context;
mod decisions;
mod entry;
mod error;
mod file_view;
mod gate;
mod hunk_edit;
mod kept_command;
#[cfg(not(target_family = "wasm"))]
mod kept_effect;
mod kept_texts;
mod merge;
mod parts;
mod pending;
mod precondition;
mod preview;
mod promotion;
mod read;
mod read_tracker;
mod redo;
mod repeated_rollback;
mod review;
mod rollback;
#[cfg(not(target_family = "wasm"))]
mod rollback_preview;
mod runs;
mod snapshot;
mod state;
mod steps;
mod told;
mod undo_preview;
mod unsaved;
mod write;

pub use apply::{Applied, AppliedFile, ApplyOptions};
pub use bundle::{BundleFile, BundleHunk, DiffBundle, ProposedEdit};
pub use checkpoint::{Checkpoint, CheckpointFile, CheckpointHunk, Diff3};
pub use command::CommandOutcome;
pub use context::WriteContext;
pub use decisions::{HunkDecision, Selection};
pub use error::{Rejection, WorkspaceError};
pub use file_view::FileView;
pub(crate) use file_view::{LATEST, latest_state_text};
pub use merge::ReplacedLines;
pub use parts::HunkLines;
pub use precondition::Precondition;
pub(crate) use precondition::check as check_precondition;
pub use preview::{Touched, TouchedFile};
pub use promotion::Promotion;
pub use read_tracker::ReadTracker;
pub use review::{ChangedFile, Review, ReviewError, ReviewFile, ReviewHunk, ReviewLine};
pub use rollback::{Rollback, RollbackMode, RollbackRequest, RolledBackFile};
pub use runs::{RedoneRuns, RunChanges, TextChange, UndoneRun};
pub use snapshot::{Missed, RootEntry, RootGate, RootRight, SaveSnapshot, Snapshot, SnapshotError};
pub use state::{Mode, Workspace};
pub use steps::FinishedStep;
pub use unsaved::SavedFile;
pub use write::{EditStep, FileWrite, Texts, WrittenFile};

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod tests;
