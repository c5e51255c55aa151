//! Why a text is not a v4a patch.

use crate::error_code::ErrorCode;

const HEADERS: &str = "`*** Add File: path`, `*** Delete File: path`, `*** Update File: path` or `*** End Patch`";

/// A text that is no complete v4a patch. Lines are counted from 1, the line of `*** Begin Patch`.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum V4aParseError {
    /// The text does not start as a patch does.
    #[error("the first line of a patch must be `*** Begin Patch`, but it is {received:?}")]
    MissingBegin {
        /// How the text starts.
        received: String,
    },
    /// The text ends before the patch does, as when an answer was cut off.
    #[error("the last line of a patch must be `*** End Patch`; the patch ends at line {line} without it")]
    MissingEnd {
        /// The last line.
        line: usize,
    },
    /// There is text after the end.
    #[error("line {line}: only blank lines may follow `*** End Patch`, but there is {text:?}")]
    TextAfterEnd {
        /// The line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A line between files starts no file.
    #[error("line {line}: {text:?} is not a file header; expected {HEADERS}. Lines of a new file start with `+`")]
    NotAHeader {
        /// The line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A line of an update has no marker.
    #[error(
        "line {line}: unexpected {text:?} in an update; every line starts with ` ` (stays), `-` (goes), `+` (comes) \
         or `@@`"
    )]
    UnexpectedLine {
        /// The line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// An update neither changes nor moves its file.
    #[error("line {line}: the update of `{path}` is empty")]
    EmptyUpdate {
        /// The line of its header.
        line: usize,
        /// The file.
        path: String,
    },
    /// A hunk has no lines.
    #[error("line {line}: the hunk above has no lines")]
    EmptyHunk {
        /// The line after it.
        line: usize,
    },
    /// `*** Move to:` stands anywhere but right below `*** Update File:`.
    #[error("line {line}: `*** Move to:` belongs right below `*** Update File:`")]
    MisplacedMove {
        /// The line.
        line: usize,
    },
    /// A header names no path, or the environment no id.
    #[error("line {line}: {header:?} names nothing")]
    EmptyName {
        /// The line.
        line: usize,
        /// The header.
        header: String,
    },
}

impl V4aParseError {
    /// Returns the code that callers branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::InvalidArgument
    }
}
