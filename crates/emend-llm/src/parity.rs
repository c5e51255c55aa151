//! Callers see the same events and results from every provider: whole generations over each wire format.
//!
//! Each case runs through the client, the loop, an adapter and a transport that plays bodies in the provider's own
//! format.

use std::sync::Mutex;

use futures::executor::block_on;
use futures::{Stream, StreamExt};
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::client::{Client, HttpProvider, RetryPolicy};
use crate::error::{ErrorKind, LlmError};
use crate::generate::tool::{Tool, ToolContext};
use crate::generate::{Generate, GenerateEvent, GenerateResult, Generator};
use crate::model::{
    ContentPart, FinishKind, MediaData, Message, Request, Role, StreamEvent, ToolCall, ToolDefinition, ToolResult,
};
use crate::provider::Provider;
use crate::providers::Api;
use crate::providers::shared::config::Config;
use crate::runtime::{CancelToken, Shared};
use crate::testing::{FakeTransport, ManualClock, SeededRandom, covers, sse};
use crate::transport::Transport;

const APIS: [Api; 3] = [Api::OpenAiResponses, Api::AnthropicMessages, Api::Gemini];

/// The address of an image.
const ADDRESS: &str = "https://example.com/a.png";

/// A response, to be encoded in any wire format.
#[derive(Default)]
struct Said<'a> {
    text: &'a [&'a str],
    calls: &'a [(&'a str, &'a str, Value)],
    thought: Option<&'a str>,
}

/// Encodes a response as the provider would stream it: 100 tokens of input, 60 of them cached, 20 of output, 8 of them
/// reasoning.
fn say(api: Api, said: &Said<'_>) -> String {
    match api {
        Api::AnthropicMessages => say_anthropic(said),
        Api::OpenAiResponses => say_responses(said),
        Api::Gemini => say_gemini(said),
        Api::OpenAiChat => unreachable!("not one of the three"),
    }
}

fn say_anthropic(said: &Said<'_>) -> String {
    let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": usage}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if let Some(thought) = said.thought {
        let deltas = vec![
            json!({"type": "thinking_delta", "thinking": thought}),
            json!({"type": "signature_delta", "signature": "sig"}),
        ];
        block(json!({"type": "thinking", "thinking": ""}), deltas);
    }
    if !said.text.is_empty() {
        let deltas = said.text.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        block(json!({"type": "text", "text": ""}), deltas);
    }
    for (id, name, arguments) in said.calls {
        let arguments = arguments.to_string();
        let (start, end) = arguments.split_at(arguments.len() / 2);
        let deltas = [start, end].map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).to_vec();
        block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas);
    }
    let reason = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 8}});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    sse(&events)
}

fn say_responses(said: &Said<'_>) -> String {
    let mut events = vec![json!({"type": "response.created", "response": {"id": "r", "model": "x"}})];
    let mut index = 0;
    let mut item = |added: Value, deltas: Vec<Value>, done: Value| {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": added}));
        for mut delta in deltas {
            delta["output_index"] = index.into();
            events.push(delta);
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": done}));
        index += 1;
    };
    if let Some(thought) = said.thought {
        let done = json!({"type": "reasoning", "id": "rs", "encrypted_content": "sig",
            "summary": [{"type": "summary_text", "text": thought}]});
        item(json!({"type": "reasoning", "id": "rs", "summary": []}), vec![], done);
    }
    if !said.text.is_empty() {
        let deltas = said
            .text
            .iter()
            .map(|text| json!({"type": "response.output_text.delta", "content_index": 0, "delta": text}))
            .collect();
        let content = json!([{"type": "output_text", "text": said.text.concat(), "annotations": []}]);
        item(json!({"type": "message", "content": []}), deltas, json!({"type": "message", "content": content}));
    }
    for (id, name, arguments) in said.calls {
        let arguments = arguments.to_string();
        let (start, end) = arguments.split_at(arguments.len() / 2);
        let deltas =
            [start, end].map(|piece| json!({"type": "response.function_call_arguments.delta", "delta": piece}));
        let call =
            |arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        item(call(""), deltas.to_vec(), call(&arguments));
    }
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 60},
        "output_tokens_details": {"reasoning_tokens": 8}});
    let response = json!({"id": "r", "model": "x", "status": "completed", "output": [], "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    sse(&events)
}

fn say_gemini(said: &Said<'_>) -> String {
    let mut parts: Vec<Value> = Vec::new();
    parts.extend(said.thought.map(|thought| json!({"text": thought, "thought": true, "thoughtSignature": "sig"})));
    parts.extend(said.text.iter().map(|text| json!({"text": text})));
    parts.extend(
        said.calls.iter().map(|(id, name, args)| json!({"functionCall": {"id": id, "name": name, "args": args}})),
    );
    let chunk = |candidate: Value| {
        json!({"responseId": "r", "modelVersion": "x", "candidates": [candidate], "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 12,
            "thoughtsTokenCount": 8}})
    };
    let mut chunks: Vec<Value> = parts.into_iter().map(|part| chunk(json!({"content": {"parts": [part]}}))).collect();
    chunks.push(chunk(json!({"content": {}, "finishReason": "STOP"})));
    sse(&chunks)
}

