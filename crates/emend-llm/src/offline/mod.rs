//! A deterministic stand-in model that needs no key and no network.
//!
//! It answers Anthropic Messages requests as a [`Transport`]: it reads the conversation, decides one step (a text, some
//! tool calls) and streams it back the way a provider does, so that adapters, loop and tools run as in earnest. It is
//! no AI: it carries out a handful of instructions ([`EXAMPLES`]) and says so. It keeps nothing between requests, and
//! it touches files only through the tools that the request offers.

mod dialect;
mod document;
mod edit;
mod instruction;
mod markdown;
mod needle;
mod reading;
mod run;
mod search;
mod turn;
mod wire;
mod words;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use futures::future::select;

pub use instruction::{EXAMPLES, Example};
pub use wire::Answer;

use crate::client::HttpProvider;
use crate::providers::anthropic::{Anthropic, Config};
use crate::runtime::{BoxFuture, CancelToken, Clock, Shared};
use crate::transport::{Headers, HttpRequest, HttpResponse, Transport, TransportError};
use turn::{Step, Turn};

/// The name the model goes by.
pub const MODEL: &str = "offline";

/// What the first text of every turn begins with.
pub const LABEL: &str = "Offline stand-in model (no AI):";

/// How the stand-in answers.
#[derive(Clone, Default)]
pub struct Options {
    /// Milliseconds before each piece of an answer; 0 sends all at once.
    pub pace_ms: u64,
    /// Waits between pieces. Without a clock nothing waits.
    pub clock: Option<Shared<dyn Clock>>,
}

/// The stand-in model behind the Messages wire format.
pub struct OfflineTransport {
    options: Options,
}

impl OfflineTransport {
    /// Returns a transport that answers `POST …/v1/messages` itself.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }
}

/// Returns a provider named [`MODEL`] that speaks to the stand-in through the Anthropic adapter.
#[must_use]
pub fn provider(options: Options) -> HttpProvider {
    provider_over(Shared::new(OfflineTransport::new(options)))
}

/// As [`provider`], but the stand-in is behind `transport`, in another module.
#[must_use]
pub fn provider_over(transport: Shared<dyn Transport>) -> HttpProvider {
    let config = Config {
        // Nothing is sent there; an address is what tells the adapter that no key is needed.
        base_url: Some("http://offline.invalid".to_owned()),
        name: Some(MODEL.to_owned()),
        ..Config::default()
    };
    HttpProvider::new(Shared::new(Anthropic::new(config)), transport)
}

impl Transport for OfflineTransport {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let answer = answer(&request);
        let pace = self.options.clone();
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(TransportError::Cancelled);
            }
            let mut headers = Headers::default();
            headers.set("content-type", answer.content_type);
            let chunks = Body { chunks: answer.chunks, pace, cancel, done: false };
            Ok(HttpResponse {
                status: answer.status,
                headers,
                body: Box::pin(futures::stream::unfold(chunks, Body::next)),
            })
        })
    }
}

/// Returns the whole answer to `request`. Anything but `POST …/v1/messages` with a request of the Messages API is
/// answered as that API refuses.
#[must_use]
pub fn answer(request: &HttpRequest) -> Answer {
    let path = request.url.split(['?', '#']).next().unwrap_or_default();
    if request.method != "POST" || !path.ends_with("/v1/messages") {
        return wire::error(404, "not_found_error", "the offline model answers POST /v1/messages only");
    }
    match wire::Conversation::parse(&request.body) {
        Ok(conversation) => wire::encode(&conversation, &next_step(&conversation)),
        Err(reason) => wire::error(400, "invalid_request_error", &reason),
    }
}

/// Decides what a model would do next, from the conversation alone.
fn next_step(conversation: &wire::Conversation) -> Step {
    let turn = Turn::of(conversation);
    let mut step = match &turn.instruction {
        Ok(instruction) => turn.next(instruction),
        Err(misunderstood) => Step::say(misunderstood.answer()),
    };
    if turn.rounds == 0 {
        step.text = format!("{LABEL} {}", step.text);
    }
    step
}

struct Body {
    chunks: VecDeque<String>,
    pace: Options,
    cancel: CancelToken,
    done: bool,
}

impl Body {
    async fn next(mut self) -> Option<(Result<Vec<u8>, TransportError>, Self)> {
        if self.done {
            return None;
        }
        let chunk = self.chunks.pop_front()?;
        if self.pace.pace_ms > 0
            && let Some(clock) = &self.pace.clock
        {
            select(clock.sleep(self.pace.pace_ms), self.cancel.cancelled()).await;
        }
        if self.cancel.is_cancelled() {
            self.done = true;
            return Some((Err(TransportError::Cancelled), self));
        }
        Some((Ok(chunk.into_bytes()), self))
    }
}
