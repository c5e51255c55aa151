//! Cases for aimock in all four wire formats, on both hosts: text, reasoning, tool calls and errors, as scripted in
//! `mock.mjs`.

use emend_llm::generate::{Generate, GenerateEvent, GenerateResult, Generator};
use emend_llm::tool::{Tool, ToolContext};
use emend_llm::{
    Api, CancelToken, Client, Clock, ErrorKind, FinishKind, LlmError, Provider, Request, Shared, StreamEvent,
    ToolDefinition,
};
use emend_tests::chance::{Middle, Sleeps};
use futures::StreamExt;
use serde_json::{Value, json};

/// The key that the server accepts.
pub(crate) const KEY: &str = "mock-key-0123456789";
const TEXT: &str = "Hello there – é, 漢字 and 🦀 come through whole.";
const REASONING: &str = "First I look at the question, then I answer it.";

/// Creates the provider for a wire format and a key, natively or in a page.
pub(crate) type Provide<'a> = &'a dyn Fn(Api, &str) -> Shared<dyn Provider>;

/// Returns a generator over a provider, and its clock.
pub(crate) fn generator(provider: Shared<dyn Provider>) -> (Generator, Shared<Sleeps>) {
    let clock = Shared::new(Sleeps::default());
    let client = Client::new().with_provider(provider);
    (Generator { client, clock: Shared::clone(&clock) as Shared<dyn Clock>, random: Shared::new(Middle) }, clock)
}

fn model(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => "claude-opus-4-6",
        Api::OpenAiResponses | Api::OpenAiChat => "gpt-5.2",
        Api::Gemini => "gemini-3-flash-preview",
    }
}

/// Returns a prompt with two tools that answer at once.
fn asking(api: Api, prompt: &str) -> Generate {
    let tool = |name: &str, field: &str| {
        let parameters = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
        ToolDefinition { name: name.to_owned(), description: "A tool.".to_owned(), parameters }
    };
    let weather = |arguments: Value, _: ToolContext| async move {
        Ok(json!({"city": arguments["city"], "celsius": 18})) as Result<Value, String>
    };
    Generate {
        request: Request { model: model(api).to_owned(), max_tokens: Some(4000), ..Request::default() },
        prompt: Some(prompt.to_owned()),
        tools: vec![
            Tool::active(tool("get_weather", "city"), weather).unwrap(),
            Tool::passive(tool("write_file", "content")).unwrap(),
        ],
        ..Generate::default()
    }
}

/// The outcome of a prompt: events, result, and the delays of retries.
struct Told {
    events: Vec<StreamEvent>,
    outcome: Result<GenerateResult, LlmError>,
    waits: Vec<u64>,
}

