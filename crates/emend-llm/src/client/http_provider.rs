//! A provider made of an [`Adapter`] (wire format) and a [`Transport`] (bytes).

use std::collections::VecDeque;

use futures::StreamExt;
use futures::future::{Either, select};

use crate::error::{ErrorKind, LlmError};
use crate::model::{Message, Request, StreamEvent, Warning};
use crate::provider::{Adapter, Decoder, EventStream, Provider};
use crate::runtime::{BoxFuture, BoxStream, CancelToken, Shared};
use crate::transport::{Transport, TransportError};

/// A provider that sends the requests of an adapter through a transport.
pub struct HttpProvider {
    adapter: Shared<dyn Adapter>,
    transport: Shared<dyn Transport>,
}

impl HttpProvider {
    /// Returns a provider that uses the wire format of `adapter` over `transport`.
    #[must_use]
    pub fn new(adapter: Shared<dyn Adapter>, transport: Shared<dyn Transport>) -> Self {
        Self { adapter, transport }
    }
}

/// The largest error body that is read, in bytes. The rest is discarded.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        self.adapter.name()
    }

    fn initialize(&self) -> Result<(), LlmError> {
        let probe = Request { messages: vec![Message::user("")], ..Request::default() };
        self.adapter.encode(&probe, true).map(drop)
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.send(request, true, cancel)
    }

    fn complete(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.send(request, false, cancel)
    }
}

impl HttpProvider {
    fn send(
        &self,
        request: Request,
        streamed: bool,
        cancel: CancelToken,
    ) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        Box::pin(async move {
            let http = self.adapter.encode(&request, streamed).map_err(|mut error| {
                error.provider.get_or_insert_with(|| self.adapter.name().to_owned());
                error
            })?;
            let response = self
                .transport
                .send(http, cancel.clone())
                .await
                .map_err(|error| into_llm_error(&*self.adapter, &error))?;
            let mut body = response.body;
            if !(200..300).contains(&response.status) {
                let mut bytes = Vec::new();
                while bytes.len() < ERROR_BODY_BYTES_MAX
                    && let Some(Ok(chunk)) = body.next().await
                {
                    bytes.extend_from_slice(&chunk);
                }
                return Err(self.adapter.decode_error(response.status, &response.headers, &bytes));
            }
            let state = ResponseStream {
                adapter: Shared::clone(&self.adapter),
                decoder: self.adapter.decoder(&response.headers),
                warnings: self.adapter.warnings(&request),
                body,
                cancel,
                ready: VecDeque::new(),
                failure: None,
                done: false,
            };
            Ok(Box::pin(futures::stream::unfold(state, ResponseStream::next)) as EventStream)
        })
    }
}

fn into_llm_error(adapter: &dyn Adapter, error: &TransportError) -> LlmError {
    let kind = match error {
        TransportError::Connect { .. } => ErrorKind::Network,
        TransportError::Timeout { .. } => ErrorKind::RequestTimeout,
        TransportError::Interrupted { .. } => ErrorKind::Stream,
        TransportError::Cancelled => ErrorKind::Abort,
        TransportError::Unsendable { .. } => ErrorKind::Configuration,
    };
    let message = adapter.redact(&error.to_string());
    LlmError { provider: Some(adapter.name().to_owned()), ..LlmError::new(kind, message) }
}

struct ResponseStream {
    adapter: Shared<dyn Adapter>,
    decoder: Box<dyn Decoder>,
    warnings: Vec<Warning>,
    body: BoxStream<'static, Result<Vec<u8>, TransportError>>,
    cancel: CancelToken,
    ready: VecDeque<StreamEvent>,
    failure: Option<LlmError>,
    done: bool,
}

impl ResponseStream {
    /// Yields all decoded events before it reads more bytes, so that no event before an error is lost.
    async fn next(mut self) -> Option<(Result<StreamEvent, LlmError>, Self)> {
        loop {
            if self.cancel.is_cancelled() && !self.done {
                self.ready.clear();
                self.fail(into_llm_error(&*self.adapter, &TransportError::Cancelled));
            }
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            if let Some(error) = self.failure.take() {
                return Some((Err(error), self));
            }
            if self.done {
                return None;
            }
            let next = match select(self.body.next(), self.cancel.cancelled()).await {
                Either::Left((next, _)) => next,
                Either::Right(_) => continue,
            };
            let mut events = Vec::new();
            let outcome = match next {
                Some(Ok(bytes)) => self.decoder.push(&bytes, &mut events),
                Some(Err(error)) => Err(into_llm_error(&*self.adapter, &error)),
                None => {
                    self.done = true;
                    self.decoder.finish(&mut events)
                }
            };
            // A server may keep the connection open after the end; later bytes are not part of the response.
            if let Some(StreamEvent::Finish { response }) = events.last_mut() {
                response.warnings.append(&mut self.warnings);
                self.done = true;
            }
            self.ready.extend(events);
            if let Err(mut error) = outcome {
                error.provider.get_or_insert_with(|| self.adapter.name().to_owned());
                self.fail(error);
            }
        }
    }

    /// Ends the stream with `error` and closes the connection at once: a caller that keeps the stream would otherwise
    /// keep the provider working.
    fn fail(&mut self, error: LlmError) {
        self.done = true;
        self.failure = Some(error);
        self.body = Box::pin(futures::stream::empty());
    }
}
