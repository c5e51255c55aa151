//! Finds the lines of an edit in a file, and explains why they are not found.

pub(crate) mod hunk_error;
pub(crate) mod leniency;
mod line_buckets;
pub(crate) mod line_table;
pub(crate) mod nearest;
pub(crate) mod placeholder;
pub(crate) mod placement;
pub(crate) mod text_builder;
