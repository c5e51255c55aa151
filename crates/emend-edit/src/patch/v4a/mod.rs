//! The patch format of `apply_patch`, version 4a: files by name, and hunks that are found by their lines.
//!
//! A patch starts with `*** Begin Patch`, ends with `*** End Patch`, and has one header for each file: `*** Add File:
//! path`, `*** Delete File: path` or `*** Update File: path`. `docs/patch-cases.md` lists what is accepted beyond the
//! grammar. Each accepted mistake is returned as a [`Diagnostic`](crate::patch::Diagnostic) that teaches the correct
//! form.
//!
//! [`parse`] reads a whole patch, [`Parser`] one that is still arriving, and [`apply()`] applies the hunks of one file
//! to its text. [`crate::patch::plan()`] also creates, moves and deletes files.

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
