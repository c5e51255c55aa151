//! The patch format of `apply_patch`, version 4a: files by name, hunks that find their own place by their lines.
//!
//! The grammar is the agent-loop specification's appendix A. What is accepted beyond it is listed in
//! `docs/patch-cases.md`, and every slip that is accepted comes back as a [`Diagnostic`] that teaches the form.
//! [`parse`] reads a whole patch, [`Parser`] one that is still arriving; [`apply`] puts one file's hunks into its text.
//! Files are created, moved and deleted in [`crate::plan`].

mod apply;
mod envelope;
mod fast_path;
pub(crate) mod model;
mod parse_error;
mod parser;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use apply::apply;
pub use model::{V4aHunk, V4aResult};
pub use parse_error::V4aParseError;
pub use parser::{Parser, parse};
