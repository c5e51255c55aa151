//! The error of applying a patch.

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::locate::hunk_error::HunkError;
use crate::patch::line_edits::LinesError;
use crate::patch::replace::ReplaceError;

/// Why a patch was rejected. No edit of it was applied.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EditError {
    /// The patch has no edits.
    #[error("No files were modified: the patch is empty.")]
    Empty,
    /// A file to change or delete does not exist.
    #[error("{path}: no such file to {verb}")]
    NotFound {
        /// Path of the file.
        path: String,
        /// The attempted operation: `update`, `edit` or `delete`.
        verb: &'static str,
    },
    /// A file to create, or to move another file to, already exists.
    #[error("{path}: the file already exists; {}", if *moved { "move to another path" } else { "update it instead of adding it" })]
    AlreadyExists {
        /// Path of the file.
        path: String,
        /// Whether another file should be moved there.
        moved: bool,
    },
    /// A hunk was rejected.
    #[error("{path}: {error}")]
    Hunk {
        /// Path of the file.
        path: String,
        /// The hunk and the reason.
        #[source]
        error: HunkError,
    },
    /// A diff that deletes its file does not contain all of its lines.
    #[error("{path}: the diff deletes the file but leaves {n_lines} of its lines; delete every line of the file")]
    NotWhole {
        /// Path of the file.
        path: String,
        /// Number of lines that would be left.
        n_lines: usize,
    },
    /// A patch for one text creates, deletes or moves a file, or names a second file.
    #[error(
        "{path}: the patch must only edit the one given text; it must not create, delete or move files or name a second file"
    )]
    NotAnEdit {
        /// Path of the file.
        path: String,
    },
    /// A replacement was rejected.
    #[error("{path}: {error}")]
    Replace {
        /// Path of the file.
        path: String,
        /// The reason.
        #[source]
        error: ReplaceError,
    },
    /// Line edits were rejected.
    #[error("{path}: {error}")]
    Lines {
        /// Path of the file.
        path: String,
        /// The reason.
        #[source]
        error: LinesError,
    },
}

impl EditError {
    /// Returns the stable code.
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

    /// Returns up to three places that the author may have meant.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::Hunk { error, .. } => error.suggestions(),
            Self::Replace { error, .. } => error.suggestions(),
            _ => Vec::new(),
        }
    }
}
