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

/// A request that an adapter encoded. Its `Debug` form shows no credential.
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

/// Headers whose values anybody may see. What a host adds under other names may be a credential of a gateway's.
const HARMLESS_HEADERS: [&str; 6] = [
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "user-agent",
];

/// Returns whether a header's value may be shown and logged. All others may be credentials.
#[must_use]
pub fn is_harmless_header(name: &str) -> bool {
    HARMLESS_HEADERS.iter().any(|harmless| name.eq_ignore_ascii_case(harmless))
}

/// Returns an address without what may be a credential: user, password, query and fragment.
///
/// It is for errors and records, not for sending.
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

/// The head of an answer, and its body as it arrives in chunks of any size. Its `Debug` form names the headers alone:
/// some servers send back what they got.
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
        let names: Vec<&str> = self.headers.0.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &names)
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
