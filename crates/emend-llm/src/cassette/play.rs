//! A transport that responds from a cassette.

use std::collections::HashMap;

use super::compare::{first_difference, whole_body};
use super::scrub::{NormalRequest, Scrubber};
use super::{Cassette, Exchange, RecordedOutcome, RecordedResponse};
use crate::runtime::{BoxFuture, CancelToken, Mutex};
use crate::transport::{Headers, HttpRequest, HttpResponse, Transport, TransportError};

/// The values that differ where a cassette is played.
#[derive(Clone, Default)]
pub struct PlayerOptions {
    /// The project's absolute path on this machine.
    pub root: String,
    /// The values that were redacted in the recording, as far as requests here contain them.
    pub secrets: Vec<String>,
}

/// A transport that responds from a cassette.
///
/// The requests of each wire format must come in the recorded order and match the recording, except for values that
/// change from run to run. Any other request fails with [`TransportError::Unsendable`], which names the difference.
pub struct Player {
    cassette: Cassette,
    scrubber: Scrubber,
    /// The number of requests with a response, by wire format.
    played: Mutex<HashMap<String, usize>>,
}

impl Player {
    /// Returns a transport that responds from `cassette`.
    #[must_use]
    pub fn new(cassette: Cassette, options: PlayerOptions) -> Self {
        let scrubber = Scrubber::new(&options.root, options.secrets);
        Self { cassette, scrubber, played: Mutex::default() }
    }

    /// Returns the cassette. A run repeats the recording only if it starts with its clock and seed.
    #[must_use]
    pub fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// Returns the number of recorded exchanges that were not requested yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let played: usize = self.played.lock().values().sum();
        self.cassette.exchanges.len().saturating_sub(played)
    }

    /// Returns the exchange of `request`.
    fn find(&self, request: &HttpRequest) -> Result<&Exchange, TransportError> {
        let request = self.scrubber.request(request);
        let mut played = self.played.lock();
        let ordinal = played.entry(request.api.clone()).or_default();
        let exchange = self.cassette.exchange(&request.api, *ordinal);
        let exchange = exchange.ok_or_else(|| self.exhausted(&request.api, *ordinal))?;
        if exchange.request.digest != request.digest() {
            self.compare(exchange, &request)?;
        }
        *ordinal += 1;
        Ok(exchange)
    }

    fn exhausted(&self, api: &str, ordinal: usize) -> TransportError {
        let count = self.cassette.exchanges.iter().filter(|exchange| exchange.api == api).count();
        let reason = format!(
            "the cassette has no response to request {} in the format {api}: it holds {count}. Record it again.",
            ordinal + 1
        );
        TransportError::Unsendable { reason }
    }

    /// Returns the error for a request that differs from the recorded one. An equal request whose recorded digest was
    /// edited passes.
    fn compare(&self, exchange: &Exchange, request: &NormalRequest) -> Result<(), TransportError> {
        let recorded = whole_body(&self.cassette, exchange);
        let Some(difference) = first_difference(&recorded, &request.body) else { return Ok(()) };
        let reason = format!(
            "request {} in the format {} is not the one in the cassette. They differ in {}:\n  recorded: {}\n  now: {}\n\
             Record the cassette again if this change is intended.",
            exchange.ordinal + 1,
            exchange.api,
            difference.path,
            difference.recorded,
            difference.now
        );
        Err(TransportError::Unsendable { reason })
    }

    fn replay(&self, response: &RecordedResponse, cancel: CancelToken) -> HttpResponse {
        let headers = response.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let chunks = response.chunks.iter().map(|chunk| Ok(self.scrubber.restore(chunk).into_bytes()));
        let items: Vec<_> = chunks.chain(response.failure.as_ref().map(|failure| Err(failure.into()))).collect();
        let mut cancelled = false;
        let body = items.into_iter().map_while(move |item| {
            if cancelled {
                return None;
            }
            cancelled = cancel.is_cancelled();
            Some(if cancelled { Err(TransportError::Cancelled) } else { item })
        });
        HttpResponse { status: response.status, headers: Headers(headers), body: Box::pin(futures::stream::iter(body)) }
    }
}

impl Transport for Player {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(TransportError::Cancelled);
            }
            match &self.find(&request)?.answer {
                RecordedOutcome::Response(response) => Ok(self.replay(response, cancel)),
                RecordedOutcome::Failure(failure) => Err(failure.into()),
            }
        })
    }
}
