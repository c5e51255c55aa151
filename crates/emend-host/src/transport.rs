//! Sends requests with reqwest over HTTP/1.1. TLS is rustls with ring, and the system's certificates are trusted.
//!
//! Redirects are not followed, so that a key never reaches another host; the redirecting response is returned like any
//! other. Requests ask for uncompressed responses, because compression delays events. A response that is compressed with
//! gzip anyway is decoded, as a browser would. Retries and decoding of responses are left to `emend-llm`.

mod public_resolver;

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use emend_agent::web::is_public;
use emend_llm::{
    BoxFuture, CancelToken, Headers, HttpRequest, HttpResponse, Transport, TransportError, is_harmless_header,
    public_address,
};
use futures::stream;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Instant, timeout, timeout_at};

use public_resolver::PublicResolver;

/// Time limits of a request, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect_ms: u64,
    /// Without data: until the response begins, then between its chunks.
    pub idle_ms: u64,
    /// For the whole exchange.
    pub total_ms: u64,
}

impl Default for Timeouts {
    /// Ten seconds to connect, five minutes without data (reasoning models pause that long), one hour in total.
    fn default() -> Self {
        Self { connect_ms: 10_000, idle_ms: 300_000, total_ms: 3_600_000 }
    }
}

/// Sends requests over the network. Must be used inside a tokio runtime with timers and I/O enabled.
///
/// Proxies come from the usual environment variables, except for addresses on this machine.
#[derive(Debug, Default)]
pub struct ReqwestTransport {
    timeouts: Timeouts,
    public_only: bool,
    /// One client for each [`Route`], built on first use.
    clients: [OnceLock<Result<Client, TransportError>>; 4],
}

/// The properties of a request that select its client.
#[derive(Clone, Copy)]
struct Route {
    /// Whether the address is on this machine, so that no proxy is used.
    is_local: bool,
    /// Whether certificates are checked. Loading the system's certificates takes time that plain HTTP does not need.
    is_secure: bool,
}

impl ReqwestTransport {
    /// Returns a transport, which reuses connections.
    #[must_use]
    pub fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, ..Self::default() }
    }

    /// Limits connections to public internet addresses, checked after name resolution. A model's request must not reach this
    /// machine or its network.
    ///
    /// A proxy from the environment may have any address, and the addresses that it connects to are not checked.
    #[must_use]
    pub fn public_only(mut self) -> Self {
        self.public_only = true;
        self
    }

    fn client(&self, route: Route) -> Result<&Client, TransportError> {
        let index = usize::from(route.is_local) * 2 + usize::from(route.is_secure);
        self.clients[index].get_or_init(|| self.build(route)).as_ref().map_err(Clone::clone)
    }

    fn build(&self, route: Route) -> Result<Client, TransportError> {
        let unsendable = |reason: String| TransportError::Unsendable { reason: format!("cannot set up TLS: {reason}") };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                if route.is_secure {
                    builder.with_platform_verifier()
                } else {
                    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()))
                }
            })
            .map_err(|error| unsendable(error.to_string()))?
            .with_no_client_auth();
        let builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .connect_timeout(Duration::from_millis(self.timeouts.connect_ms))
            .user_agent(concat!("emend/", env!("CARGO_PKG_VERSION")));
        let builder = if route.is_local { builder.no_proxy() } else { builder };
        let builder = if self.public_only { builder.dns_resolver(PublicResolver::new()) } else { builder };
        builder.build().map_err(|error| unsendable(innermost(&error)))
    }

    async fn exchange(&self, request: HttpRequest, cancel: CancelToken) -> Result<HttpResponse, TransportError> {
        let url = Url::parse(&request.url).map_err(|error| TransportError::Unsendable {
            reason: format!("{:?} is not a web address: {error}", public_address(&request.url)),
        })?;
        if self.public_only
            && let Some(address) = numeric_host(&url)
            && !is_public(address)
        {
            let reason = format!("{address} is not a public internet address");
            return Err(TransportError::Unsendable { reason });
        }
        let limits = ExchangeLimits {
            host: host_of(&url),
            timeouts: self.timeouts,
            deadline: Instant::now() + Duration::from_millis(self.timeouts.total_ms),
            cancel,
        };
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| TransportError::Unsendable {
            reason: format!("{:?} is not an HTTP method", request.method),
        })?;
        let mut headers = to_header_map(&request.headers)?;
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        let route = Route { is_local: is_on_this_machine(&url), is_secure: url.scheme() == "https" };
        let sending = self.client(route)?.request(method, url).headers(headers).body(request.body).send();
        let response = limits.within(sending).await?;
        check_encoding(&response, &limits.host)?;
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers: from_header_map(response.headers()),
            body: Box::pin(stream::unfold(Some((response, limits)), |state| async {
                let (mut response, limits) = state?;
                match limits.within(response.chunk()).await {
                    Ok(Some(chunk)) => Some((Ok(chunk.into()), Some((response, limits)))),
                    Ok(None) => None,
                    Err(error) => Some((Err(error), None)),
                }
            })),
        })
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(self.exchange(request, cancel))
    }
}

