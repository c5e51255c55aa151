//! Small cases of Chat Completions. The workspace's test suite decodes recorded traffic.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::model::*;
use crate::testing::{answer, covers, encoded, failure, sse};

fn adapter() -> OpenAiChat {
    OpenAiChat::new(Config { base_url: Some("http://localhost:8080".into()), ..Config::default() })
}

fn chunk(delta: Value, finish_reason: Value) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
}

fn stream(chunks: &[Value]) -> String {
    format!("{}data: [DONE]\n\n", sse(chunks))
}

fn call_piece(index: u64, id: &str, name: &str, arguments: Value) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    chunk(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}), Value::Null)
}

#[test]
fn text_and_usage_are_read_from_every_variant() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
    let mut last = chunk(json!({}), json!("stop"));
    last["usage"] = usage.clone();
    let on_last = [chunk(json!({"content": "Hi"}), Value::Null), last];
    let apart = [
        json!({"id": "", "choices": [], "prompt_filter_results": []}),
        chunk(json!({"role": "assistant", "content": "Hi"}), Value::Null),
        chunk(json!({}), json!("stop")),
        json!({"id": "c1", "choices": [], "usage": usage}),
    ];
    for chunks in [&on_last[..], &apart[..]] {
        let response = answer(&adapter(), &stream(chunks));
        assert_eq!((response.id.as_str(), response.message.text().as_str()), ("c1", "Hi"));
        assert_eq!(response.finish_reason.reason, FinishKind::Stop);
        assert_eq!((response.usage.input_tokens, response.usage.cache_read_tokens), (7, Some(4)));
    }
}

#[test]
fn the_end_is_done_or_a_finish_reason() {
    covers("stream.incomplete");
    let text = chunk(json!({"content": "Hi"}), Value::Null);
    let end = chunk(json!({}), json!("stop"));
    assert_eq!(answer(&adapter(), &sse(&[text.clone(), end])).finish_reason.reason, FinishKind::Stop);
    assert_eq!(answer(&adapter(), &stream(std::slice::from_ref(&text))).finish_reason.reason, FinishKind::Stop);
    assert_eq!(failure(&adapter(), &sse(&[text])).kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "data: [DONE]\n\n").kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "{}").kind, ErrorKind::Stream);
}

#[test]
fn interleaved_calls_are_separated() {
    covers("tool_loop.arguments");
    #[track_caller]
    fn check(chunks: &[Value], finish_reason: &str, expected: &[(&str, &str, Value)]) {
        let mut chunks = chunks.to_vec();
        chunks.push(chunk(json!({}), json!(finish_reason)));
        let response = answer(&adapter(), &stream(&chunks));
        let calls = response.message.tool_calls();
        let calls: Vec<_> =
            calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.clone())).collect();
        assert_eq!(calls, expected);
        let kind = if finish_reason == "length" { FinishKind::Length } else { FinishKind::ToolCalls };
        assert_eq!(response.finish_reason.reason, kind);
    }
    let both = [("a", "f", json!({"x": 1})), ("b", "g", json!({}))];
    let pieces = [
        call_piece(0, "a", "f", json!("")),
        call_piece(1, "b", "g", json!("null")),
        call_piece(0, "", "", json!("{\"x\":")),
        call_piece(0, "a", "", json!("1}")),
    ];
    check(&pieces, "tool_calls", &both);
    check(&pieces, "stop", &both);
    // A server that numbers every call 0 and sends arguments as an object.
    check(&[call_piece(0, "a", "f", json!({"x": 1})), call_piece(0, "b", "g", json!({}))], "tool_calls", &both);
    check(&[call_piece(0, "a", "f", json!(""))], "length", &[("a", "f", json!(""))]);
    check(&[call_piece(0, "", "f", json!("{}"))], "stop", &[("local_c1_0", "f", json!({}))]);
}

#[test]
fn reasoning_is_read_from_every_field_and_echoed_in_it() {
    covers("message.reasoning_round_trip");
    #[track_caller]
    fn check(delta: Value, field: &str, echoed: Value) {
        let chunks = [
            chunk(delta, Value::Null),
            chunk(json!({"content": "So"}), Value::Null),
            call_piece(0, "a", "f", json!("{}")),
            chunk(json!({}), json!("tool_calls")),
        ];
        let message = answer(&adapter(), &stream(&chunks)).message;
        assert_eq!((message.reasoning().as_deref(), message.text().as_str()), (Some("hm"), "So"));
        let request = Request { model: "m".into(), messages: vec![message], ..Request::default() };
        assert_eq!(encoded(&adapter(), &request).1["messages"][0][field], echoed);
        let other = OpenAiChat::new(Config { api_key: "k".into(), name: Some("other".into()), ..Config::default() });
        let body = encoded(&other, &request).1.to_string();
        assert!(!body.contains("hm"), "{body}");
    }
    check(json!({"reasoning_content": "hm"}), "reasoning_content", json!("hm"));
    check(json!({"reasoning": "hm"}), "reasoning", Value::Null);
    let details = json!([{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}]);
    check(json!({"reasoning": "hm", "reasoning_details": details}), "reasoning_details", details.clone());
    check(json!({"reasoning_details": details}), "reasoning_details", details);
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    check(json!({"content": [thinking]}), "content", json!([thinking, {"type": "text", "text": "So"}]));
}

