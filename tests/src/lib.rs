//! What the suites share: time and chance that a test can tell beforehand, and a server's side of HTTP.
//!
//! The suites themselves are beside it: `it`, `http`, and those of the crates.

pub mod chance;
#[cfg(not(target_family = "wasm"))]
pub mod http;
