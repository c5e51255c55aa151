//! The integration suite: one binary, many modules.
//!
//! Every module is marked `#[cfg(test)]` although only tests are built here: clippy recognizes test code by this mark.

#[cfg(test)]
mod canvas_apis;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod parity;
#[cfg(test)]
mod provider_faults;

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
use host_tests::{checklist, edit_cases, http_server, llm_faults, patch_cases, wire, wire_encode};