/// Returns a generator over one provider and its transport.
fn generator(api: Api, answers: &[Said<'_>]) -> (Generator, Shared<FakeTransport>) {
    let transport = FakeTransport::new(answers.iter().map(|said| (200, say(api, said))));
    let adapter = api.adapter(Config { api_key: "key-0123456789".into(), ..Config::default() });
    let provider = HttpProvider::new(adapter, Shared::clone(&transport) as Shared<dyn Transport>);
    let generator = Generator {
        client: Client::new().with_provider(Shared::new(provider)),
        clock: Shared::new(ManualClock::default()),
        random: Shared::new(SeededRandom::new(1)),
    };
    (generator, transport)
}

fn prompt() -> Generate {
    let request = Request { model: "some-model".into(), ..Request::default() };
    Generate { prompt: Some("go".into()), request, ..Generate::default() }
}

/// Generates with each provider. Returns the results and the requests.
fn with_each(
    options: impl Fn() -> Generate,
    answers: &[Said<'_>],
) -> Vec<(Api, Result<GenerateResult, LlmError>, Vec<Value>)> {
    let run = |api| {
        let (generator, transport) = generator(api, answers);
        (api, block_on(generator.generate(options())), transport.bodies())
    };
    APIS.into_iter().map(run).collect()
}

fn weather() -> Tool {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let definition = ToolDefinition { name: "weather".into(), description: "Weather.".into(), parameters };
    Tool::active(definition, |arguments: Value, _: ToolContext| async move {
        Ok(json!(format!("sunny in {}", arguments["city"].as_str().unwrap_or_default())))
    })
    .unwrap()
}

#[test]
fn text_usage_and_reasoning() {
    covers("adapter.native_api adapter.response generate.prompt reasoning.responses_tokens");
    covers("reasoning.anthropic_thinking reasoning.gemini_tokens reasoning.usage cache.openai_usage");
    covers("cache.anthropic_usage cache.gemini_usage parity.text.* parity.reasoning_tokens.* parity.usage.*");
    covers("parity.cached_tokens.*");
    let said = Said { text: &["Hel", "lo"], thought: Some("hm"), ..Said::default() };
    for api in APIS {
        let (generator, transport) = generator(api, std::slice::from_ref(&said));
        let last = block_on(generator.generate(prompt())).unwrap().last;
        let url = match api {
            Api::OpenAiResponses => "https://api.openai.com/v1/responses",
            Api::AnthropicMessages => "https://api.anthropic.com/v1/messages",
            _ => "https://generativelanguage.googleapis.com/v1beta/models/some-model:streamGenerateContent?alt=sse",
        };
        assert_eq!(transport.urls(), [url]);
        assert_eq!((last.text().as_str(), last.reasoning().as_deref()), ("Hello", Some("hm")), "{}", api.name());
        let content = &last.response.message.content;
        let ContentPart::Thinking(thought) = &content[0] else { panic!("{content:?}") };
        assert_eq!((thought.text.as_str(), thought.signature.as_deref()), ("hm", Some("sig")), "{}", api.name());
        assert_eq!(last.finish_reason().reason, FinishKind::Stop);
        let usage = last.usage();
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens()), (100, 20, 120), "{}", api.name());
        assert_eq!((usage.reasoning_tokens, usage.cache_read_tokens), (Some(8), Some(60)), "{}", api.name());
    }
}

