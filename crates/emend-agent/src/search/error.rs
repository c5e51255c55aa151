//! Errors of matchers.

use crate::error_code::Code;

/// A pattern that does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern is not a valid regular expression: {reason}")]
pub struct PatternError {
    /// The reason that the regex compiler gives.
    pub reason: String,
}

/// Why there is no matcher, or why its search failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MatcherError {
    /// The stable code: `invalid_argument` for the pattern, another one if the regex engine cannot be loaded.
    pub code: Code,
    /// The reason.
    pub message: String,
}

impl From<PatternError> for MatcherError {
    fn from(error: PatternError) -> Self {
        Self { code: Code::InvalidArgument, message: error.to_string() }
    }
}
