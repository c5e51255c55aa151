//! Traits of the core implemented in JavaScript: providers, tools, stores, approvals, shells and environments.
//!
//! The JavaScript layer checks the values that its caller's code returns. It runs none of that code before a function
//! that this module calls has returned, because the code may call back into the core.

#[cfg(feature = "agent")]
mod approver;
#[cfg(feature = "agent")]
mod call;
#[cfg(feature = "agent")]
mod command;
#[cfg(feature = "agent")]
pub(crate) mod environment;
#[cfg(all(feature = "agent", not(feature = "regex"), not(feature = "service")))]
mod patterns;
mod provider;
#[cfg(feature = "agent")]
pub mod shell;
#[cfg(feature = "agent")]
mod store;
#[cfg(feature = "agent")]
mod tool;

#[cfg(feature = "agent")]
pub(crate) use approver::JsApprover;
#[cfg(all(feature = "agent", not(feature = "regex"), not(feature = "service")))]
pub(crate) use patterns::JsPatterns;
pub(crate) use provider::JsProvider;
#[cfg(feature = "agent")]
pub use shell::JsShell;
#[cfg(feature = "agent")]
pub(crate) use store::JsStore;
#[cfg(feature = "agent")]
pub(crate) use tool::{JsTool, ToolDescription};

/// Name of the option that has the key of a provider, for error messages.
pub(crate) const KEY_OPTION: &str = "`apiKey`";
