//! The table of error codes: the meaning of each code for HTTP, the shell, JavaScript, the model and the session.
//!
//! Callers branch on codes, which never change; messages may. Each operation selects its codes; this file only defines
//! their consequences.

use emend_llm::ErrorKind;
use serde::{Serialize, Serializer};

/// The effect of a failure on its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEffect {
    /// The model gets an error result and the loop continues.
    Continues,
    /// The run ends with a warning and the session waits for input.
    TurnEnds,
    /// The session closes.
    Closes,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRow {
    /// The code as text.
    pub name: &'static str,
    /// Status of an HTTP response with this code.
    pub http_status: u16,
    /// Exit status of the command line.
    pub exit_status: u8,
    /// Name of the JavaScript error class.
    pub js_class: &'static str,
    /// Effect on the session.
    pub session: SessionEffect,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $http:literal, $exit:literal, $class:literal, $effect:ident;)*) => {
        /// A stable error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Code {
            /// Every code, in table order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// Returns the meaning of the code as a sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Code::$variant => concat!($($doc),*).trim_ascii(),)*
                }
            }

            /// Returns the row of the code.
            #[must_use]
            pub fn row(self) -> CodeRow {
                match self {
                    $(Code::$variant => CodeRow {
                        name: $name,
                        http_status: $http,
                        exit_status: $exit,
                        js_class: $class,
                        session: SessionEffect::$effect,
                    },)*
                }
            }
        }
    };
}

// Exit statuses: 1 the task or a tool failed, 2 wrong usage, 3 set-up of the user (key, root), 4 provider or network,
// 5 a limit of the run, 130 interrupted.
codes! {
    /// The file, directory or thing does not exist.
    NotFound = "not_found", 404, 1, "EmendError", Continues;
    /// The path has no operation with this method.
    MethodNotAllowed = "method_not_allowed", 405, 2, "EmendError", Continues;
    /// An argument is missing, malformed or out of range.
    InvalidArgument = "invalid_argument", 400, 2, "EmendError", Continues;
    /// The path leaves the root, or the system refuses.
    PermissionDenied = "permission_denied", 403, 1, "EmendError", Continues;
    /// Reading or writing failed.
    IoError = "io_error", 500, 1, "EmendError", Continues;
    /// The target exists and overwriting was not asked for.
    AlreadyExists = "already_exists", 409, 1, "EmendError", Continues;
    /// The place named occurs more than once.
    Ambiguous = "ambiguous", 409, 1, "EmendError", Continues;
    /// The change cannot be applied to the text as it is now.
    Conflict = "conflict", 409, 1, "ConflictError", Continues;
    /// The text changed since it was read.
    Stale = "stale", 409, 1, "ConflictError", Continues;
    /// Someone else holds it.
    Busy = "busy", 409, 1, "BusyError", Continues;
    /// It took too long.
    Timeout = "timeout", 504, 4, "EmendError", Continues;
    /// This host cannot do it.
    Unsupported = "unsupported", 422, 1, "EmendError", Continues;
    /// No tool of that name.
    UnknownTool = "unknown_tool", 404, 1, "EmendError", Continues;
    /// A configured limit was reached.
    LimitReached = "limit_reached", 429, 5, "EmendError", TurnEnds;
    /// The cursor is older than what is kept.
    ResyncRequired = "resync_required", 410, 1, "EmendError", Continues;
    /// The canvas is leased to someone else.
    LockNotAvailable = "LOCK_NOT_AVAILABLE", 409, 1, "BusyError", Continues;
    /// The caller holds no lease.
    LockNotOwned = "LOCK_NOT_OWNED", 409, 1, "ConflictError", Continues;
    /// The lease ran out.
    LeaseExpired = "LEASE_EXPIRED", 409, 1, "ConflictError", Continues;
    /// The user took the canvas back.
    StaleEpoch = "STALE_EPOCH", 409, 1, "ConflictError", Continues;
    /// A hunk of the patch does not stand at its line.
    PatchRejected = "PATCH_REJECTED", 409, 1, "ConflictError", Continues;
    /// The caller cancelled.
    Aborted = "aborted", 499, 130, "AbortError", TurnEnds;
    /// The provider refused the key, or there is none.
    Authentication = "authentication", 401, 3, "ProviderError", Closes;
    /// The client is set up wrongly.
    Configuration = "configuration", 400, 3, "ConfigError", Closes;
    /// The conversation does not fit the model.
    ContextLength = "context_length", 413, 4, "ProviderError", TurnEnds;
    /// The provider refused or failed.
    Provider = "provider", 502, 4, "ProviderError", Closes;
    /// The provider could not be reached.
    Network = "network", 502, 4, "ProviderError", TurnEnds;
    /// The provider's answer broke off or could not be read.
    Stream = "stream", 502, 4, "ProviderError", TurnEnds;
    /// A bug in this library.
    Internal = "internal", 500, 1, "PanicError", Closes;
}

impl Code {
    /// Returns the code as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Parses a code; `None` if it is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }

    /// Returns the code of a failed model call.
    #[must_use]
    pub fn of_llm(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Authentication | ErrorKind::AccessDenied => Self::Authentication,
            ErrorKind::Configuration => Self::Configuration,
            ErrorKind::ContextLength => Self::ContextLength,
            ErrorKind::Network => Self::Network,
            ErrorKind::RequestTimeout => Self::Timeout,
            ErrorKind::Stream => Self::Stream,
            ErrorKind::Abort => Self::Aborted,
            ErrorKind::NotFound
            | ErrorKind::InvalidRequest
            | ErrorKind::RateLimit
            | ErrorKind::QuotaExceeded
            | ErrorKind::Server
            | ErrorKind::ContentFilter
            | ErrorKind::InvalidToolCall
            | ErrorKind::NoObjectGenerated
            | ErrorKind::UnsupportedToolChoice => Self::Provider,
        }
    }
}

impl From<emend_edit::ErrorCode> for Code {
    fn from(code: emend_edit::ErrorCode) -> Self {
        use emend_edit::ErrorCode;
        match code {
            ErrorCode::AlreadyExists => Self::AlreadyExists,
            ErrorCode::Ambiguous => Self::Ambiguous,
            ErrorCode::Conflict => Self::Conflict,
            ErrorCode::InvalidArgument => Self::InvalidArgument,
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::Stale => Self::Stale,
            ErrorCode::Unsupported => Self::Unsupported,
        }
    }
}

/// An error with a stable code.
pub trait HasCode {
    /// Returns the stable code.
    fn code(&self) -> Code;
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn names_are_unique_and_rows_are_sensible() {
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for code in Code::ALL {
            let row = code.row();
            assert!(row.exit_status > 0, "{} would look like success", row.name);
            assert!((400..600).contains(&row.http_status), "{} would look like success", row.name);
        }
    }
}
