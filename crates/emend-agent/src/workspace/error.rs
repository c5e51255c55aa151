//! Errors of the workspace, and rejected writes that show the file as it is.

use super::file_view::FileView;
use crate::canvas::LeaseError;
use crate::environment::{EnvError, FilePath};
use crate::error_code::{Code, HasCode};
use crate::search::MatcherError;
use crate::search::glob::GlobError;

/// Why the workspace did not read or write.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkspaceError {
    /// The environment rejected a path or failed.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// A glob is malformed.
    #[error(transparent)]
    Glob(#[from] GlobError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] MatcherError),
    /// The file is not text.
    #[error("{path}: {reason}")]
    NotText {
        /// The file.
        path: FilePath,
        /// The reason that the decoder gives.
        reason: String,
    },
    /// The file is not in the state that the write was made for.
    #[error("{message}")]
    Stale {
        /// The reason and the next step.
        message: String,
    },
    /// The call was not approved, because its preview predicted a failure, and tried to write all the same.
    #[error("The file changed while the edit was being checked; nothing was written. Read it again, and call again.")]
    Unapproved,
    /// The run was cancelled while another caller was writing.
    #[error("The run was cancelled while another write was under way; nothing was written.")]
    Cancelled,
    /// The file is open in the editor and the caller does not hold the canvas lease.
    #[error("{canvas} is open in the editor; check it out first")]
    NoLease {
        /// The open file.
        canvas: FilePath,
    },
    /// The canvas lease of the caller is no longer valid.
    #[error("{canvas}: {error}. Nothing was written.")]
    Lease {
        /// The open file.
        canvas: FilePath,
        /// The reason.
        error: LeaseError,
    },
    /// The workspace broke one of its own rules.
    #[error("{reason}")]
    Internal {
        /// The rule.
        reason: String,
    },
}

impl WorkspaceError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Environment(error) => error.code(),
            Self::Glob(error) => error.code(),
            Self::Search(error) => error.code,
            Self::NotText { .. } => Code::Unsupported,
            Self::Stale { .. } | Self::Unapproved => Code::Stale,
            Self::Cancelled => Code::Aborted,
            Self::NoLease { .. } => Code::LockNotOwned,
            Self::Lease { error, .. } => error.code(),
            Self::Internal { .. } => Code::Internal,
        }
    }
}

impl HasCode for WorkspaceError {
    fn code(&self) -> Code {
        self.code()
    }
}

/// A write that was rejected, and the current state of the file where the caller has to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection<E> {
    /// The reason.
    pub error: E,
    /// The file as it is now. The rejection counts as a read of it.
    pub latest: Option<FileView>,
    /// Names that are close to that of a file that does not exist, best first.
    pub suggestions: Vec<String>,
}

impl<E> From<E> for Rejection<E> {
    fn from(error: E) -> Self {
        Self { error, latest: None, suggestions: Vec::new() }
    }
}
