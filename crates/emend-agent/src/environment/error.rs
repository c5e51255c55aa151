//! Errors of environments, with their codes and suggestions.

use serde::Serialize;

use crate::error_code::Code;

/// Why an operation of an environment failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// The path does not exist.
    #[error("{path} does not exist")]
    NotFound {
        /// The path as the caller gave it.
        path: String,
        /// At most three similar names in the same directory, best first.
        suggestions: Vec<String>,
    },
    /// The path is empty, malformed, or of the wrong kind for the operation.
    #[error("{path:?}: {reason}")]
    InvalidPath {
        /// The path as the caller gave it.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The path leads to a directory, and the operation needs a file.
    #[error("{path:?}: this is a directory; name a file in it")]
    IsDirectory {
        /// The path relative to the root.
        path: String,
    },
    /// The path leads outside the root.
    #[error("{path} is outside the project root")]
    OutsideRoot {
        /// The path as the caller gave it.
        path: String,
        /// For `--debug`: the root, the normalised path, and the rejected path relative to the root.
        decision: SandboxDecision,
    },
    /// The system or a layer denies the operation.
    #[error("{path}: {reason}")]
    PermissionDenied {
        /// The path as the caller gave it.
        path: String,
        /// The reason and its origin.
        reason: String,
    },
    /// The content of a file is not the one that its change expects.
    #[error("{path} was changed meanwhile; read it again")]
    Changed {
        /// Path of the file.
        path: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {reason}")]
    Io {
        /// The path as the caller gave it.
        path: String,
        /// The message of the system.
        reason: String,
    },
    /// A quota is exhausted.
    #[error("{path}: this would be more than the {limit} {what} that may be held here")]
    QuotaExceeded {
        /// The path as the caller gave it.
        path: String,
        /// The exhausted quota: `bytes` or `files`.
        what: &'static str,
        /// Its limit.
        limit: u64,
    },
    /// A limit of the system or of the host: the disk is full, or the file is too large to be read as a whole.
    #[error("{path}: {reason}")]
    LimitReached {
        /// The path as the caller gave it.
        path: String,
        /// The message of the system, or the limit and the next step.
        reason: String,
    },
    /// The environment does not support the operation.
    #[error("{what} is not available here")]
    Unsupported {
        /// Name of the operation.
        what: &'static str,
    },
}

/// The sandbox decision about a path outside the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxDecision {
    /// The root.
    pub root: String,
    /// The path after normalisation and after following links.
    pub cleaned: String,
    /// The same path relative to the root.
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
            Self::QuotaExceeded { .. } | Self::LimitReached { .. } => Code::LimitReached,
            Self::Unsupported { .. } => Code::Unsupported,
        }
    }

    /// Returns suggestions for the caller, best first.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::NotFound { suggestions, .. } => suggestions.clone(),
            Self::OutsideRoot { .. } => vec!["use a path relative to the project root, e.g. \".\"".to_owned()],
            _ => Vec::new(),
        }
    }
}
