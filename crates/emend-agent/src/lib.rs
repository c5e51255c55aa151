//! A coding agent for other programs to embed: sessions, tools, the workspace between tools and files, and the canvas.
//!
//! The crate runs natively and in a browser tab. Files, processes, the network, time and randomness come from the host
//! through [`ExecutionEnvironment`], `emend_llm::Transport`, `emend_llm::Clock` and `emend_llm::Random`.
//!
//! The types that an embedder needs first are re-exported here. This program (`examples/embed.rs`) runs a whole session:
//!
//! ```
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! Modules from the bottom up; each uses only those before it: [`error_code`] and [`search`]; [`environment`];
//! [`approval`], [`event`] and [`canvas`]; [`workspace`]; [`tool`]; [`history`] and [`store`]; [`tools`], [`profile`] and
//! [`prompt`]; [`session`]; [`service`].
#![forbid(unsafe_code)]

pub mod approval;
pub mod canvas;
pub mod environment;
pub mod error_code;
pub mod event;
pub mod fixed_texts;
pub mod history;
pub mod profile;
pub mod prompt;
pub mod search;
pub mod service;
pub mod session;
pub mod store;
pub mod suggest;
pub mod tool;
pub mod tools;
pub mod web;
pub mod workspace;

pub use approval::{Approver, Decision, Policy};
pub use environment::memory::MemFs;
pub use environment::{EnvError, ExecutionEnvironment, FilePath};
pub use error_code::Code;
pub use event::{Event, EventKind};
pub use session::{ProfileChoice, Run, Session, SessionBuilder, SessionConfig};
pub use store::Store;
pub use tool::{Tool, ToolContext, ToolError, ToolOutput};
pub use workspace::{Mode, Workspace};

/// Whether the build can contain the service, and with it routers, drafts and leases that wait. The core of a browser tab has
/// none of these, and the constant keeps their code out of its module.
const HAS_SERVICE: bool = cfg!(any(not(target_family = "wasm"), feature = "service", test));

#[cfg(test)]
mod test_support;
