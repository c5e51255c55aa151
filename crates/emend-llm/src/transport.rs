//! The boundary to the network: a host sends an [`HttpRequest`] and yields the bytes of the response as they arrive.

use std::fmt;

use crate::runtime::{BoxFuture, BoxStream, CancelToken, MaybeSend, MaybeSync};

/// Header names and values in order. Names are compared without regard to case.
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

/// A request that an adapter encoded. Its `Debug` form shows no credential.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `POST` or `GET`.
    pub method: &'static str,
    /// The whole URL.
    pub url: String,
    /// All headers that the adapter sets.
    pub headers: Headers,
    /// The encoded body; JSON for all wire formats.
    pub body: Vec<u8>,
}

/// Headers whose values are public. Headers that a host adds under other names may carry credentials of a gateway.
const HARMLESS_HEADERS: [&str; 6] = [
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "user-agent",
];

/// Returns whether a header's value may be shown and logged. All other values are treated as credentials.
#[must_use]
pub fn is_harmless_header(name: &str) -> bool {
    HARMLESS_HEADERS.iter().any(|harmless| name.eq_ignore_ascii_case(harmless))
}

/// Returns a URL without the parts that may hold credentials: user, password, query and fragment.
///
/// The result is for errors and records, not for sending.
#[must_use]
pub fn public_address(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.rsplit('@').next().unwrap_or_default().to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value): &'_ (String, String)| {
            (name.clone(), if is_harmless_header(name) { value.clone() } else { "[redacted]".to_owned() })
        };
        let headers: Vec<(String, String)> = self.headers.0.iter().map(shown).collect();
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &public_address(&self.url))
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The head of a response, and its body as it arrives in chunks of any size.
///
/// Its `Debug` form shows the names of headers only, because some servers echo the request's credentials.
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The headers that the host may read; a browser hides some.
    pub headers: Headers,
    /// The bytes of the body. A chunk may end inside a character.
    pub body: BoxStream<'static, Result<Vec<u8>, TransportError>>,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.0.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// The reason why no response arrived, or why it ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The address could not be reached.
    #[error("cannot reach {host}: {reason}")]
    Connect {
        /// Host and port.
        host: String,
        /// The reason that the network stack reported.
        reason: String,
    },
    /// A time limit was exceeded.
    #[error("no response from {host} within {after_ms} ms ({phase})")]
    Timeout {
        /// Host and port.
        host: String,
        /// The limit, in milliseconds.
        after_ms: u64,
        /// `connect`, `idle` or `total`.
        phase: &'static str,
    },
    /// The connection ended in the middle of the response.
    #[error("the connection to {host} was lost: {reason}")]
    Interrupted {
        /// Host and port.
        host: String,
        /// The reason that the network stack reported.
        reason: String,
    },
    /// The caller cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    /// The request cannot be sent as it is: its URL is malformed, or no recorded exchange matches it.
    #[error("{reason}")]
    Unsendable {
        /// The problem and the next step.
        reason: String,
    },
}

/// Sends requests over HTTP. Hosts implement it: `fetch` in a browser, `reqwest` natively, a cassette in tests.
pub trait Transport: MaybeSend + MaybeSync {
    /// Sends `request` and resolves when the head of the response has arrived.
    ///
    /// Once `cancel` fires, this future and the body's stream must end soon with [`TransportError::Cancelled`].
    ///
    /// # Errors
    ///
    /// [`TransportError`] if no response arrived. A response with an error status is `Ok`: the adapter decodes it.
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;
}
