//! The model as a transport: it sends the chunks of its response at the requested pace.

use std::collections::VecDeque;

use emend_llm::{BoxFuture, CancelToken, Clock, Headers, HttpRequest, HttpResponse, Shared, Transport, TransportError};
use futures::future::select;

use crate::respond::respond;

/// The pace of the offline model.
#[derive(Clone, Default)]
pub struct Options {
    /// Delay before each chunk of a response, in milliseconds; 0 sends all at once.
    pub pace_ms: u64,
    /// Clock of the delays. Without a clock there are no delays.
    pub clock: Option<Shared<dyn Clock>>,
}

/// The offline model behind the Messages wire format.
pub struct OfflineTransport {
    options: Options,
}

impl OfflineTransport {
    /// Returns a transport that responds to `POST …/v1/messages` itself.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }
}

impl Transport for OfflineTransport {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let response = respond(&request);
        let pace = self.options.clone();
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(TransportError::Cancelled);
            }
            let mut headers = Headers::default();
            headers.set("content-type", response.content_type);
            let chunks = Body { chunks: response.chunks, pace, cancel, done: false };
            Ok(HttpResponse {
                status: response.status,
                headers,
                body: Box::pin(futures::stream::unfold(chunks, Body::next)),
            })
        })
    }
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
