//! Helpers for tests: decoding, a manual clock, seeded randomness, a scripted provider and a scripted transport.

use std::collections::VecDeque;
use std::sync::Mutex;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use serde_json::Value;

use crate::error::LlmError;
use crate::model::{
    ContentPart, FinishKind, FinishReason, Message, Request, Response, Role, StreamEvent, ToolCall, Usage,
};
use crate::provider::{Adapter, EventStream, Provider};
use crate::runtime::{BoxFuture, CancelToken, Clock, Random, Shared};
use crate::transport::{Headers, HttpRequest, HttpResponse, Transport, TransportError};

/// Decodes `body`, cut into pieces of `size` bytes.
pub(crate) fn decode_in(adapter: &dyn Adapter, body: &str, size: usize) -> (Vec<StreamEvent>, Result<(), LlmError>) {
    let mut decoder = adapter.decoder(&Headers::default());
    let mut events = Vec::new();
    for chunk in body.as_bytes().chunks(size) {
        if let Err(error) = decoder.push(chunk, &mut events) {
            return (events, Err(error));
        }
    }
    let outcome = decoder.finish(&mut events);
    (events, outcome)
}

/// Decodes `body` whole and byte by byte, expects the same result both times, and returns it.
#[track_caller]
pub(crate) fn decode(adapter: &dyn Adapter, body: &str) -> (Vec<StreamEvent>, Result<(), LlmError>) {
    let whole = decode_in(adapter, body, body.len().max(1));
    assert_eq!(whole, decode_in(adapter, body, 1), "whole and byte by byte");
    whole
}

/// Decodes `body`, which must succeed, and returns the response.
#[track_caller]
pub(crate) fn answer(adapter: &dyn Adapter, body: &str) -> Response {
    let (mut events, outcome) = decode(adapter, body);
    assert_eq!(outcome, Ok(()));
    match events.pop() {
        Some(StreamEvent::Finish { response }) => response,
        other => panic!("the last event is {other:?}"),
    }
}

/// Decodes `body`, which must fail, and returns the error.
#[track_caller]
pub(crate) fn failure(adapter: &dyn Adapter, body: &str) -> LlmError {
    let (events, outcome) = decode(adapter, body);
    assert!(!events.iter().any(|event| matches!(event, StreamEvent::Finish { .. })), "finished: {events:?}");
    outcome.expect_err("the answer decodes")
}

/// Joins JSON values into an event stream.
pub(crate) fn sse(values: &[Value]) -> String {
    values.iter().map(|value| format!("data: {value}\n\n")).collect()
}

/// Encodes a streamed request and returns its body.
#[track_caller]
pub(crate) fn encoded(adapter: &dyn Adapter, request: &Request) -> (HttpRequest, Value) {
    let http = adapter.encode(request, true).expect("the request encodes");
    let body = serde_json::from_slice(&http.body).expect("the body is JSON");
    (http, body)
}

/// A clock that advances only through sleeps, which resolve at once.
#[derive(Default)]
pub(crate) struct ManualClock {
    slept: Mutex<Vec<u64>>,
    never: bool,
}

impl ManualClock {
    /// Returns a clock whose sleeps never end.
    pub(crate) fn never() -> Self {
        Self { slept: Mutex::default(), never: true }
    }

    /// Returns the sleeps so far, in milliseconds.
    pub(crate) fn slept(&self) -> Vec<u64> {
        self.slept.lock().unwrap().clone()
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.slept.lock().unwrap().iter().sum()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        if self.never {
            return Box::pin(std::future::pending());
        }
        self.slept.lock().unwrap().push(ms);
        Box::pin(std::future::ready(()))
    }
}

/// Xorshift: equal seeds give equal numbers.
pub(crate) struct SeededRandom(Mutex<u64>);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// Returns the configuration of a property test with `cases` cases natively and 200 in a browser.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = if cfg!(target_family = "wasm") { 200 } else { cases };
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() }
}

/// One scripted response: its events, or the error that prevents it.
pub(crate) type Scripted = Result<Vec<Result<StreamEvent, LlmError>>, LlmError>;