/// Enforces the time limits and the cancellation of one exchange.
struct ExchangeLimits {
    host: String,
    timeouts: Timeouts,
    deadline: Instant,
    cancel: CancelToken,
}

impl ExchangeLimits {
    /// Waits for `step` within the limits.
    async fn within<T>(&self, step: impl Future<Output = reqwest::Result<T>>) -> Result<T, TransportError> {
        let idle = Duration::from_millis(self.timeouts.idle_ms);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(TransportError::Cancelled),
            outcome = timeout_at(self.deadline, timeout(idle, step)) => match outcome {
                Ok(Ok(Ok(value))) => Ok(value),
                Ok(Ok(Err(error))) => Err(self.describe(&error)),
                Ok(Err(_)) => Err(self.timed_out("idle", self.timeouts.idle_ms)),
                Err(_) => Err(self.timed_out("total", self.timeouts.total_ms)),
            },
        }
    }

    fn timed_out(&self, phase: &'static str, after_ms: u64) -> TransportError {
        TransportError::Timeout { host: self.host.clone(), after_ms, phase }
    }

    fn describe(&self, error: &reqwest::Error) -> TransportError {
        let (host, reason) = (self.host.clone(), innermost(error));
        if error.is_timeout() {
            self.timed_out("connect", self.timeouts.connect_ms)
        } else if error.is_connect() {
            TransportError::Connect { host, reason }
        } else if error.is_builder() {
            TransportError::Unsendable { reason }
        } else {
            TransportError::Interrupted { host, reason }
        }
    }
}

/// Returns the message of the innermost cause. Outer errors only add the address, which may contain a key.
fn innermost(error: &reqwest::Error) -> String {
    let mut source = error.source();
    while let Some(inner) = source.and_then(std::error::Error::source) {
        source = Some(inner);
    }
    source.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// Rejects a successful response with a compression that is not supported, because its bytes cannot be decoded.
///
/// Error responses are let through even if compressed: their status matters more than their body.
fn check_encoding(response: &reqwest::Response, host: &str) -> Result<(), TransportError> {
    match response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()) {
        Some(coding) if response.status().is_success() && !coding.eq_ignore_ascii_case("identity") => {
            let reason = format!(
                "{host} compressed its response with {coding:?}, which was not requested; turn compression off there"
            );
            Err(TransportError::Unsendable { reason })
        }
        _ => Ok(()),
    }
}

fn is_on_this_machine(url: &Url) -> bool {
    url.host_str() == Some("localhost") || numeric_host(url).is_some_and(|address| address.is_loopback())
}

fn numeric_host(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn to_header_map(headers: &Headers) -> Result<HeaderMap, TransportError> {
    let mut map = HeaderMap::new();
    for (name, value) in &headers.0 {
        let (Ok(key), Ok(mut value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) else {
            // The value may be a key that was pasted with a line ending, so the error does not quote it.
            let reason = format!("the header {name:?} holds characters that cannot be sent; check for line endings");
            return Err(TransportError::Unsendable { reason });
        };
        value.set_sensitive(!is_harmless_header(name));
        map.append(key, value);
    }
    Ok(map)
}

fn from_header_map(headers: &HeaderMap) -> Headers {
    let text =
        headers.iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    Headers(text.collect())
}

#[cfg(test)]
mod tests;
