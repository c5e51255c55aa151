//! Requests of a session under each profile, adapter by adapter, and responses without streaming, which must have the
//! same effects as streamed ones.

use std::collections::VecDeque;
use std::sync::Mutex;

use emend_llm::{
    Api, BoxFuture, CancelToken, Config, Headers, HttpProvider, HttpRequest, HttpResponse, Shared, Transport,
    TransportError,
};
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Profile;
use crate::event::{Event, EventKind};
use crate::session::tests::{Setup, World, with_profile};
use crate::session::{Session, SessionConfig, SessionOptions};

/// Gives one answer after the other and keeps what was asked.
struct Wire {
    answers: Mutex<VecDeque<Value>>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl Transport for Wire {
    fn send(&self, request: HttpRequest, _cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.requests.lock().unwrap().push(request);
        let body = self.answers.lock().unwrap().pop_front().expect("another answer").to_string().into_bytes();
        let mut headers = Headers::default();
        headers.set("content-type", "application/json");
        let body = Box::pin(futures::stream::iter([Ok(body)]));
        Box::pin(async { Ok(HttpResponse { status: 200, headers, body }) })
    }
}

/// A call of the profile's tool that reads, and a text: whole answers of the wire format.
fn answers(api: Api, tool: &str) -> Vec<Value> {
    let arguments = json!({ "file_path": "a.txt" });
    let raw = arguments.to_string();
    match api {
        Api::AnthropicMessages => {
            let message = |content: Value, reason: &str| {
                json!({ "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [content],
                    "stop_reason": reason, "usage": { "input_tokens": 1, "output_tokens": 1 } })
            };
            vec![
                message(json!({ "type": "tool_use", "id": "1", "name": tool, "input": arguments }), "tool_use"),
                message(json!({ "type": "text", "text": "It says one." }), "end_turn"),
            ]
        }
        Api::OpenAiResponses => {
            let response = |item: Value| {
                json!({ "id": "r", "object": "response", "status": "completed", "model": "m", "output": [item],
                    "usage": { "input_tokens": 1, "output_tokens": 1 } })
            };
            let content = json!([{ "type": "output_text", "text": "It says one.", "annotations": [] }]);
            vec![
                response(json!({ "type": "function_call", "id": "f", "call_id": "1", "name": tool, "arguments": raw,
                    "status": "completed" })),
                response(json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
                    "content": content })),
            ]
        }
        Api::OpenAiChat => {
            let completion = |message: Value, reason: &str| {
                json!({ "id": "c", "object": "chat.completion", "model": "m",
                    "choices": [{ "index": 0, "message": message, "finish_reason": reason }] })
            };
            let call = json!({ "id": "1", "type": "function", "function": { "name": tool, "arguments": raw } });
            vec![
                completion(json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls"),
                completion(json!({ "role": "assistant", "content": "It says one." }), "stop"),
            ]
        }
        Api::Gemini => {
            let candidate = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }] });
            vec![
                candidate(json!({ "functionCall": { "name": tool, "args": arguments } })),
                candidate(json!({ "text": "It says one." })),
            ]
        }
    }
}

/// Runs a session with this profile and effort over the wire format. Returns the first request, its body and the text of
/// the events.
fn run(api: Api, profile: Profile, effort: Option<&str>) -> (HttpRequest, Value, String) {
    let tool = profile.tools.names().find(|name| matches!(*name, "read_file" | "Read")).unwrap().to_owned();
    let wire = Shared::new(Wire { answers: Mutex::new(answers(api, &tool).into()), requests: Mutex::default() });
    let adapter = api.adapter(Config { api_key: "key".to_owned(), ..Config::default() });
    let provider = Shared::new(HttpProvider::new(adapter, Shared::clone(&wire) as Shared<dyn Transport>));
    let other = World::new("//- a.txt\none\n", vec![], Setup::default()).options(vec![]);
    let config = SessionConfig { reasoning_effort: effort.map(str::to_owned), ..SessionConfig::default() };
    let options = with_profile(profile, SessionOptions { provider, ..other }, config);
    let session = Session::new(options);
    let events: Vec<Event> = block_on(session.submit("read it", CancelToken::new()).unwrap().collect());
    let mut shown = String::new();
    for event in events {
        match event.kind {
            EventKind::ToolCallEnd { tool_name, ok, .. } => shown.push_str(&format!("{tool_name} {ok}\n")),
            EventKind::AssistantTextDelta { delta } => shown.push_str(&format!("{delta}\n")),
            EventKind::Error(error) => shown.push_str(&format!("error: {}\n", error.message)),
            _ => {}
        }
    }
    let mut requests = wire.requests.lock().unwrap();
    assert_eq!(requests.len(), 2, "{shown}");
    let second = String::from_utf8(requests[1].body.clone()).unwrap();
    assert!(second.contains("1 | one"), "the result went back: {second}");
    let first = requests.remove(0);
    let body = serde_json::from_slice(&first.body).unwrap();
    (first, body, shown)
}

