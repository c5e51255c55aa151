//! Errors of environments, with their codes and suggestions.

use serde::Serialize;

use crate::error_code::Code;

/// Why an environment refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// The path as it was given.
        path: String,
        /// Names in the same directory that come close, best first, at most three.
        suggestions: Vec<String>,
    },
    /// The path is empty, or is not what the operation needs (a directory to read, say).
    #[error("{path:?}: {reason}")]
    InvalidPath {
        /// The path as it was given.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The path leads to a directory, and the operation needs a file.
    #[error("{path:?}: this is a directory; name a file in it")]
    IsDirectory {
        /// The path relative to the root.
        path: String,
    },
    /// The path leads out of the root.
    #[error("{path} is outside the project root")]
    OutsideRoot {
        /// The path as it was given.
        path: String,
        /// For `--debug`: the root, the cleaned path and the path relative to the root that was refused.
        decision: SandboxDecision,
    },
    /// The system or a wrapper refuses.
    #[error("{path}: {reason}")]
    PermissionDenied {
        /// The path as it was given.
        path: String,
        /// Who refused and why.
        reason: String,
    },
    /// A file does not hold what a change of it was made for.
    #[error("{path} was changed meanwhile; read it again")]
    Changed {
        /// The path.
        path: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {reason}")]
    Io {
        /// The path as it was given.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// There is no room for it.
    #[error("{path}: this would be more than the {limit} {what} that may be held here")]
    QuotaExceeded {
        /// The path as it was given.
        path: String,
        /// What there would be too much of: `bytes` or `files`.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// There is no room for it, and nobody knows how much there is.
    #[error("{path}: {reason}")]
    NoSpace {
        /// The path as it was given.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// This environment cannot do it.
    #[error("{what} is not available here")]
    Unsupported {
        /// The operation.
        what: &'static str,
    },
}

/// How a path was found to leave the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxDecision {
    /// The root.
    pub root: String,
    /// The path after cleaning and after following links.
    pub cleaned: String,
    /// The same, relative to the root.
    pub rel: String,
}

impl EnvError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::NotFound,
            Self::InvalidPath { .. } | Self::IsDirectory { .. } => Code::InvalidArgument,
            Self::OutsideRoot { .. } | Self::PermissionDenied { .. } => Code::PermissionDenied,
            Self::Changed { .. } => Code::Stale,
            Self::Io { .. } => Code::IoError,
            Self::QuotaExceeded { .. } | Self::NoSpace { .. } => Code::LimitReached,
            Self::Unsupported { .. } => Code::Unsupported,
        }
    }

    /// Returns what to try instead, best first.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::NotFound { suggestions, .. } => suggestions.clone(),
            Self::OutsideRoot { .. } => vec!["use a path relative to the project root, e.g. \".\"".to_owned()],
            _ => Vec::new(),
        }
    }
}
