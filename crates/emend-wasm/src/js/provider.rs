//! A provider written in JavaScript: a model built into the browser, WebLLM, or anything else that yields text.
//!
//! Its events may be simpler than those of the core's adapters: blocks need no start and end, and the `finish` event need
//! not repeat the response. Exceptions, invalid events and a missing `finish` event are reported as provider errors, after
//! all events already received.

use std::collections::VecDeque;

use emend_agent::store::read_message;
use emend_llm::{
    BoxFuture, CancelToken, ErrorKind, EventStream, FinishKind, FinishReason, LlmError, Provider, Request, Response,
    StreamAccumulator, StreamEvent, ToolCall, Usage, Warning,
};
use futures::future::{Either, select};
use futures::stream;
use js_sys::Function;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::host::{Timer, promise};

#[wasm_bindgen]
extern "C" {
    /// A response in progress on the JavaScript side. Its methods do not run the provider's code before they return.
    pub type JsAnswer;

    /// A promise of the next event as JSON text, or of `undefined` at the end. It rejects with JSON text.
    #[wasm_bindgen(method)]
    fn next(this: &JsAnswer) -> JsValue;

    /// Reports that the response is no longer read.
    #[wasm_bindgen(method)]
    fn cancel(this: &JsAnswer);
}

/// Default limit for the time between two events, in milliseconds.
const IDLE_MS: u64 = 300_000;

/// A provider behind a function. It gets a request as JSON text and returns a [`JsAnswer`].
pub(crate) struct JsProvider {
    name: String,
    open: Function,
    idle_ms: u64,
}

impl JsProvider {
    pub(crate) fn new(name: String, open: Function, idle_ms: Option<u64>) -> Self {
        Self { name, open, idle_ms: idle_ms.unwrap_or(IDLE_MS) }
    }
}

impl Provider for JsProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        Box::pin(async move {
            let reading = EventReader::new(self, &request, cancel);
            let json = serde_json::to_string(&request).map_err(|error| reading.error(error.to_string()))?;
            let answer = self.open.call1(&JsValue::UNDEFINED, &JsValue::from_str(&json));
            let answer = answer.map_err(|thrown| reading.thrown(&thrown))?;
            let open = OpenStream { answer: answer.unchecked_into(), reading };
            Ok(Box::pin(stream::unfold(open, OpenStream::next)) as EventStream)
        })
    }
}

/// An open response. Dropping it cancels the provider's generation.
struct OpenStream {
    answer: JsAnswer,
    reading: EventReader,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.answer.cancel();
    }
}

impl OpenStream {
    async fn next(mut self) -> Option<(Result<StreamEvent, LlmError>, Self)> {
        loop {
            if let Some(event) = self.reading.ready.pop_front() {
                return Some((Ok(event), self));
            }
            if self.reading.done {
                return None;
            }
            if let Err(error) = self.read().await {
                self.reading.done = true;
                // Events that arrived before the failure have been returned already.
                return Some((Err(error), self));
            }
        }
    }

    async fn read(&mut self) -> Result<(), LlmError> {
        let reading = &mut self.reading;
        let stop = select(reading.cancel.cancelled(), Timer::new(reading.idle_ms));
        let next = match select(Box::pin(promise(&self.answer.next())), stop).await {
            Either::Left((next, _)) => next.map_err(|thrown| reading.thrown(&thrown))?,
            Either::Right((Either::Left(_), _)) => {
                return Err(reading.failed(ErrorKind::Abort, "the request was cancelled".to_owned()));
            }
            Either::Right((Either::Right(_), _)) => {
                let message = format!("{} sent no event for {} ms", reading.name, reading.idle_ms);
                return Err(reading.failed(ErrorKind::RequestTimeout, message));
            }
        };
        match next.as_string() {
            None => Err(reading.error(format!("{} ended without a `finish` event", reading.name))),
            Some(json) => reading.take(&json),
        }
    }
}

/// The reason why an event is invalid.
type EventProblem = String;

/// Returns a text field; an absent field is empty.
fn text(event: &Value, name: &str) -> Result<String, EventProblem> {
    match &event[name] {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("`{name}` is not a string")),
    }
}

/// As [`text`], for a required field.
fn needed(event: &Value, name: &str) -> Result<String, EventProblem> {
    if event[name].is_null() { Err(format!("`{name}` is missing")) } else { text(event, name) }
}

