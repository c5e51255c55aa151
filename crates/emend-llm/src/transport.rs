//! The one door to the network: a host sends an [`HttpRequest`] and hands the answer's bytes back as they come.

use std::fmt;

use crate::runtime::{BoxFuture, BoxStream, CancelToken, MaybeSend, MaybeSync};

/// Header names and values in order. Names compare without case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// Returns the first value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sets `name`, replacing what it had.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.0.push((name.to_owned(), value.into()));
    }
}

/// A request that an adapter encoded. Its `Debug` form hides credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `POST` or `GET`.
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// All headers the adapter wants sent.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
}

/// Headers that carry credentials; they are never logged and never follow a redirect to another host.
pub const SECRET_HEADERS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<(&str, &str)> = self
            .headers
            .0
            .iter()
            .map(|(name, value)| {
                let secret = SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
                (name.as_str(), if secret { "[redacted]" } else { value.as_str() })
            })
            .collect();
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The head of an answer, and its body as it arrives in chunks of any size.
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers the host may see.
    pub headers: Headers,
    /// The body. A chunk may end inside a character.
    pub body: BoxStream<'static, Result<Vec<u8>, TransportError>>,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Why no answer came, or why it broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The address could not be reached.
    #[error("cannot reach {host}: {reason}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the host said.
        reason: String,
    },
    /// A time limit ran out.
    #[error("no answer from {host} within {after_ms} ms ({phase})")]
    Timeout {
        /// Host and port.
        host: String,
        /// The limit.
        after_ms: u64,
        /// `connect`, `idle` or `total`.
        phase: &'static str,
    },
    /// The connection ended in the middle of the answer.
    #[error("the connection to {host} broke off: {reason}")]
    Interrupted {
        /// Host and port.
        host: String,
        /// What the host said.
        reason: String,
    },
    /// The caller cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The request cannot be sent as it is, e.g. its URL is malformed, or no recorded exchange matches it.
    #[error("{reason}")]
    Unsendable {
        /// What is wrong and what to do.
        reason: String,
    },
}

/// Sends requests. Hosts implement it: fetch in a browser, reqwest natively, a cassette in tests.
pub trait Transport: MaybeSend + MaybeSync {
    /// Sends `request` and resolves when the head of the answer is there.
    ///
    /// Once `cancel` fires, this and the body's stream must end soon with [`TransportError::Cancelled`].
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;
}