async fn ask(provider: Shared<dyn Provider>, api: Api, prompt: &str) -> Told {
    let (generator, clock) = generator(provider);
    let mut stream = generator.stream(asking(api, prompt)).unwrap();
    let mut events = Vec::new();
    let failure = loop {
        match stream.next().await {
            Some(Ok(GenerateEvent::Model(event))) => events.push(event),
            Some(Ok(GenerateEvent::StepFinish(_))) => {}
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    let outcome = failure.map_or_else(|| stream.into_result(), Err);
    let waits = clock.slept();
    Told { events, outcome, waits }
}

/// Returns the texts that `pick` selects from the events.
fn deltas<'a>(events: &'a [StreamEvent], pick: impl Fn(&'a StreamEvent) -> Option<&'a String>) -> Vec<&'a str> {
    events.iter().filter_map(pick).map(String::as_str).collect()
}

fn text_delta(event: &StreamEvent) -> Option<&String> {
    if let StreamEvent::TextDelta { delta, .. } = event { Some(delta) } else { None }
}

pub(crate) async fn text_streams_in_every_format(provide: Provide<'_>) {
    for api in Api::ALL {
        let told = ask(provide(api, KEY), api, "say hello").await;
        let result = told.outcome.unwrap();
        let pieces = deltas(&told.events, text_delta);
        assert_eq!((result.last.text().as_str(), pieces.concat().as_str()), (TEXT, TEXT), "{}", api.name());
        assert!(pieces.len() > 3, "{}: it came in {} pieces", api.name(), pieces.len());
        assert_eq!(result.last.finish_reason().reason, FinishKind::Stop, "{}", api.name());
    }
}

pub(crate) async fn reasoning_is_separate_from_text(provide: Provide<'_>) {
    for api in Api::ALL {
        let told = ask(provide(api, KEY), api, "think first").await;
        let result = told.outcome.unwrap();
        assert_eq!(result.last.text(), TEXT, "{}", api.name());
        assert_eq!(result.last.reasoning().as_deref(), Some(REASONING), "{}", api.name());
        let pieces =
            deltas(
                &told.events,
                |event| {
                    if let StreamEvent::ReasoningDelta { delta } = event { Some(delta) } else { None }
                },
            );
        assert_eq!(pieces.concat(), REASONING, "{}", api.name());
    }
}

pub(crate) async fn parallel_calls_stream_and_their_results_go_back(provide: Provide<'_>) {
    for api in Api::ALL {
        let told = ask(provide(api, KEY), api, "weather in two cities").await;
        let result = told.outcome.unwrap();
        let [first, last] = &*result.steps else { panic!("{}: {} steps", api.name(), result.steps.len()) };
        assert_eq!(first.text(), "Let me look.", "{}", api.name());
        let calls: Vec<(&str, &Value)> =
            first.tool_calls().iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
        let wanted = [json!({"city": "San Francisco"}), json!({"city": "New York"})];
        assert_eq!(calls, [("get_weather", &wanted[0]), ("get_weather", &wanted[1])], "{}", api.name());
        assert_eq!(first.finish_reason().reason, FinishKind::ToolCalls, "{}", api.name());
        for (call, result) in first.tool_calls().iter().zip(&first.tool_results) {
            assert_eq!(result.tool_call_id, call.id);
            assert_eq!(result.content, json!({"city": call.arguments["city"], "celsius": 18}));
        }
        assert_eq!(last.text(), "It is 18 °C in San Francisco and 7 °C in New York.", "{}", api.name());
    }
}

pub(crate) async fn long_arguments_stream_in_pieces_that_add_up(provide: Provide<'_>) {
    let content = "line of a long file\n".repeat(1500);
    for api in Api::ALL {
        let told = ask(provide(api, KEY), api, "write a long file").await;
        let result = told.outcome.unwrap();
        let calls = result.last.tool_calls();
        assert_eq!(calls[0].arguments, json!({"path": "a", "content": content}), "{}", api.name());
        assert_eq!(result.last.tool_results, [], "a passive tool is the caller's");
        let pieces =
            deltas(
                &told.events,
                |event| {
                    if let StreamEvent::ToolCallDelta { delta, .. } = event { Some(delta) } else { None }
                },
            );
        let joined: Value = serde_json::from_str(&pieces.concat()).unwrap();
        assert_eq!(joined, calls[0].arguments, "{}", api.name());
        // Gemini sends a call in one piece.
        assert_eq!(pieces.len() > 1000, api != Api::Gemini, "{}: {} pieces", api.name(), pieces.len());
    }
}

pub(crate) async fn errors_have_their_class_and_rate_limits_are_retried(provide: Provide<'_>, limited_waits: [u64; 2]) {
    #[track_caller]
    fn check(api: Api, told: Told, kind: ErrorKind, waits: usize) -> Vec<u64> {
        let error = told.outcome.unwrap_err();
        assert_eq!((error.kind, told.waits.len()), (kind, waits), "{}: {error}", api.name());
        told.waits
    }
    for api in Api::ALL {
        let told = ask(provide(api, KEY), api, "too fast").await;
        assert_eq!(check(api, told, ErrorKind::RateLimit, 2), limited_waits, "{}", api.name());
        check(api, ask(provide(api, KEY), api, "too long").await, ErrorKind::ContextLength, 0);
        check(api, ask(provide(api, KEY), api, "overloaded").await, ErrorKind::Server, 2);
        check(api, ask(provide(api, "another-key"), api, "say hello").await, ErrorKind::Authentication, 0);
    }
}

pub(crate) async fn cancelling_ends_a_running_response(provide: Provide<'_>) {
    for api in Api::ALL {
        let (generator, _) = generator(provide(api, KEY));
        let cancel = CancelToken::new();
        let options = Generate { cancel: cancel.clone(), ..asking(api, "go on for ever") };
        let mut stream = generator.stream(options).unwrap();
        let error = loop {
            match stream.next().await.expect("an end") {
                Ok(GenerateEvent::Model(StreamEvent::TextDelta { .. })) => cancel.cancel(),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind, ErrorKind::Abort, "{}", api.name());
    }
}
