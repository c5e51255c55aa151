//! Errors of opening a file.

use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_agent::store::StoreError;
use rusqlite::ErrorCode;

/// The reason why a file could not be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    /// A later version of Emend has written the file.
    #[error(
        "{} has version {found}; this program reads versions up to {known}; use a later version of Emend",
        path.display()
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Newest version that this program reads.
        known: i64,
    },
    /// The file is a database of another program.
    #[error("{} is a database of another program; choose another path", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is damaged or not a database. It was not changed.
    #[error("{} is damaged or not a database: {reason}; move it away or restore a copy", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The message of SQLite.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("{}: {reason}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The message of the system.
        reason: String,
    },
}

impl OpenStoreError {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Newer { .. } | Self::Foreign { .. } => Code::Configuration,
            Self::Damaged { .. } | Self::Io { .. } => Code::IoError,
        }
    }

    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        if is_damage(error) { Self::Damaged { path, reason } } else { Self::Io { path, reason } }
    }

    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), reason: error.to_string() }
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Why a task of the store failed.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    /// A record is not what its column says.
    Record(serde_json::Error),
    /// Another writer has continued the document.
    Conflict,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Record(error)
    }
}

impl Failure {
    /// Returns the error with the path of the file, or with the name of the document in a conflict.
    pub(super) fn at(self, path: &Path, document: Option<&str>) -> StoreError {
        let name = path.display().to_string();
        match self {
            Self::Sqlite(error) if is_damage(&error) => {
                let reason = format!("the file is damaged ({error}); move it away or restore a copy");
                StoreError::Io { name, reason }
            }
            Self::Sqlite(error) => StoreError::Io { name, reason: error.to_string() },
            Self::Record(error) => StoreError::Io { name, reason: format!("a record cannot be read: {error}") },
            Self::Conflict => StoreError::Conflict { name: document.unwrap_or_default().to_owned() },
        }
    }
}
