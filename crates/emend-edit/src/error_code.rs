//! The error codes of this crate.

use std::fmt;

/// The stable code of an error, for callers that branch on it.
///
/// Codes never change; error messages may. Each error type has a `code` method that returns its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// The target exists and overwriting was not asked for.
    AlreadyExists,
    /// The text to change occurs more than once.
    Ambiguous,
    /// The change does not fit the text.
    Conflict,
    /// An argument is missing, malformed or out of range.
    InvalidArgument,
    /// The file, change or checkpoint does not exist.
    NotFound,
    /// The text changed since it was read.
    Stale,
    /// The input is of a kind that this crate does not handle, such as a binary file.
    Unsupported,
}

impl ErrorCode {
    /// Returns the code as JSON, HTTP and JavaScript callers see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyExists => "already_exists",
            Self::Ambiguous => "ambiguous",
            Self::Conflict => "conflict",
            Self::InvalidArgument => "invalid_argument",
            Self::NotFound => "not_found",
            Self::Stale => "stale",
            Self::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
