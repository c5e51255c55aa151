//! Errors between a request and its response.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The class of an error. HTTP and JavaScript callers branch on its [`code`](Self::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing or wrong (401).
    Authentication,
    /// The key lacks the permission (403).
    AccessDenied,
    /// The model or the URL does not exist (404).
    NotFound,
    /// The provider rejected the request as malformed (400, 409, 422).
    InvalidRequest,
    /// Too many requests (429).
    RateLimit,
    /// The account has no budget left (402, or 429 with a quota code).
    QuotaExceeded,
    /// The provider failed (5xx, 529).
    Server,
    /// A content filter blocked the request or the response.
    ContentFilter,
    /// The conversation exceeds the model's context window (413, and 400 where the provider says so).
    ContextLength,
    /// No response in time (408, or a limit of this library).
    RequestTimeout,
    /// The caller cancelled the request.
    Abort,
    /// The provider could not be reached.
    Network,
    /// The response ended early or could not be read.
    Stream,
    /// The model's tool call is invalid.
    InvalidToolCall,
    /// The response is not an object of the requested shape.
    NoObjectGenerated,
    /// The provider does not support this tool choice.
    UnsupportedToolChoice,
    /// The client is misconfigured: no key, no provider, a malformed URL.
    Configuration,
}

impl ErrorKind {
    /// All classes.
    pub const ALL: [Self; 17] = [
        Self::Authentication,
        Self::AccessDenied,
        Self::NotFound,
        Self::InvalidRequest,
        Self::RateLimit,
        Self::QuotaExceeded,
        Self::Server,
        Self::ContentFilter,
        Self::ContextLength,
        Self::RequestTimeout,
        Self::Abort,
        Self::Network,
        Self::Stream,
        Self::InvalidToolCall,
        Self::NoObjectGenerated,
        Self::UnsupportedToolChoice,
        Self::Configuration,
    ];

    /// Returns the class with this code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the stable code of the class. Codes never change.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::AccessDenied => "access_denied",
            Self::NotFound => "model_not_found",
            Self::InvalidRequest => "invalid_request",
            Self::RateLimit => "rate_limit",
            Self::QuotaExceeded => "quota_exceeded",
            Self::Server => "server",
            Self::ContentFilter => "content_filter",
            Self::ContextLength => "context_length",
            Self::RequestTimeout => "request_timeout",
            Self::Abort => "abort",
            Self::Network => "network",
            Self::Stream => "stream",
            Self::InvalidToolCall => "invalid_tool_call",
            Self::NoObjectGenerated => "no_object_generated",
            Self::UnsupportedToolChoice => "unsupported_tool_choice",
            Self::Configuration => "configuration",
        }
    }
}

/// A failed call to a model. The message names the next step; it never contains a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct LlmError {
    /// The class, which decides the code.
    pub kind: ErrorKind,
    /// The problem and the next step.
    pub message: String,
    /// Name of the provider, if one was chosen.
    pub provider: Option<String>,
    /// The HTTP status code, if a response arrived.
    pub status_code: Option<u16>,
    /// The provider's own error code.
    pub error_code: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The wait that the provider asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The provider's error body, with credentials redacted.
    pub raw: Option<Value>,
}

impl LlmError {
    /// Returns an error of `kind` with its default retryability. Rate limits, server errors, network errors, broken
    /// streams and timeouts are retryable; all other kinds are not.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = matches!(
            kind,
            ErrorKind::RateLimit
                | ErrorKind::Server
                | ErrorKind::Network
                | ErrorKind::Stream
                | ErrorKind::RequestTimeout
        );
        Self {
            kind,
            message: message.into(),
            provider: None,
            status_code: None,
            error_code: None,
            retryable,
            retry_after_ms: None,
            raw: None,
        }
    }
}
