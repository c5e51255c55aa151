//! What answers a request: a [`Provider`]. Most are an [`Adapter`] (wire format) over a [`Transport`] (bytes).

use std::collections::VecDeque;

use futures::StreamExt;
use futures::future::{Either, select};

use crate::error::{ErrorKind, LlmError};
use crate::runtime::{BoxFuture, BoxStream, CancelToken, MaybeSend, MaybeSync, Shared};
use crate::transport::{Headers, HttpRequest, Transport, TransportError};
use crate::types::{Message, Request, StreamEvent, ToolChoice, Warning};

/// The events of one answer. After an `Err` nothing follows; without an `Err` the last item is `Finish`.
pub type EventStream = BoxStream<'static, Result<StreamEvent, LlmError>>;

/// Answers requests with a stream of events. Never retries: that is the caller's choice.
pub trait Provider: MaybeSend + MaybeSync {
    /// Returns the name requests choose it by, e.g. `anthropic`.
    fn name(&self) -> &str;
    /// Sends `request` and resolves once the answer begins.
    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>>;
    /// As [`stream`](Self::stream), but asks for the answer in one piece. A provider that knows no such way streams it.
    fn whole(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.stream(request, cancel)
    }
    /// Checks the settings without sending anything.
    fn initialize(&self) -> Result<(), LlmError> {
        Ok(())
    }
    /// Lets go of what the provider holds, e.g. connections.
    fn close(&self) {}
    /// Returns whether the provider can be told to choose tools this way.
    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        let _ = choice;
        true
    }
}

/// A wire format: encodes requests, decodes answers, does no I/O.
pub trait Adapter: MaybeSend + MaybeSync {
    /// Returns the provider's name, e.g. `anthropic`.
    fn name(&self) -> &str;
    /// Encodes a request whose answer shall be streamed (`stream`) or come whole.
    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError>;
    /// Returns a decoder for one successful answer with these headers.
    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder>;
    /// Decodes the body of an answer whose status is not 2xx.
    fn decode_error(&self, status: u16, headers: &Headers, body: &[u8]) -> LlmError;
    /// Returns a text of the host's without the credentials that the adapter has it send.
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
    /// Says what of a request its encoding leaves out.
    fn warnings(&self, request: &Request) -> Vec<Warning> {
        let _ = request;
        Vec::new()
    }
}

/// Turns the bytes of one answer into events, in chunks of any size.
pub trait Decoder: MaybeSend {
    /// Takes the next bytes. After an `Err` the decoder is finished.
    fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), LlmError>;
    /// Takes the end of the body. An answer without its end event is an error.
    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), LlmError>;
}

/// An adapter over a transport.
pub struct HttpProvider {
    adapter: Shared<dyn Adapter>,
    transport: Shared<dyn Transport>,
}

impl HttpProvider {
    /// Returns a provider that speaks `adapter`'s format over `transport`.
    #[must_use]
    pub fn new(adapter: Shared<dyn Adapter>, transport: Shared<dyn Transport>) -> Self {
        Self { adapter, transport }
    }
}

/// The largest error body that is read; the rest is dropped.
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

    fn whole(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
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
            let state = Answer {
                adapter: Shared::clone(&self.adapter),
                decoder: self.adapter.decoder(&response.headers),
                warnings: self.adapter.warnings(&request),
                body,
                cancel,
                ready: VecDeque::new(),
                failure: None,
                done: false,
            };
            Ok(Box::pin(futures::stream::unfold(state, Answer::next)) as EventStream)
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

struct Answer {
    adapter: Shared<dyn Adapter>,
    decoder: Box<dyn Decoder>,
    warnings: Vec<Warning>,
    body: BoxStream<'static, Result<Vec<u8>, TransportError>>,
    cancel: CancelToken,
    ready: VecDeque<StreamEvent>,
    failure: Option<LlmError>,
    done: bool,
}

impl Answer {
    /// Yields what is decoded before it asks for more bytes, so that events before a failure are never lost.
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
            // A server may keep the connection open after the end; what it sends then is no part of the answer.
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

    /// Ends with `error` and hangs up at once: whoever keeps the stream would otherwise keep the provider working.
    fn fail(&mut self, error: LlmError) {
        self.done = true;
        self.failure = Some(error);
        self.body = Box::pin(futures::stream::empty());
    }
}
