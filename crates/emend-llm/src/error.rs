//! What can go wrong between a request and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The class of a failure. [`code`](Self::code) is what HTTP and JavaScript callers branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing or wrong (401).
    Authentication,
    /// The key may not do this (403).
    AccessDenied,
    /// The model or the address does not exist (404).
    NotFound,
    /// The provider refused the request's shape (400, 409, 422).
    InvalidRequest,
    /// Too many requests (429).
    RateLimit,
    /// The account has no budget left.
    QuotaExceeded,
    /// The provider failed (5xx, 529).
    Server,
    /// A filter blocked the request or the answer.
    ContentFilter,
    /// The conversation does not fit the model's context (413, and 400 where the provider says so).
    ContextLength,
    /// No answer in time (408, or a limit of ours).
    RequestTimeout,
    /// The caller cancelled.
    Abort,
    /// The provider could not be reached.
    Network,
    /// The answer broke off or could not be read.
    Stream,
    /// The model's tool call is unusable.
    InvalidToolCall,
    /// No object of the wanted shape came.
    NoObjectGenerated,
    /// The provider cannot be told to choose tools this way.
    UnsupportedToolChoice,
    /// The client is set up wrongly: no key, no provider, a bad URL.
    Configuration,
}

impl ErrorKind {
    /// Returns the stable code. Codes never change.
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

/// A failed call to a model. The message says what to do; it never holds a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct LlmError {
    /// The class.
    pub kind: ErrorKind,
    /// What happened and what to do about it.
    pub message: String,
    /// The provider, if one was chosen.
    pub provider: Option<String>,
    /// The HTTP status, if one came.
    pub status_code: Option<u16>,
    /// The provider's own code.
    pub error_code: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// How long the provider asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The provider's error body.
    pub raw: Option<Value>,
}

impl LlmError {
    /// Returns an error of `kind` with its default retryability: rate limits, server, network and stream failures and
    /// timeouts are retryable, everything else is not.
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
