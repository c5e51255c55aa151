//! Why a text is not a unified diff.

use crate::error_code::ErrorCode;

/// A text that is no unified diff. Lines are counted from 1.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnifiedParseError {
    /// There is no file header and no hunk.
    #[error("no diff found: expected `--- a/path`, `+++ b/path` and hunks that start with `@@`")]
    NoDiff,
    /// A line is neither a header nor part of a hunk.
    #[error("line {line}: unexpected {text:?}; every line of a hunk starts with ` `, `-` or `+`")]
    UnexpectedLine {
        /// The line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A hunk names no file.
    #[error("line {line}: this hunk has no `--- a/path` and `+++ b/path` above it")]
    NoFile {
        /// The line.
        line: usize,
    },
    /// A hunk has fewer or more lines than it states.
    #[error("line {line}: the hunk states {stated} {side} lines but has {found}")]
    WrongCount {
        /// The line of its header.
        line: usize,
        /// `old` or `new`.
        side: &'static str,
        /// The stated count.
        stated: usize,
        /// The count found.
        found: usize,
    },
    /// A hunk has no lines, or states nothing where it must.
    #[error("line {line}: {text:?} is not a hunk header such as `@@ -1,3 +1,4 @@` with lines below it")]
    BadHunk {
        /// The line.
        line: usize,
        /// The header.
        text: String,
    },
    /// The diff holds binary data.
    #[error("line {line}: binary diffs are not supported")]
    Binary {
        /// The line.
        line: usize,
    },
    /// The diff copies a file.
    #[error("line {line}: copying files is not supported; add the copy as a new file")]
    Copy {
        /// The line.
        line: usize,
    },
    /// The diff makes a link or a submodule.
    #[error("line {line}: a file of mode {mode} is no regular file; links and submodules are not supported")]
    FileMode {
        /// The line.
        line: usize,
        /// The mode, octal as it stands there.
        mode: String,
    },
    /// The diff is for several files where one was expected.
    #[error("the diff is for {n_files} files, but only `{path}` can be changed here")]
    SeveralFiles {
        /// The expected file.
        path: String,
        /// How many it is for.
        n_files: usize,
    },
}

impl UnifiedParseError {
    /// Returns the code that callers branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Binary { .. } | Self::Copy { .. } | Self::FileMode { .. } => ErrorCode::Unsupported,
            _ => ErrorCode::InvalidArgument,
        }
    }
}
