//! The local machine: its files, its processes, its network, its clock, and where state is kept between runs.
//!
//! What tools do with files and what goes over the wire is decided in `emend-agent` and `emend-llm`; this crate only
//! carries it out.

mod clock;
mod commit;
mod files;
mod git;
mod local;
mod process;
#[cfg(feature = "shell")]
mod shell;
mod state;
mod store;
#[cfg(test)]
mod test_support;
mod transport;

pub use clock::{OsRandom, SystemClock};
pub use commit::{CommitError, Observer, Recovered, Step, StepKind};
pub use local::LocalEnvironment;
pub use process::{EnvPolicy, Inherit, Sandbox};
#[cfg(feature = "shell")]
pub use shell::EmulatedShell;
pub use state::{StateDir, StateError};
pub use store::FileStore;
pub use transport::{ReqwestTransport, Timeouts};
