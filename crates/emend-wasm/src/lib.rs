//! The bindings that carry the core into a browser tab or into Node.
//!
//! Nothing is decided here: options come in as JSON text, results and events go out as JSON text, and bytes are
//! copied. The JavaScript layer in `pkg/src` is the only caller and gives all this its shape.
//!
//! **Every entry into this module is a call that the JavaScript layer makes and guards.** No closure is ever handed
//! to a timer or a promise: those settle through `host.rs`, so that a panic reaches the caller as an error instead of
//! ending the process, and nothing can call into an instance that has panicked.
#![cfg(target_family = "wasm")]

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "agent")]
mod approve;
mod clock;
#[cfg(feature = "edit")]
pub mod edit;
#[cfg(any(feature = "agent", feature = "edit", feature = "llm", feature = "shell"))]
pub mod failure;
#[cfg(any(feature = "agent", feature = "llm"))]
mod fetch;
#[cfg(feature = "agent")]
mod fields;
#[cfg(feature = "agent")]
mod files;
pub mod host;
#[cfg(feature = "agent")]
mod js_environment;
#[cfg(any(feature = "agent", feature = "llm"))]
mod js_provider;
#[cfg(feature = "agent")]
pub mod js_shell;
#[cfg(feature = "agent")]
mod js_store;
#[cfg(feature = "agent")]
mod js_tool;
#[cfg(feature = "llm")]
pub mod llm;
#[cfg(feature = "offline")]
pub mod offline;
#[cfg(feature = "agent")]
mod options;
#[cfg(any(feature = "agent", feature = "llm"))]
mod random;
#[cfg(feature = "shell")]
pub mod shell;
#[cfg(any(feature = "agent", feature = "llm", feature = "shell"))]
pub mod task;

#[cfg(any(test, feature = "test-host"))]
pub mod test_host;

pub use clock::BrowserClock;
#[cfg(any(feature = "agent", feature = "llm"))]
pub use fetch::{FetchTimeouts, FetchTransport};
#[cfg(any(feature = "agent", feature = "llm"))]
pub use random::JsRandom;
