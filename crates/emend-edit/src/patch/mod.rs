//! Patches: edits of files as data, the formats that describe them, and applying them in memory.
//!
//! Each format parses to [`Change`]s: [`v4a`] and [`unified`] patches of several files, [`replace`] for one string,
//! and [`line_edits`] by line number. [`plan()`] applies a [`Patch`] to files given as texts, and [`edit_text()`] applies
//! it to one text. Reading and writing the files is left to the caller.

mod change;
mod changed_ranges;
mod edit_error;
mod edit_text;
pub mod line_edits;
mod model;
mod plan;
pub mod replace;
pub mod unified;
pub mod v4a;

pub use crate::locate::hunk_error::{HunkError, HunkReason};
pub use crate::locate::leniency::Leniency;
pub use crate::locate::nearest::{Difference, Nearest};
pub use change::{Change, FileEdit, Patch};
pub use changed_ranges::{ChangedRange, changed_ranges};
pub use edit_error::EditError;
pub use edit_text::edit_text;
pub use model::{AppliedHunk, Diagnostic, EditedText, HunkLines};
pub use plan::{Operation, PlannedFile, plan, plan_patch};
