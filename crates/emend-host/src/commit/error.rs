//! Why a commit was refused, failed or left incomplete.

use emend_agent::environment::{EnvError, FilePath};
use emend_agent::error_code::Code;

use super::disk::DiskError;

/// The reason why a commit failed. No file has changed, except for `Unfinished` and `LeftAlone`.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A file or directory cannot be changed, or must not be.
    #[error(transparent)]
    Refused(#[from] EnvError),
    /// A file no longer has the content that the change was made for.
    #[error("{path} has changed since it was read; read it again")]
    Changed {
        /// Path relative to the root.
        path: FilePath,
    },
    /// Two paths name the same file, as on file systems that ignore case.
    #[error("{path} and {other} are the same file on this file system; use one of the two names")]
    SameFile {
        /// The path of the second change.
        path: FilePath,
        /// The path of the first change.
        other: FilePath,
    },
    /// An earlier commit must be recovered first.
    #[error("an interrupted change must be completed or rolled back first; run any emend command here")]
    Pending,
    /// The disk failed after the first file had changed.
    #[error("{cause}; some files are already changed, and the next emend command here changes the others")]
    Unfinished {
        /// The failure.
        #[source]
        cause: EnvError,
    },
    /// The disk failed, and failed again while the commit was rolled back.
    #[error("{cause}; temporary files remain ({left}), and the next emend command here removes them")]
    Leftover {
        /// The reason why nothing was changed.
        #[source]
        cause: Box<CommitError>,
        /// The reason why the temporary files were not removed.
        left: EnvError,
    },
    /// Another program changed files during the commit; all other files are changed.
    #[error(
        "another program changed {} during the commit, so it was left alone; all other files are changed",
        names(paths)
    )]
    LeftAlone {
        /// Paths of the files that were left alone.
        paths: Vec<FilePath>,
    },
}

fn names(paths: &[FilePath]) -> String {
    paths.iter().map(FilePath::as_str).collect::<Vec<_>>().join(", ")
}

impl CommitError {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(error) => error.code(),
            Self::Changed { .. } | Self::LeftAlone { .. } => Code::Stale,
            Self::SameFile { .. } => Code::Conflict,
            Self::Pending => Code::Busy,
            Self::Unfinished { .. } => Code::IoError,
            Self::Leftover { cause, .. } => cause.code(),
        }
    }

    /// Converts the error to an error of an environment.
    pub(crate) fn into_env_error(self) -> EnvError {
        match self {
            Self::Refused(error) => error,
            Self::Changed { path } => EnvError::Changed { path: path.to_string() },
            error => EnvError::Io { path: ".".to_owned(), reason: error.to_string() },
        }
    }
}

impl From<DiskError> for CommitError {
    fn from(error: DiskError) -> Self {
        Self::Refused(error.described())
    }
}
