//! The traits of providers and wire formats: [`Provider`], [`Adapter`], [`Decoder`].

use crate::error::LlmError;
use crate::model::{Request, StreamEvent, ToolChoice, Warning};
use crate::runtime::{BoxFuture, BoxStream, CancelToken, MaybeSend, MaybeSync};
use crate::transport::{Headers, HttpRequest};

/// The events of one answer. After an `Err` nothing follows; without an `Err` the last item is `Finish`.
pub type EventStream = BoxStream<'static, Result<StreamEvent, LlmError>>;

/// Answers requests with a stream of events. Never retries: that is the caller's choice.
pub trait Provider: MaybeSend + MaybeSync {
    /// Returns the name requests choose it by, e.g. `anthropic`.
    fn name(&self) -> &str;
    /// Sends `request` and resolves once the answer begins.
    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>>;
    /// As [`stream`](Self::stream), but asks for the answer in one piece. A provider that knows no such way streams it.
    fn complete(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
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
