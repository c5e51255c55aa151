//! The bindings of the core for browsers and Node.
//!
//! The bindings hold no rules of their own. Options come in as JSON text, results and events go out as JSON text, and bytes
//! are copied. The JavaScript layer in `pkg/src` is the only caller and provides the public API.
//!
//! **Every entry into this module is a call that the JavaScript layer makes and guards.** No closure is passed to a timer
//! or a promise: both settle through `host/bridge.rs`. So a panic reaches the caller as an error instead of ending the
//! process, and nothing calls into an instance that has panicked.
#![cfg(target_family = "wasm")]

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "edit")]
pub mod edit;
#[cfg(any(feature = "agent", feature = "edit", feature = "llm", feature = "regex", feature = "shell"))]
pub mod failure;
pub mod host;
#[cfg(any(feature = "agent", feature = "llm"))]
pub mod js;
#[cfg(feature = "llm")]
pub mod llm;
#[cfg(feature = "offline")]
pub mod offline;
#[cfg(feature = "regex")]
pub mod regex;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "shell")]
pub mod shell;

#[cfg(any(test, feature = "test-host"))]
pub mod test_host;

pub use host::BrowserClock;
#[cfg(any(feature = "agent", feature = "llm"))]
pub use host::{FetchTimeouts, FetchTransport, JsRandom};
