//! The error of parsing a unified diff.

use crate::error_code::ErrorCode;

/// Why a text cannot be parsed as a unified diff. Lines count from 1.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnifiedParseError {
    /// There is neither a file header nor a hunk.
    #[error("no diff found: expected `--- a/path`, `+++ b/path` and hunks that start with `@@`")]
    NoDiff,
    /// A line is neither a header nor part of a hunk.
    #[error("line {line}: unexpected {text:?}; every line of a hunk starts with ` `, `-` or `+`")]
    UnexpectedLine {
        /// Number of the line.
        line: usize,
        /// Content of the line.
        text: String,
    },
    /// No file header is above a hunk.
    #[error("line {line}: this hunk has no `--- a/path` and `+++ b/path` above it")]
    NoFile {
        /// Number of the line.
        line: usize,
    },
    /// A hunk has fewer or more lines than it states.
    #[error("line {line}: the hunk states {stated} {side} lines but has {found}")]
    WrongCount {
        /// The line of its header.
        line: usize,
        /// `old` or `new`.
        side: &'static str,
        /// The number of lines that the header states.
        stated: usize,
        /// The number of lines in the hunk.
        found: usize,
    },
    /// A hunk has no lines, or its header has no line numbers in strict mode.
    #[error("line {line}: {text:?} is not a hunk header such as `@@ -1,3 +1,4 @@` with lines below it")]
    BadHunk {
        /// Number of the line.
        line: usize,
        /// Content of its header.
        text: String,
    },
    /// The diff contains binary data.
    #[error("line {line}: binary diffs are not supported")]
    Binary {
        /// Number of the line.
        line: usize,
    },
    /// The diff copies a file.
    #[error("line {line}: copying files is not supported; add the copy as a new file")]
    Copy {
        /// Number of the line.
        line: usize,
    },
    /// The diff creates a link or a submodule.
    #[error("line {line}: mode {mode} is not that of a regular file; links and submodules are not supported")]
    FileMode {
        /// Number of the line.
        line: usize,
        /// The mode in octal, as the diff writes it.
        mode: String,
    },
    /// The diff is for several files where one was expected.
    #[error("the diff is for {n_files} files, but only `{path}` can be changed here")]
    SeveralFiles {
        /// Path of the expected file.
        path: String,
        /// Number of files in the diff.
        n_files: usize,
    },
}

impl UnifiedParseError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Binary { .. } | Self::Copy { .. } | Self::FileMode { .. } => ErrorCode::Unsupported,
            _ => ErrorCode::InvalidArgument,
        }
    }
}
