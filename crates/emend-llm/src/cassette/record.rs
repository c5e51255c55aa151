//! A transport that records.

use std::collections::{BTreeMap, HashMap};

use futures::StreamExt;

use super::compare::shorten;
use super::scrub::{NormalRequest, Scrubber};
use super::{Cassette, Exchange, ROOT_ALIAS, RecordedFailure, RecordedOutcome, RecordedResponse, VERSION};
use crate::runtime::{BoxFuture, CancelToken, Mutex, Shared};
use crate::transport::{Headers, HttpRequest, HttpResponse, Transport, TransportError};

/// The start values of a recording, and the values to redact.
#[derive(Clone, Default)]
pub struct RecorderOptions {
    /// The current time, in milliseconds since 1970.
    pub clock_ms: u64,
    /// The seed of the run's randomness.
    pub seed: u64,
    /// The project's absolute path.
    pub root: String,
    /// Values to redact everywhere, tool output included. Values of credential headers are redacted anyway.
    pub secrets: Vec<String>,
}

/// A transport that records the exchanges of another transport.
pub struct Recorder {
    inner: Shared<dyn Transport>,
    options: RecorderOptions,
    exchanges: Shared<Mutex<Vec<Raw>>>,
}

/// An exchange before redaction. It may hold keys and never leaves this file.
struct Raw {
    request: HttpRequest,
    head: Option<(u16, Headers)>,
    body: Vec<u8>,
    failure: Option<RecordedFailure>,
}

impl Recorder {
    /// Returns a transport that sends through `inner` and records.
    #[must_use]
    pub fn new(inner: Shared<dyn Transport>, options: RecorderOptions) -> Self {
        Self { inner, options, exchanges: Shared::default() }
    }

    /// Returns the recording so far.
    ///
    /// Secrets and the root are redacted. A response that is still arriving is recorded as far as it came.
    #[must_use]
    pub fn cassette(&self) -> Cassette {
        let raw = self.exchanges.lock();
        let mut scrubber = Scrubber::new(&self.options.root, self.options.secrets.iter().cloned());
        for exchange in raw.iter() {
            scrubber = scrubber.with_credentials(&exchange.request);
        }
        let mut before: HashMap<String, (usize, NormalRequest)> = HashMap::new();
        let mut exchanges = Vec::with_capacity(raw.len());
        for exchange in raw.iter() {
            let request = scrubber.request(&exchange.request);
            let last = before.get(&request.api);
            exchanges.push(Exchange {
                api: request.api.clone(),
                ordinal: last.map_or(0, |(ordinal, _)| ordinal + 1),
                request: shorten(&request, last.map(|(_, request)| request)),
                answer: answer(exchange, &scrubber),
            });
            let ordinal = last.map_or(0, |(ordinal, _)| ordinal + 1);
            before.insert(request.api.clone(), (ordinal, request));
        }
        Cassette {
            emend_cassette: VERSION,
            clock_ms: self.options.clock_ms,
            seed: self.options.seed,
            root: ROOT_ALIAS.to_owned(),
            exchanges,
        }
    }
}

fn answer(exchange: &Raw, scrubber: &Scrubber) -> RecordedOutcome {
    let failure = exchange.failure.clone().map(|failure| without_secrets(failure, scrubber));
    let Some((status, headers)) = &exchange.head else {
        // A call that was dropped before its response was cancelled.
        return RecordedOutcome::Failure(failure.unwrap_or(RecordedFailure::Cancelled));
    };
    let headers = headers.0.iter().filter(|(name, _)| is_read(name));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), scrubber.text(value)));
    RecordedOutcome::Response(RecordedResponse {
        status: *status,
        headers: headers.collect::<BTreeMap<_, _>>(),
        chunks: scrubber.body(&String::from_utf8_lossy(&exchange.body)),
        failure,
    })
}

/// Returns whether adapters read this header. Other headers may identify the account.
fn is_read(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "content-type" | "retry-after" | "retry-after-ms" | "x-should-retry")
        || name.starts_with("anthropic-ratelimit-")
        || name.starts_with("x-ratelimit-")
}

fn without_secrets(failure: RecordedFailure, scrubber: &Scrubber) -> RecordedFailure {
    match failure {
        RecordedFailure::Connect { host, reason } => RecordedFailure::Connect { host, reason: scrubber.text(&reason) },
        RecordedFailure::Interrupted { host, reason } => {
            RecordedFailure::Interrupted { host, reason: scrubber.text(&reason) }
        }
        RecordedFailure::Unsendable { reason } => RecordedFailure::Unsendable { reason: scrubber.text(&reason) },
        other => other,
    }
}

impl Transport for Recorder {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let index = {
                let mut exchanges = self.exchanges.lock();
                exchanges.push(Raw { request: request.clone(), head: None, body: Vec::new(), failure: None });
                exchanges.len() - 1
            };
            let response = self.inner.send(request, cancel).await.inspect_err(|error| {
                self.exchanges.lock()[index].failure = Some(error.into());
            })?;
            self.exchanges.lock()[index].head = Some((response.status, response.headers.clone()));
            let exchanges = Shared::clone(&self.exchanges);
            let body = response.body.inspect(move |chunk| match chunk {
                Ok(bytes) => exchanges.lock()[index].body.extend_from_slice(bytes),
                Err(error) => exchanges.lock()[index].failure = Some(error.into()),
            });
            Ok(HttpResponse { body: Box::pin(body), ..response })
        })
    }
}
