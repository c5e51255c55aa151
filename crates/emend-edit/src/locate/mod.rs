//! Finds the lines of an edit in a file, and explains why they are not found.
//!
//! The patch formats are built on this module. It knows lines, not patches.

pub(crate) mod hunk_error;
pub(crate) mod leniency;
mod line_buckets;
pub(crate) mod line_table;
pub(crate) mod nearest;
pub(crate) mod placeholder;
pub(crate) mod placement;
pub(crate) mod text_builder;
