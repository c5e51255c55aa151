//! Why a commit was refused, failed or left incomplete.

use emend_agent::environment::{EnvError, FilePath};
use emend_agent::error_code::Code;

use super::disk::DiskError;

/// Why files were not changed. Unless it says otherwise, none was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A file or directory must not, or cannot, be changed.
    #[error(transparent)]
    Refused(#[from] EnvError),
    /// A file does not hold what the change was made for.
    #[error("{path} was changed meanwhile; read it again")]
    Changed {
        /// The file.
        path: FilePath,
    },
    /// Two paths name one file, as on file systems that ignore case.
    #[error("{path} and {other} are the same file on this file system; change it by one name")]
    SameFile {
        /// One name.
        path: FilePath,
        /// The other.
        other: FilePath,
    },
    /// An earlier commit waits to be completed.
    #[error("an interrupted change waits to be completed or taken back")]
    Pending,
    /// The disk failed after the first file had changed.
    #[error("{cause}; some files are changed already, and the next emend command here goes on with the others")]
    Unfinished {
        /// What failed.
        #[source]
        cause: EnvError,
    },
    /// The disk failed, and again when what was begun was taken back.
    #[error("{cause}; temporary files are left ({left}), and the next emend command here removes them")]
    Leftover {
        /// Why nothing was changed.
        #[source]
        cause: Box<CommitError>,
        /// Why it was not cleaned up.
        left: EnvError,
    },
    /// Someone else changed files in the moment in which they were to be changed; all others are.
    #[error("{} changed in that very moment and was left alone; everything else is done", names(paths))]
    LeftAlone {
        /// The files.
        paths: Vec<FilePath>,
    },
}

fn names(paths: &[FilePath]) -> String {
    paths.iter().map(FilePath::as_str).collect::<Vec<_>>().join(", ")
}

impl CommitError {
    /// Returns the stable code.
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

    /// Returns the failure as one of an environment.
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