#[test]
fn deltas_add_up_to_the_text() {
    covers("adapter.stream generate.text_deltas generate.stream_bounds generate.text_segments parity.streamed_text.*");
    for api in APIS {
        let (generator, _) = generator(api, &[Said { text: &["a", "b", "c"], ..Said::default() }]);
        let events: Vec<GenerateEvent> =
            block_on(generator.stream(prompt()).unwrap().map(Result::unwrap).collect::<Vec<_>>());
        let names: Vec<String> = events
            .iter()
            .map(|event| match event {
                GenerateEvent::Model(StreamEvent::TextDelta { delta, .. }) => delta.clone(),
                GenerateEvent::Model(event) => {
                    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
                }
                GenerateEvent::StepFinish(_) => "step".to_owned(),
            })
            .collect();
        let expected = ["stream_start", "text_start", "a", "b", "c", "text_end", "finish", "step"];
        assert_eq!(names, expected, "{}", api.name());
    }
}

#[test]
fn images_are_sent_as_data_and_as_urls() {
    covers("message.image message.mixed parity.image_data.* parity.image_url.*");
    let options = || {
        let data =
            MediaData { data: Some("aGk=".into()), media_type: Some("image/png".into()), ..MediaData::default() };
        let url = MediaData { url: Some(ADDRESS.into()), ..MediaData::default() };
        let content =
            vec![ContentPart::Text { text: "look".into() }, ContentPart::Image(data), ContentPart::Image(url)];
        let messages = Some(vec![Message { role: Role::User, content: content.into(), name: None }]);
        Generate { prompt: None, messages, ..prompt() }
    };
    for (api, result, sent) in with_each(options, &[Said { text: &["A cat."], ..Said::default() }]) {
        assert_eq!(result.unwrap().last.text(), "A cat.");
        let (pointer, data, url) = match api {
            Api::OpenAiResponses => (
                "/input/0/content",
                json!({"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}),
                json!({"type": "input_image", "image_url": ADDRESS, "detail": "auto"}),
            ),
            Api::AnthropicMessages => (
                "/messages/0/content",
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
                json!({"type": "image", "source": {"type": "url", "url": ADDRESS}, "cache_control": {"type": "ephemeral"}}),
            ),
            _ => (
                "/contents/0/parts",
                json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
                json!({"fileData": {"mimeType": "image/png", "fileUri": ADDRESS}}),
            ),
        };
        let parts = sent[0].pointer(pointer).and_then(Value::as_array).unwrap();
        assert_eq!(parts[1..], [data, url], "{}", api.name());
    }
}

#[test]
fn an_image_in_a_local_file_is_sent_as_data_and_never_as_a_path() {
    covers("message.image message.local_file");
    let content = || {
        let image = MediaData { url: Some("./pics/a.png".into()), ..MediaData::default() };
        vec![ContentPart::Text { text: "look".into() }, ContentPart::Image(image)]
    };
    let request = || Request {
        model: "some-model".into(),
        messages: vec![Message { role: Role::User, content: content().into(), name: None }],
        ..Request::default()
    };
    for api in APIS {
        let options = |request: Request| Generate { prompt: None, messages: Some(request.messages), ..prompt() };
        let (unread, transport) = generator(api, &[]);
        let error = block_on(unread.generate(options(request()))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest, "{}: {error:?}", api.name());
        assert!(error.message.contains("is a local file") && transport.urls().is_empty(), "{error:?}");

        // The host reads the files.
        let mut read = request();
        for media in read.local_media() {
            *media = MediaData::from_file(media.url.as_deref().unwrap(), b"hi");
        }
        let (generator, transport) = generator(api, &[Said { text: &["A cat."], ..Said::default() }]);
        block_on(generator.generate(options(read))).unwrap();
        let body = transport.bodies()[0].to_string();
        assert!(body.contains("aGk=") && body.contains("image/png"), "{}: {body}", api.name());
        assert!(!body.contains("pics"), "{}: {body}", api.name());
    }
}

#[test]
fn an_image_of_a_tool_is_sent_with_its_result() {
    let options = || {
        let call = ToolCall {
            id: "c1".into(),
            name: "weather".into(),
            arguments: json!({"city": "Oslo"}),
            raw_arguments: None,
            custom: false,
            provider_data: None,
        };
        let result = ToolResult {
            tool_call_id: "c1".into(),
            name: "weather".into(),
            content: json!("a map of Oslo"),
            is_error: false,
            image: Some(MediaData {
                data: Some("aGk=".into()),
                media_type: Some("image/webp".into()),
                ..MediaData::default()
            }),
        };
        let called = Message { role: Role::Assistant, content: vec![ContentPart::ToolCall(call)].into(), name: None };
        let messages = vec![Message::user("weather?"), called, Message::tool_results(vec![result])];
        Generate { prompt: None, messages: Some(messages), tools: vec![weather()], ..prompt() }
    };
    for (api, result, sent) in with_each(options, &[Said { text: &["Rain."], ..Said::default() }]) {
        assert_eq!(result.unwrap().last.text(), "Rain.");
        let body = sent[0].to_string();
        for part in ["a map of Oslo", "aGk=", "image/webp"] {
            assert!(body.contains(part), "{}: {part} is not in {body}", api.name());
        }
    }
}

#[test]
fn tools_run_alone_in_parallel_and_over_many_rounds() {
    covers("message.tools tool_loop.active tool_loop.concurrent tool_loop.one_message tool_loop.steps");
    covers("parity.tool_call.* parity.parallel_calls.* parity.rounds.* parity.streamed_tools.*");
    let call = |id: &'static str, city: &str| (id, "weather", json!({"city": city}));
    let (two, one) = ([call("c1", "Oslo"), call("c2", "Rome")], [call("c3", "Kiel")]);
    let answers = [
        Said { calls: &two, thought: Some("both"), ..Said::default() },
        Said { calls: &one, ..Said::default() },
        Said { calls: &one, ..Said::default() },
        Said { text: &["Sunny everywhere."], ..Said::default() },
    ];
    let options = || Generate { tools: vec![weather()], max_tool_rounds: Some(9), ..prompt() };
    for (api, result, sent) in with_each(options, &answers) {
        let result = result.unwrap();
        assert_eq!((result.steps.len(), result.last.text().as_str()), (4, "Sunny everywhere."), "{}", api.name());
        assert_eq!(result.steps[0].finish_reason().reason, FinishKind::ToolCalls);
        let cities: Vec<&Value> = result.steps[0].tool_results.iter().map(|result| &result.content).collect();
        assert_eq!(cities, ["sunny in Oslo", "sunny in Rome"], "{}", api.name());
        assert_eq!(result.total_usage.input_tokens, 400);
        let second = sent[1].to_string();
        for echoed in ["sunny in Oslo", "sunny in Rome", "sig"] {
            assert!(second.contains(echoed), "{} did not send {echoed}: {second}", api.name());
        }
    }
}

#[test]
fn structured_output_is_parsed_and_checked() {
    covers("generate.object parity.structured_output.*");
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false});
    for api in APIS {
        let answer = Said { text: &["{\"name\": \"Alice\", ", "\"age\": 30}"], ..Said::default() };
        let (generator, transport) = generator(api, &[answer]);
        let result = block_on(generator.generate_object(prompt(), schema.clone())).unwrap();
        assert_eq!(result.output, Some(json!({"name": "Alice", "age": 30})), "{}", api.name());
        assert!(transport.bodies()[0].to_string().contains("additionalProperties"), "{}", api.name());
    }
}

