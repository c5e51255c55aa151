//! Errors of the database: of opening it, and of one operation.

use emend_agent::error_code::Code;
use emend_agent::store::StoreError;
use tokio_postgres::error::SqlState;

/// The error codes of our functions and of Absurd for a change that comes too late: of a worker that lost its claim, and
/// of a session that another server has changed since.
pub(crate) const LATE: [&str; 4] = ["EM002", "EM003", "AB001", "AB002"];

/// The reason why a database could not be opened. No message contains the password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address cannot be used.
    #[error("the address of the database is not valid: {reason}; expected postgres://USER@HOST:PORT/DATABASE")]
    Address {
        /// The problem.
        reason: String,
    },
    /// A later version of Emend has migrated the database.
    #[error(
        "the database has version {found}; this program knows versions up to {known}; use a later version of Emend"
    )]
    Newer {
        /// Version of the database.
        found: i32,
        /// Newest version that this program knows.
        known: i32,
    },
    /// The database was not migrated yet.
    #[error(
        "the database has version {found}, and this program needs version {known}; run `emend db migrate` on it first"
    )]
    Older {
        /// Version of the database; 0 if it has none of our tables.
        found: i32,
        /// The needed version.
        known: i32,
    },
    /// The engine of jobs in the database has another version.
    #[error(
        "the database has Absurd {found}, and this program needs {known}; migrate it with `absurdctl migrate --to {known}`"
    )]
    Absurd {
        /// Version in the database.
        found: String,
        /// The needed version.
        known: &'static str,
    },
    /// The database has the sessions of another project.
    #[error("the database belongs to another project; use one database for each project")]
    OtherProject,
    /// The database has no engine of jobs.
    #[error(
        "the database has no Absurd, which keeps the jobs; run `emend db migrate` of a build with it, or `absurdctl init`"
    )]
    NoJobs,
    /// The database could not be reached, or refused a statement.
    #[error("the database failed: {reason}")]
    Database {
        /// The message of the database or of the system.
        reason: String,
    },
}

impl OpenError {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Database { .. } => Code::IoError,
            _ => Code::Configuration,
        }
    }
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database { reason: reason(&error) }
    }
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Database(tokio_postgres::Error),
    /// No connection could be made.
    Connect(String),
    /// A record is not what its column says.
    Record(serde_json::Error),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Record(error)
    }
}

impl From<deadpool_postgres::PoolError> for Failure {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => Self::Database(error),
            error => Self::Connect(error.to_string()),
        }
    }
}

impl Failure {
    /// Returns the error code of the database.
    pub(crate) fn state(&self) -> Option<&str> {
        let Self::Database(error) = self else { return None };
        error.code().map(SqlState::code)
    }

    /// Returns whether another try may succeed: the connection broke, the server starts, or transactions collided.
    pub(crate) fn is_passing(&self) -> bool {
        let Self::Database(error) = self else { return matches!(self, Self::Connect(_)) };
        let Some(state) = error.code() else {
            // Not an answer of the database: the connection is broken or could not be made.
            return true;
        };
        let passing = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
        ];
        passing.contains(state) || state.code().starts_with("08")
    }

    pub(crate) fn into_store_error(self, name: &str) -> StoreError {
        let reason = match self {
            Self::Database(error) if error.code().is_some_and(|state| LATE.contains(&state.code())) => {
                return StoreError::Conflict { name: name.to_owned() };
            }
            Self::Database(error) => reason(&error),
            Self::Connect(reason) => reason,
            Self::Record(error) => format!("a record cannot be read: {error}"),
        };
        StoreError::Io { name: name.to_owned(), reason }
    }
}

/// Returns the message of the database, or else of the system. The outer message names only the kind of the error.
pub(crate) fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}