fn of(api: Api) -> Profile {
    match api {
        Api::AnthropicMessages => Profile::anthropic("claude-opus-4-6"),
        Api::OpenAiResponses | Api::OpenAiChat => Profile::openai("gpt-5.2"),
        Api::Gemini => Profile::gemini("gemini-3-pro-preview"),
    }
}

#[test]
fn a_model_that_does_not_stream_is_asked_for_whole_answers() {
    for api in Api::ALL {
        let streamed = of(api);
        let tool = streamed.tools.names().find(|name| matches!(*name, "read_file" | "Read")).unwrap().to_owned();
        for supports_streaming in [true, false] {
            let profile = Profile { supports_streaming, ..of(api) };
            let (request, body, shown) = run(api, profile, None);
            assert_eq!(shown, format!("{tool} true\nIt says one.\n"), "{api:?}");
            let asks_for_stream = body["stream"] == true || request.url.contains("streamGenerateContent");
            assert_eq!(asks_for_stream, supports_streaming, "{api:?}: {} {body}", request.url);
        }
    }
}

#[test]
fn effort_is_written_as_each_provider_writes_it() {
    #[track_caller]
    fn check(api: Api, pointer: &str, expected: &Value) {
        let (_, body, _) = run(api, of(api), Some("low"));
        assert_eq!(body.pointer(pointer), Some(expected), "{body}");
        let (_, body, _) = run(api, of(api), None);
        assert_eq!(body.pointer(pointer), None, "{body}");
    }
    check(Api::AnthropicMessages, "/output_config/effort", &json!("low"));
    check(Api::OpenAiResponses, "/reasoning/effort", &json!("low"));
    check(Api::OpenAiChat, "/reasoning_effort", &json!("low"));
    check(Api::Gemini, "/generationConfig/thinkingConfig/thinkingLevel", &json!("LOW"));
}

#[test]
fn beta_headers_safety_and_built_in_tools_reach_the_provider_they_are_for() {
    let all = |profile: Profile| {
        profile
            .with_beta_headers(&["one-1", "two-2"])
            .with_safety("HARM_CATEGORY_HARASSMENT", "BLOCK_NONE")
            .with_web_search()
    };
    let sent = |api: Api| {
        let (request, body, _) = run(api, all(of(api)), None);
        let beta = request.headers.get("anthropic-beta").unwrap_or_default().to_owned();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        (beta, body["safetySettings"].clone(), tools)
    };
    let (beta, safety, tools) = sent(Api::AnthropicMessages);
    assert!(beta.split(',').any(|name| name.trim() == "one-1") && beta.contains("two-2"), "{beta}");
    assert_eq!(safety, Value::Null);
    let search = tools.iter().find(|tool| tool["name"] == "web_search");
    assert_eq!(search.map(|tool| &tool["type"]), Some(&json!("web_search_20250305")), "{tools:?}");
    let (beta, safety, tools) = sent(Api::OpenAiResponses);
    assert_eq!((beta.as_str(), safety), ("", Value::Null));
    assert!(tools.contains(&json!({ "type": "web_search" })), "{tools:?}");
    let (beta, safety, tools) = sent(Api::Gemini);
    assert_eq!(beta, "");
    assert_eq!(safety, json!([{ "category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE" }]));
    assert!(tools.contains(&json!({ "google_search": {} })), "{tools:?}");
    // Beside the session's own tools, not in their place.
    assert!(tools.len() >= 2, "{tools:?}");
}
