//! Patches: what they say, and carrying them out in memory.

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
