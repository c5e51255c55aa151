//! The local machine: files, processes, network, clock, and state that outlives the process.
//!
//! `emend-agent` decides which files tools read and change, and `emend-llm` decides which bytes are sent. This crate
//! carries both out. [`LocalEnvironment`] is the usual entry point.

mod clock;
mod commit;
mod file_lock;
mod files;
mod git;
mod git_config;
mod git_settings;
mod growing_document;
#[cfg(unix)]
mod keep;
mod local;
mod obeyed;
#[cfg(feature = "outline")]
mod outline;
mod process;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod servers;
#[cfg(feature = "sqlite")]
mod service_store;
#[cfg(unix)]
mod shared_document;
#[cfg(feature = "shell")]
mod shell;
mod stat_cache;
mod state;
mod store;
#[cfg(test)]
mod test_support;
mod transport;
mod under_way;
mod user_places;

pub use clock::{OsRandom, SystemClock};
pub use commit::{CommitError, Observer, Recovered, Step, StepKind};
pub use git::project_root;
pub use growing_document::GrowingDocument;
#[cfg(unix)]
pub use local::IndexFigures;
pub use local::LocalEnvironment;
#[cfg(feature = "shell")]
pub use local::read_command;
pub use obeyed::ObeyedFiles;
#[cfg(feature = "outline")]
pub use outline::Outline;
pub use process::{EnvPolicy, Inherit, Sandbox};
#[cfg(unix)]
pub use remote::{RemoteEnvironment, RemoteKind, RemotePlace};
#[cfg(unix)]
pub use servers::ChangeLock;
#[cfg(feature = "sqlite")]
pub use service_store::{OpenStoreError, SqliteServiceStore};
#[cfg(unix)]
pub use shared_document::{SharedDocument, Unread};
#[cfg(feature = "shell")]
pub use shell::EmulatedShell;
pub use state::{StateDir, StateError};
pub use store::FileStore;
pub use transport::{ReqwestTransport, Timeouts};
pub use under_way::UnderWay;
