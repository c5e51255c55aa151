//! Why a patch was refused.

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::locate::hunk_error::HunkError;
use crate::patch::line_edits::LinesError;
use crate::patch::replace::ReplaceError;

/// Why a patch was refused. Nothing of it was carried out.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EditError {
    /// The patch has no edits.
    #[error("No files were modified: the patch is empty.")]
    Empty,
    /// A file to change or delete is not there.
    #[error("{path}: no such file to {verb}")]
    NotFound {
        /// The file.
        path: String,
        /// What was to be done to it.
        verb: &'static str,
    },
    /// A file to create, or to move onto, is there already.
    #[error("{path}: the file exists already; {}", if *moved { "move to another path" } else { "update it instead of adding it" })]
    AlreadyExists {
        /// The file.
        path: String,
        /// Whether something was to be moved onto it.
        moved: bool,
    },
    /// A hunk has no place.
    #[error("{path}: {error}")]
    Hunk {
        /// The file.
        path: String,
        /// Which hunk, and why.
        #[source]
        error: HunkError,
    },
    /// A diff that deletes its file does not show the whole of it.
    #[error("{path}: the diff deletes the file but leaves {n_lines} of its lines")]
    NotWhole {
        /// The file.
        path: String,
        /// How many lines would be left.
        n_lines: usize,
    },
    /// A patch for one text does something else to a file than edit its text, or names a second file.
    #[error("{path}: one text can only be edited here, not created, deleted or moved, and no other file with it")]
    NotAnEdit {
        /// The file.
        path: String,
    },
    /// A replacement was refused.
    #[error("{path}: {error}")]
    Replace {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: ReplaceError,
    },
    /// Line edits were refused.
    #[error("{path}: {error}")]
    Lines {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: LinesError,
    },
}

impl EditError {
    /// Returns the code that callers branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Empty | Self::NotAnEdit { .. } => ErrorCode::InvalidArgument,
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            Self::NotWhole { .. } => ErrorCode::Conflict,
            Self::Hunk { error, .. } => error.code(),
            Self::Replace { error, .. } => error.code(),
            Self::Lines { error, .. } => error.code(),
        }
    }

    /// Returns up to three places the author may have meant.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::Hunk { error, .. } => error.suggestions(),
            Self::Replace { error, .. } => error.suggestions(),
            _ => Vec::new(),
        }
    }
}