/// A provider that plays prepared responses in order and keeps its requests. Without a response left it hangs.
pub(crate) struct Script {
    name: &'static str,
    answers: Mutex<VecDeque<Scripted>>,
    requests: Mutex<Vec<Request>>,
}

impl Script {
    pub(crate) fn new(name: &'static str, answers: impl IntoIterator<Item = Scripted>) -> Shared<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Shared::new(Self { name, answers, requests: Mutex::default() })
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        self.name
    }

    fn stream(&self, request: Request, _cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => Box::pin(async { Ok(Box::pin(futures::stream::iter(answer?)) as EventStream) }),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn finish(content: Vec<ContentPart>, reason: FinishKind) -> StreamEvent {
    let response = Response {
        id: "r".into(),
        model: "m".into(),
        provider: "script".into(),
        message: Message { role: Role::Assistant, content: content.into(), name: None },
        finish_reason: FinishReason { reason, raw: None },
        usage: Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() },
        warnings: Vec::new(),
        rate_limit: None,
    };
    StreamEvent::Finish { response }
}

/// Returns a scripted text response with one delta for each piece.
pub(crate) fn says(pieces: &[&str]) -> Scripted {
    let id = || "t".to_owned();
    let deltas = pieces.iter().map(|piece| StreamEvent::TextDelta { text_id: id(), delta: (*piece).to_owned() });
    let start =
        [StreamEvent::StreamStart { id: "r".into(), model: "m".into() }, StreamEvent::TextStart { text_id: id() }];
    let end = finish(vec![ContentPart::Text { text: pieces.concat() }], FinishKind::Stop);
    let end = [StreamEvent::TextEnd { text_id: id() }, end];
    Ok(start.into_iter().chain(deltas).chain(end).map(Ok).collect())
}

/// Returns a scripted response with tool calls: id, name, arguments.
pub(crate) fn calls(calls: &[(&str, &str, Value)], reason: FinishKind) -> Scripted {
    let calls: Vec<ToolCall> = calls
        .iter()
        .map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
            raw_arguments: Some(arguments.to_string()),
            custom: false,
            provider_data: None,
        })
        .collect();
    let mut events = vec![StreamEvent::StreamStart { id: "r".into(), model: "m".into() }];
    for call in &calls {
        events.push(StreamEvent::ToolCallStart { id: call.id.clone(), name: call.name.clone() });
        events.push(StreamEvent::ToolCallEnd { tool_call: call.clone() });
    }
    events.push(finish(calls.into_iter().map(ContentPart::ToolCall).collect(), reason));
    Ok(events.into_iter().map(Ok).collect())
}

/// A transport that plays prepared responses in order, in chunks of 7 bytes, and keeps its requests. Without a response
/// left it hangs.
#[derive(Default)]
pub(crate) struct FakeTransport {
    answers: Mutex<VecDeque<(u16, Headers, String)>>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl FakeTransport {
    pub(crate) fn new(answers: impl IntoIterator<Item = (u16, String)>) -> Shared<Self> {
        let answers = answers.into_iter().map(|(status, body)| (status, Headers::default(), body)).collect();
        Shared::new(Self { answers: Mutex::new(answers), requests: Mutex::default() })
    }

    /// Adds a response with headers.
    pub(crate) fn push(&self, status: u16, headers: &[(&str, &str)], body: &str) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.answers.lock().unwrap().push_back((status, Headers(headers), body.to_owned()));
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// Returns the addresses of the requests so far.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|request| request.url.clone()).collect()
    }
}

impl Transport for FakeTransport {
    fn send(&self, request: HttpRequest, _cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.requests.lock().unwrap().push(request);
        match self.answers.lock().unwrap().pop_front() {
            Some((status, headers, body)) => Box::pin(async move {
                let chunks: Vec<_> = body.as_bytes().chunks(7).map(|chunk| Ok(chunk.to_vec())).collect();
                Ok(HttpResponse { status, headers, body: Box::pin(futures::stream::iter(chunks)) })
            }),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Names the items of the checklist (`docs/llm-conformance.md`) that the running test demonstrates.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}