fn usage_of(given: &Value) -> Usage {
    let count = |name: &str| given[name].as_u64();
    Usage {
        input_tokens: count("input_tokens").unwrap_or_default(),
        output_tokens: count("output_tokens").unwrap_or_default(),
        reasoning_tokens: count("reasoning_tokens"),
        cache_read_tokens: count("cache_read_tokens"),
        cache_write_tokens: count("cache_write_tokens"),
        raw: None,
    }
}

fn reason_of(given: &str) -> Result<Option<FinishKind>, EventProblem> {
    Ok(Some(match given {
        "" => return Ok(None),
        "stop" => FinishKind::Stop,
        "length" => FinishKind::Length,
        "tool_calls" => FinishKind::ToolCalls,
        "content_filter" => FinishKind::ContentFilter,
        "error" => FinishKind::Error,
        "pause" => FinishKind::Pause,
        "other" => FinishKind::Other,
        unknown => return Err(format!("unknown finish reason `{unknown}`")),
    }))
}

/// Converts the events of one response and keeps track of its open block.
struct EventReader {
    name: String,
    model: String,
    cancel: CancelToken,
    idle_ms: u64,
    ready: VecDeque<StreamEvent>,
    so_far: StreamAccumulator,
    begun: bool,
    /// The open block, if any.
    open: Option<Block>,
    n_blocks: usize,
    n_calls: usize,
    done: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Block {
    Text,
    Reasoning,
}

impl EventReader {
    fn new(provider: &JsProvider, request: &Request, cancel: CancelToken) -> Self {
        Self {
            name: provider.name.clone(),
            model: request.model.clone(),
            cancel,
            idle_ms: provider.idle_ms,
            ready: VecDeque::new(),
            so_far: StreamAccumulator::new(),
            begun: false,
            open: None,
            n_blocks: 0,
            n_calls: 0,
            done: false,
        }
    }

    fn failed(&self, kind: ErrorKind, message: String) -> LlmError {
        LlmError { provider: Some(self.name.clone()), ..LlmError::new(kind, message) }
    }

    /// Returns an error that is not retried: a provider that breaks the protocol once breaks it again.
    fn error(&self, message: String) -> LlmError {
        LlmError { retryable: false, ..self.failed(ErrorKind::Stream, message) }
    }