#[test]
fn pieces_of_signed_reasoning_become_one() {
    let piece = |detail: Value| chunk(json!({"reasoning_details": [detail]}), Value::Null);
    let chunks = [
        piece(json!({"type": "reasoning.text", "text": "a", "index": 0, "format": "f"})),
        piece(json!({"type": "reasoning.text", "text": "b", "index": 0, "signature": null})),
        piece(json!({"type": "reasoning.text", "text": "", "index": 0, "signature": "s"})),
        piece(json!({"type": "reasoning.encrypted", "data": "x", "index": 1})),
        chunk(json!({"content": "!"}), json!("stop")),
    ];
    let message = answer(&adapter(), &stream(&chunks)).message;
    let request = Request { model: "m".into(), messages: vec![message], ..Request::default() };
    assert_eq!(
        encoded(&adapter(), &request).1["messages"][0]["reasoning_details"],
        json!([
            {"type": "reasoning.text", "text": "ab", "index": 0, "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "data": "x", "index": 1}
        ])
    );
}

#[test]
fn a_refusal_is_a_filtered_response_with_a_warning() {
    let chunks = [chunk(json!({"refusal": "No"}), Value::Null), chunk(json!({"refusal": "."}), json!("stop"))];
    let response = answer(&adapter(), &stream(&chunks));
    assert_eq!(response.finish_reason.reason, FinishKind::ContentFilter);
    assert_eq!(response.warnings, [Warning { message: "No.".into(), code: Some("refusal".into()) }]);
    let request = Request { model: "m".into(), messages: vec![response.message], ..Request::default() };
    let message = &encoded(&adapter(), &request).1["messages"][0];
    assert_eq!(*message, json!({"role": "assistant", "content": "", "refusal": "No."}));
}

#[test]
fn errors_inside_a_stream_are_reported() {
    let error = json!({"error": {"message": "slow down", "type": "rate_limit_exceeded"}});
    let mut with_choices = chunk(json!({"content": ""}), json!("error"));
    with_choices["error"] = json!({"code": 502, "message": "bad gateway"});
    let text = chunk(json!({"content": "Hi"}), Value::Null);
    assert_eq!(failure(&adapter(), &sse(&[text.clone(), error])).kind, ErrorKind::RateLimit);
    assert_eq!(failure(&adapter(), &sse(&[text, with_choices])).kind, ErrorKind::Server);
}

#[test]
fn a_conversation_is_encoded_for_servers_that_copy_the_api() {
    covers("adapter.roles tool_loop.choice client.compatible");
    let call = ToolCall {
        id: "a".into(),
        name: "f".into(),
        arguments: json!({"x": 1}),
        raw_arguments: Some("{\"x\": 1}".into()),
        custom: false,
        provider_data: None,
    };
    let image = MediaData { data: Some("aGk=".into()), ..MediaData::default() };
    let result = ToolResult {
        tool_call_id: "a".into(),
        name: "f".into(),
        content: json!("done"),
        is_error: false,
        image: Some(image),
    };
    let mut request = Request {
        model: "m".into(),
        messages: vec![
            Message::system("s"),
            Message::text_of(Role::Developer, "d"),
            Message::user("u"),
            Message { role: Role::Assistant, content: vec![ContentPart::ToolCall(call)].into(), name: None },
            Message::tool_results(vec![result]),
        ],
        max_tokens: Some(5),
        tool_choice: Some(ToolChoice::Named { tool_name: "f".into() }),
        tools: vec![ToolDefinition {
            name: "f".into(),
            description: "F.".into(),
            parameters: json!({"type": "object"}),
        }],
        ..Request::default()
    };
    request.provider_options.insert("openai_compatible".into(), json!({"stream_options": null, "seed": 1}));
    let (http, body) = encoded(&adapter(), &request);
    assert_eq!(http.url, "http://localhost:8080/v1/chat/completions");
    assert_eq!(http.headers.get("authorization"), None);
    assert_eq!(
        body,
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "system", "content": "d"},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "done"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}
            ],
            "tools": [{"type": "function", "function": {
                "name": "f", "description": "F.", "parameters": {"type": "object"}
            }}],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "max_tokens": 5,
            "stream": true,
            "seed": 1
        })
    );
    let openai = OpenAiChat::new(Config { api_key: "k".into(), ..Config::default() });
    let (http, body) = encoded(&openai, &request);
    assert_eq!(http.headers.get("authorization"), Some("Bearer k"));
    assert_eq!((&body["max_completion_tokens"], &body["messages"][1]["role"]), (&json!(5), &json!("developer")));
}

#[test]
fn base_urls_are_accepted_with_and_without_version() {
    covers("client.compatible");
    #[track_caller]
    fn check(base_url: &str, expected: &str) {
        let adapter = OpenAiChat::new(Config { base_url: Some(base_url.into()), ..Config::default() });
        let request = Request { model: "m".into(), messages: vec![Message::user("u")], ..Request::default() };
        assert_eq!(adapter.encode(&request, true).unwrap().url, expected);
    }
    check("http://localhost:11434", "http://localhost:11434/v1/chat/completions");
    check("http://localhost:11434/", "http://localhost:11434/v1/chat/completions");
    check("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1/chat/completions");
    check("https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1/chat/completions");
}
