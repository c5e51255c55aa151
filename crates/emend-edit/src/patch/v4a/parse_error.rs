//! The error of parsing a v4a patch.

use crate::error_code::ErrorCode;

const HEADERS: &str = "`*** Add File: path`, `*** Delete File: path`, `*** Update File: path` or `*** End Patch`";

/// Why a text cannot be parsed as a v4a patch. Lines count from 1, the line of `*** Begin Patch`.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum V4aParseError {
    /// The text does not start as a patch does.
    #[error("the first line of a patch must be `*** Begin Patch`, but it is {received:?}")]
    MissingBegin {
        /// The start of the text.
        received: String,
    },
    /// The text ends before the patch does, as when a model response is cut off.
    #[error("the last line of a patch must be `*** End Patch`; the patch ends at line {line} without it")]
    MissingEnd {
        /// The last line of the text.
        line: usize,
    },
    /// There is text after the end of the patch.
    #[error("line {line}: only blank lines may follow `*** End Patch`, but there is {text:?}")]
    TextAfterEnd {
        /// Number of the line.
        line: usize,
        /// Content of the line.
        text: String,
    },
    /// A line between two files is not a file header.
    #[error("line {line}: {text:?} is not a file header; expected {HEADERS}. Lines of a new file start with `+`")]
    NotAHeader {
        /// Number of the line.
        line: usize,
        /// Content of the line.
        text: String,
    },
    /// A line of an update has no marker.
    #[error(
        "line {line}: unexpected {text:?} in an update; every line starts with ` ` (context), `-` (deleted), `+` \
         (inserted) or `@@`"
    )]
    UnexpectedLine {
        /// Number of the line.
        line: usize,
        /// Content of the line.
        text: String,
    },
    /// An update neither changes nor moves its file.
    #[error("line {line}: the update of `{path}` is empty")]
    EmptyUpdate {
        /// The line of its header.
        line: usize,
        /// Path of the file.
        path: String,
    },
    /// A hunk has no lines.
    #[error("line {line}: the hunk above has no lines")]
    EmptyHunk {
        /// The line after the hunk.
        line: usize,
    },
    /// `*** Move to:` is not directly below `*** Update File:`.
    #[error("line {line}: `*** Move to:` must be directly below `*** Update File:`")]
    MisplacedMove {
        /// Number of the line.
        line: usize,
    },
    /// A header has no path, or the environment has no id.
    #[error("line {line}: {header:?} has no name after the colon")]
    EmptyName {
        /// Number of the line.
        line: usize,
        /// The header.
        header: String,
    },
}

impl V4aParseError {
    /// Returns the stable code, [`ErrorCode::InvalidArgument`].
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::InvalidArgument
    }
}
