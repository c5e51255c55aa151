//! Code shared by the test suites: deterministic time and randomness, and the server's side of HTTP.
//!
//! The suites are `tests/it`, `tests/http`, and the tests of the crates.

pub mod chance;
#[cfg(not(target_family = "wasm"))]
pub mod http;