    /// Converts an exception, which the JavaScript side has encoded as JSON text.
    fn thrown(&self, thrown: &JsValue) -> LlmError {
        let thrown: Value = serde_json::from_str(&thrown.as_string().unwrap_or_default()).unwrap_or_default();
        let Some(message) = thrown["message"].as_str() else {
            return self.error(format!("{} failed without a reason", self.name));
        };
        let problem = &thrown["problem"];
        let Some(kind) = problem["kind"].as_str().and_then(ErrorKind::from_code) else {
            let message = format!("{} failed: {message}", self.name);
            return LlmError { retryable: thrown["retryable"] == true, ..self.failed(ErrorKind::Server, message) };
        };
        LlmError {
            retryable: thrown["retryable"] == true,
            status_code: problem["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()),
            retry_after_ms: problem["retryAfterMs"].as_u64(),
            ..self.failed(kind, message.to_owned())
        }
    }

    fn take(&mut self, json: &str) -> Result<(), LlmError> {
        let event: Value = serde_json::from_str(json).unwrap_or_default();
        self.read_event(&event)
            .map_err(|problem| self.error(format!("{} yielded an invalid event: {problem}", self.name)))
    }

    // Fields are read by hand: derived code would be larger than the rest of this file.
    fn read_event(&mut self, event: &Value) -> Result<(), EventProblem> {
        match event["type"].as_str() {
            Some("stream_start") => self.begin(text(event, "id")?, text(event, "model")?),
            Some("text_start") => self.open_block(Block::Text),
            Some("reasoning_start") => self.open_block(Block::Reasoning),
            Some("text_end" | "reasoning_end") => self.close_block(),
            Some("text_delta") => {
                let delta = needed(event, "delta")?;
                self.continue_block(Block::Text);
                self.push(StreamEvent::TextDelta { text_id: self.text_id(), delta });
            }
            Some("reasoning_delta") => {
                let delta = needed(event, "delta")?;
                self.continue_block(Block::Reasoning);
                self.push(StreamEvent::ReasoningDelta { delta });
            }
            Some("tool_call") => {
                self.call(text(event, "id")?, needed(event, "name")?, event["arguments"].clone());
            }
            Some("finish") if event["response"].is_object() => self.finish_with(&event["response"])?,
            Some("finish") => self.finish(reason_of(&text(event, "reason")?)?, usage_of(&event["usage"])),
            Some(unknown) => return Err(format!("unknown event type `{unknown}`")),
            None => return Err("`type` is missing".to_owned()),
        }
        Ok(())
    }

    fn begin(&mut self, id: String, model: String) {
        if !self.begun {
            self.begun = true;
            let model = if model.is_empty() { self.model.clone() } else { model };
            self.push(StreamEvent::StreamStart { id, model });
        }
    }

    fn text_id(&self) -> String {
        self.n_blocks.to_string()
    }

    fn continue_block(&mut self, block: Block) {
        if self.open != Some(block) {
            self.open_block(block);
        }
    }

    fn open_block(&mut self, block: Block) {
        self.begin(String::new(), String::new());
        self.close_block();
        self.open = Some(block);
        self.n_blocks += 1;
        self.push(match block {
            Block::Text => StreamEvent::TextStart { text_id: self.text_id() },
            Block::Reasoning => StreamEvent::ReasoningStart,
        });
    }

    fn close_block(&mut self) {
        match self.open.take() {
            Some(Block::Text) => self.push(StreamEvent::TextEnd { text_id: self.text_id() }),
            Some(Block::Reasoning) => self.push(StreamEvent::ReasoningEnd),
            None => {}
        }
    }

    fn call(&mut self, id: String, name: String, arguments: Value) {
        self.begin(String::new(), String::new());
        self.close_block();
        self.n_calls += 1;
        let id = if id.is_empty() { format!("call_{}", self.n_calls) } else { id };
        // Arguments may be JSON text as the model wrote it.
        let raw_arguments = match &arguments {
            Value::String(raw) => raw.clone(),
            parsed => parsed.to_string(),
        };
        let arguments = match arguments {
            Value::String(raw) => serde_json::from_str(&raw).unwrap_or(Value::String(raw)),
            parsed => parsed,
        };
        self.push(StreamEvent::ToolCallStart { id: id.clone(), name: name.clone() });
        self.push(StreamEvent::ToolCallDelta { id: id.clone(), delta: raw_arguments.clone() });
        let raw_arguments = Some(raw_arguments);
        let tool_call = ToolCall { id, name, arguments, raw_arguments, custom: false, provider_data: None };
        self.push(StreamEvent::ToolCallEnd { tool_call });
    }

    fn finish(&mut self, reason: Option<FinishKind>, usage: Usage) {
        self.begin(String::new(), String::new());
        self.close_block();
        let usual = if self.n_calls > 0 { FinishKind::ToolCalls } else { FinishKind::Stop };
        let finish_reason = FinishReason { reason: reason.unwrap_or(usual), raw: None };
        let partial = self.so_far.partial_response();
        let response = Response { provider: self.name.clone(), finish_reason, usage, ..partial };
        self.push(StreamEvent::Finish { response });
        self.done = true;
    }

    /// Ends with a complete response, whose message may hold data that only its provider understands.
    fn finish_with(&mut self, given: &Value) -> Result<(), EventProblem> {
        let message = read_message(given["message"].clone()).ok_or("`message` of the response is invalid")?;
        self.begin(text(given, "id")?, text(given, "model")?);
        self.close_block();
        let finish = &given["finish_reason"];
        let warning = |warning: &Value| Warning {
            message: warning["message"].as_str().unwrap_or_default().to_owned(),
            code: warning["code"].as_str().map(str::to_owned),
        };
        let response = Response {
            id: text(given, "id")?,
            model: text(given, "model")?,
            provider: self.name.clone(),
            message,
            finish_reason: FinishReason {
                reason: reason_of(&text(finish, "reason")?)?.unwrap_or_default(),
                raw: finish["raw"].as_str().map(str::to_owned),
            },
            usage: usage_of(&given["usage"]),
            warnings: given["warnings"].as_array().into_iter().flatten().map(warning).collect(),
            rate_limit: None,
        };
        self.push(StreamEvent::Finish { response });
        self.done = true;
        Ok(())
    }

    fn push(&mut self, event: StreamEvent) {
        self.so_far.process(&event);
        self.ready.push_back(event);
    }
}
