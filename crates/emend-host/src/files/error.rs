//! Converts errors of the system to errors of an environment.

use std::io;

use emend_agent::environment::EnvError;

/// Returns whether an error means that the path does not exist.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the error for a path that cannot be used.
pub(crate) fn invalid(path: &str, reason: &str) -> EnvError {
    EnvError::InvalidPath { path: path.to_owned(), reason: reason.to_owned() }
}

/// Largest file that is read as a whole: 64 MiB. Reading and editing a text needs about five times its size.
pub(crate) const WHOLE_FILE_BYTES_MAX: u64 = 64 << 20;

/// Returns the error for a file that is too large to be read as a whole.
pub(crate) fn too_large(path: &str, n_bytes: u64) -> EnvError {
    let reason = format!(
        "it has {n_bytes} bytes, and only files of at most {} MiB are read as a whole; search it with grep, or print a \
         part with a command, e.g. `head -c 2000` or `sed -n 1,80p`",
        WHOLE_FILE_BYTES_MAX >> 20
    );
    EnvError::LimitReached { path: path.to_owned(), reason }
}

/// Converts an error of the system at `path`.
pub(crate) fn describe(path: &str, error: &io::Error) -> EnvError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.kind() {
        io::ErrorKind::NotFound => EnvError::NotFound { path, suggestions: Vec::new() },
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput => EnvError::InvalidPath { path, reason },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            EnvError::PermissionDenied { path, reason }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => EnvError::LimitReached { path, reason },
        _ => EnvError::Io { path, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_codes() {
        #[track_caller]
        fn check(kind: io::ErrorKind, expected: &str) {
            assert_eq!(describe("a.txt", &kind.into()).code().as_str(), expected, "{kind}");
        }
        check(io::ErrorKind::NotFound, "not_found");
        check(io::ErrorKind::IsADirectory, "invalid_argument");
        check(io::ErrorKind::PermissionDenied, "permission_denied");
        check(io::ErrorKind::ReadOnlyFilesystem, "permission_denied");
        check(io::ErrorKind::StorageFull, "limit_reached");
        check(io::ErrorKind::QuotaExceeded, "limit_reached");
        check(io::ErrorKind::TimedOut, "io_error");
    }
}
