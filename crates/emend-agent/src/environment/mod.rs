//! Environments: where files and commands live.
//!
//! An environment reads and writes whole files under one root, searches them, runs commands, and rejects every path
//! that leaves the root. Versions, pending edits and tools belong to the workspace, which is the only caller of the
//! methods that write. Hosts implement [`ExecutionEnvironment`]; [`memory`] holds the implementation for browsers and
//! tests, [`layers`] holds those that wrap another environment. The feature `conformance` adds the suite that all of
//! them pass.

mod change;
mod change_one_by_one;
pub mod command;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod entry;
mod error;
mod execution_environment;
mod file_keeper;
pub mod gitignore;
mod grep;
pub mod layers;
pub mod memory;
mod path;
mod repository;
pub mod resolve;
pub mod walk;

pub use change::FileChange;
#[cfg(not(target_family = "wasm"))]
pub use change::FirstStep;
pub use change_one_by_one::change_one_by_one;
pub use entry::{Access, DirEntry, EntryKind, Metadata, in_order};
pub use error::{EnvError, SandboxDecision};
pub use execution_environment::ExecutionEnvironment;
pub use file_keeper::{
    CopyChange, CopyChangeKind, CopyKeeper, FileKeeper, KeptChange, KeptChangeKind, KeptInterrupted, KeptPreview,
    KeptRestored, KeptRun, KeptState, KeptStateKind, KeptUndo, ReplacedDirectories, UndoStep,
};
pub use grep::{FileMatches, GrepQuery};
pub use path::FilePath;
pub use repository::GitSnapshot;
