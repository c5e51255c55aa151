//! The workspace: the one place every write goes through, between tools and the environment.
//!
//! It keeps a line log for each file that was edited, decides what reaches the disk, verifies that writes were made
//! for the text as it is, and answers reads with pending edits applied. Locating edits in text is `emend-edit`'s,
//! reading and writing bytes the environment's.

mod command;
mod context;
mod error;
mod file_view;
mod kept_texts;
mod precondition;
mod read;
mod read_tracker;
mod review;
mod runs;
mod snapshot;
mod state;
mod write;

pub use command::CommandOutcome;
pub use context::WriteContext;
pub use error::{Rejection, WorkspaceError};
pub use file_view::FileView;
pub(crate) use file_view::{LATEST, latest_state_text};
pub use precondition::Precondition;
pub use read_tracker::ReadTracker;
pub use review::{ChangedFile, Review, ReviewError, ReviewFile, ReviewHunk, ReviewLine};
pub use runs::{RunChanges, TextChange, UndoneRun};
pub use snapshot::{Snapshot, SnapshotError};
pub use state::{Mode, Workspace};
pub use write::{FileWrite, Texts, WrittenFile};

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod tests;
