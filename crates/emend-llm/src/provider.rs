//! The traits of providers and wire formats: [`Provider`], [`Adapter`], [`Decoder`].

use crate::error::LlmError;
use crate::model::{Request, StreamEvent, ToolChoice, Warning};
use crate::runtime::{BoxFuture, BoxStream, CancelToken, MaybeSend, MaybeSync};
use crate::transport::{Headers, HttpRequest};

/// The events of one response. Nothing follows an `Err`; without an `Err` the last item is `Finish`.
pub type EventStream = BoxStream<'static, Result<StreamEvent, LlmError>>;

/// A service that responds to requests with a stream of events.
///
/// Implement it for a service whose client is not an [`Adapter`] over a [`Transport`](crate::Transport). A provider
/// never retries: the caller decides on retries.
///
/// # Examples
///
/// ```
/// use emend_llm::{BoxFuture, CancelToken, Client, EventStream, LlmError, Provider, Request, Shared};
/// use emend_llm::{FinishReason, Message, Response, StreamEvent, Usage};
/// use futures::executor::block_on;
///
/// /// Repeats the last message.
/// struct Echo;
///
/// impl Provider for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     fn stream(&self, request: Request, _: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
///         let text = request.messages.last().map(Message::text).unwrap_or_default();
///         let response = Response {
///             id: "1".to_owned(),
///             model: request.model,
///             provider: "echo".to_owned(),
///             message: Message::assistant(text),
///             finish_reason: FinishReason::default(),
///             usage: Usage::default(),
///             warnings: Vec::new(),
///             rate_limit: None,
///         };
///         let events: EventStream = Box::pin(futures::stream::iter([Ok(StreamEvent::Finish { response })]));
///         Box::pin(async { Ok(events) })
///     }
/// }
///
/// let client = Client::new().with_provider(Shared::new(Echo));
/// let request = Request { messages: vec![Message::user("hello")], ..Request::default() };
/// let response = block_on(client.complete(request, CancelToken::new()))?;
/// assert_eq!(response.message.text(), "hello");
/// # Ok::<(), LlmError>(())
/// ```
pub trait Provider: MaybeSend + MaybeSync {
    /// Returns the name by which requests choose the provider, e.g. `anthropic`.
    fn name(&self) -> &str;
    /// Sends `request` and resolves once the response begins.
    ///
    /// # Errors
    ///
    /// The [`LlmError`] that prevented the response: invalid settings, an unreachable host, an error status, or
    /// [`ErrorKind::Abort`](crate::ErrorKind::Abort) once `cancel` fires. A later error is the last item of the stream.
    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>>;
    /// As [`stream`](Self::stream), but asks for a response that is not streamed. By default the response is streamed.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    fn complete(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.stream(request, cancel)
    }
    /// Checks the settings without sending anything.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if a setting is missing or wrong, e.g. the key.
    /// The default accepts everything.
    fn initialize(&self) -> Result<(), LlmError> {
        Ok(())
    }
    /// Releases the resources that the provider holds, e.g. connections.
    fn close(&self) {}
    /// Returns whether the provider supports this tool choice.
    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        let _ = choice;
        true
    }
}

/// A wire format: encodes requests and decodes responses. It does no I/O.
pub trait Adapter: MaybeSend + MaybeSync {
    /// Returns the name of the provider, e.g. `anthropic`.
    fn name(&self) -> &str;
    /// Encodes a request. `stream` asks for a streamed response.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) without a key,
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) for content that the wire format cannot carry,
    /// e.g. an image in an unsupported place.
    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError>;
    /// Returns a decoder for one successful response with these headers.
    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder>;
    /// Decodes the body of a response whose status is not 2xx.
    fn decode_error(&self, status: u16, headers: &Headers, body: &[u8]) -> LlmError;
    /// Returns a text of the host without the credentials that the adapter sends.
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
    /// Returns a warning for each part of the request that the encoding omits.
    fn warnings(&self, request: &Request) -> Vec<Warning> {
        let _ = request;
        Vec::new()
    }
}

/// Turns the bytes of one response into events. The bytes come in chunks of any size.
pub trait Decoder: MaybeSend {
    /// Appends the events of the next bytes to `events`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stream`](crate::ErrorKind::Stream) for malformed bytes, or the error that the provider sent. The
    /// events before the error are in `events`. The decoder must not be used after an error.
    fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), LlmError>;
    /// Takes the end of the body and appends the remaining events.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stream`](crate::ErrorKind::Stream) if the response has no end event, or the error that the provider
    /// sent.
    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), LlmError>;
}
