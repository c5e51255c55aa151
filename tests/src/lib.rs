//! Code shared by the test suites: deterministic time and randomness, the server's side of HTTP, and an SSH server.
//!
//! The suites are `tests/it`, `tests/http`, and the tests of the crates.

pub mod chance;
#[cfg(not(target_family = "wasm"))]
pub mod http;
#[cfg(unix)]
pub mod sshd;