#[test]
fn rejected_keys_are_reported_and_rate_limits_are_retried() {
    covers("adapter.error_class adapter.retry_after retry.retry_after retry.rate_limit retry.permanent");
    covers("parity.authentication.* parity.rate_limit.*");
    for api in APIS {
        let (generator, transport) = generator(api, &[]);
        transport.push(401, &[], r#"{"error":{"message":"bad key key-0123456789"}}"#);
        let error = block_on(generator.generate(prompt())).unwrap_err();
        assert_eq!((error.kind, transport.bodies().len()), (ErrorKind::Authentication, 1), "{}", api.name());
        assert!(!format!("{error:?}").contains("key-0123456789"), "{error:?}");
        transport.push(429, &[("retry-after", "7")], r#"{"error":{"message":"slow down"}}"#);
        transport.push(200, &[], &say(api, &Said { text: &["ok"], ..Said::default() }));
        let waits: Shared<Mutex<Vec<u64>>> = Shared::default();
        let heard = Shared::clone(&waits);
        let on_retry = move |error: &LlmError, _: u32, delay_ms: u64| {
            assert_eq!((error.kind, error.retry_after_ms), (ErrorKind::RateLimit, Some(7000)));
            heard.lock().unwrap().push(delay_ms);
        };
        let retry = RetryPolicy { on_retry: Some(Shared::new(on_retry)), ..RetryPolicy::default() };
        let result = block_on(generator.generate(Generate { retry, ..prompt() })).unwrap();
        assert_eq!((result.last.text().as_str(), &*waits.lock().unwrap()), ("ok", &vec![7000]), "{}", api.name());
    }
}

#[test]
fn options_reach_only_their_own_provider() {
    covers("adapter.options parity.options.*");
    let options = || {
        let mut options = prompt();
        for name in ["openai", "anthropic", "gemini"] {
            options.request.provider_options.insert(name.into(), json!({"special": name}));
        }
        options
    };
    for (api, _, sent) in with_each(options, &[Said { text: &["ok"], ..Said::default() }]) {
        let name = api.adapter(Config::default()).name().to_owned();
        assert_eq!(sent[0]["special"], name, "{}", api.name());
    }
}

#[test]
fn warnings_list_the_omitted_parts_of_a_request() {
    covers("adapter.warnings");
    let mut options = prompt();
    options.request.model = "gpt-5.2".into();
    options.request.temperature = Some(0.5);
    let (generator, transport) = generator(Api::OpenAiResponses, &[Said { text: &["ok"], ..Said::default() }]);
    let last = block_on(generator.generate(options)).unwrap().last;
    assert_eq!(last.warnings()[0].code.as_deref(), Some("unsupported_parameter"));
    assert_eq!(transport.bodies()[0].get("temperature"), None);
}

/// Yields an event from time to time, forever.
fn endless() -> impl Stream<Item = Result<Vec<u8>, crate::transport::TransportError>> {
    let start = json!({"type": "message_start", "message": {"id": "m", "model": "x"}});
    let first = futures::stream::iter([Ok(sse(&[start]).into_bytes())]);
    first.chain(futures::stream::pending())
}

struct Endless;

impl Transport for Endless {
    fn send(
        &self,
        _: crate::transport::HttpRequest,
        _: CancelToken,
    ) -> crate::runtime::BoxFuture<'_, Result<crate::transport::HttpResponse, crate::transport::TransportError>> {
        Box::pin(async {
            Ok(crate::transport::HttpResponse { status: 200, headers: Default::default(), body: Box::pin(endless()) })
        })
    }
}

#[test]
fn cancelling_ends_an_endless_response() {
    covers("generate.cancel");
    let adapter = Api::AnthropicMessages.adapter(Config { api_key: "k".into(), ..Config::default() });
    let provider = HttpProvider::new(adapter, Shared::new(Endless));
    let cancel = CancelToken::new();
    let request = Request { messages: vec![Message::user("u")], ..Request::default() };
    let mut stream = block_on(provider.stream(request, cancel.clone())).unwrap();
    assert!(matches!(block_on(stream.next()), Some(Ok(StreamEvent::StreamStart { .. }))));
    cancel.cancel();
    assert_eq!(block_on(stream.next()).unwrap().unwrap_err().kind, ErrorKind::Abort);
    assert!(block_on(stream.next()).is_none(), "nothing follows");
}
