//! Small cases of the Messages format. The workspace's test suite decodes recorded traffic.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::model::*;
use crate::testing::{answer, covers, decode, encoded, failure, sse};

fn adapter() -> Anthropic {
    Anthropic::new(Config { api_key: "test-key-0123456789".into(), ..Config::default() })
}

fn message_start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "content": [],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}})
}

fn block(index: u64, start: Value, deltas: &[Value]) -> Vec<Value> {
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    events.extend(deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn end(stop_reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
}

fn tool_use(pieces: &[&str], input: Value) -> Vec<Value> {
    let deltas: Vec<Value> =
        pieces.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect();
    block(0, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": input}), &deltas)
}

#[test]
fn text_streams_as_start_delta_end_and_finish() {
    covers("generate.text_deltas generate.text_segments cache.anthropic_usage");
    let deltas = [json!({"type": "text_delta", "text": "Hé"}), json!({"type": "text_delta", "text": "llo"})];
    let body =
        sse(&[vec![message_start()], block(0, json!({"type": "text", "text": ""}), &deltas), end("end_turn")].concat());
    let (events, outcome) = decode(&adapter(), &body);
    assert_eq!(outcome, Ok(()));
    let names: Vec<String> =
        events.iter().map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["stream_start", "text_start", "text_delta", "text_delta", "text_end", "finish"]);
    let response = answer(&adapter(), &body);
    assert_eq!(response.message.text(), "Héllo");
    assert_eq!(response.finish_reason, FinishReason { reason: FinishKind::Stop, raw: Some("end_turn".into()) });
    assert_eq!((response.usage.input_tokens, response.usage.output_tokens), (15, 20));
    assert_eq!(response.usage.cache_read_tokens, Some(5));
}

#[test]
fn tool_arguments_are_gathered_raw_and_parsed_at_the_end() {
    covers("tool_loop.arguments tool_loop.truncated_call");
    #[track_caller]
    fn check(pieces: &[&str], input: Value, stop: &str, arguments: Value, raw: &str) {
        let response = answer(&adapter(), &sse(&[vec![message_start()], tool_use(pieces, input), end(stop)].concat()));
        let call = response.message.tool_calls()[0].clone();
        assert_eq!((call.arguments, call.raw_arguments.as_deref()), (arguments, Some(raw)));
    }
    check(&["", "{\"pa", "th\":\"a\"}"], json!({}), "tool_use", json!({"path": "a"}), "{\"path\":\"a\"}");
    check(&[""], json!({}), "tool_use", json!({}), "");
    check(&[], json!({}), "tool_use", json!({}), "");
    check(&[], json!({"path": "a"}), "tool_use", json!({"path": "a"}), "{\"path\":\"a\"}");
    // Arguments in the start event count only if no delta follows.
    check(&["{\"pa", "th\":\"b\"}"], json!({"path": "a"}), "tool_use", json!({"path": "b"}), "{\"path\":\"b\"}");
    check(&["{\"path\": \"a"], json!({}), "max_tokens", json!("{\"path\": \"a"), "{\"path\": \"a");
    check(&[""], json!({}), "max_tokens", json!(""), "");
}

#[test]
fn reasoning_and_unknown_blocks_are_echoed_unchanged() {
    covers("message.thinking message.redacted_thinking reasoning.signature message.reasoning_round_trip");
    covers("message.foreign");
    let thinking =
        [json!({"type": "thinking_delta", "thinking": "hm"}), json!({"type": "signature_delta", "signature": "sig"})];
    let text = [
        json!({"type": "text_delta", "text": "So"}),
        json!({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x"}}),
    ];
    let search = [json!({"type": "input_json_delta", "partial_json": "{\"query\":\"q\"}"})];
    let body = sse(&[
        vec![message_start()],
        block(0, json!({"type": "thinking", "thinking": ""}), &thinking),
        block(1, json!({"type": "redacted_thinking", "data": "opaque"}), &[]),
        block(2, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}), &search),
        block(3, json!({"type": "text", "text": ""}), &text),
        end("end_turn"),
    ]
    .concat());
    let message = answer(&adapter(), &body).message;
    let request =
        Request { model: "claude-x".into(), messages: vec![Message::user("hi"), message], ..Request::default() };
    let (_, encoded_body) = encoded(&adapter(), &request);
    assert_eq!(
        encoded_body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "text", "text": "So", "citations": [{"type": "char_location", "cited_text": "x"}]}
        ])
    );
    let elsewhere = Anthropic::new(Config { api_key: "k".into(), name: Some("other".into()), ..Config::default() });
    let (_, encoded_body) = encoded(&elsewhere, &request);
    assert_eq!(encoded_body["messages"][1]["content"], json!([{"type": "text", "text": "So"}]));
}

#[test]
fn a_response_without_its_end_is_an_error() {
    covers("stream.incomplete");
    let deltas = [json!({"type": "text_delta", "text": "Hel"})];
    let cut = [vec![message_start()], block(0, json!({"type": "text", "text": ""}), &deltas)].concat();
    let error = failure(&adapter(), &sse(&cut));
    assert_eq!((error.kind, error.retryable), (ErrorKind::Stream, true));
    assert_eq!(error.message, "the response of anthropic ended early (no message_stop)");
    assert_eq!(failure(&adapter(), "").kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "data: {\"type\":\n\n").kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "\u{feff} {\"type\":").kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "garbage\nmore garbage\n").kind, ErrorKind::Stream);
    assert_eq!(failure(&adapter(), "<html>login</html>").kind, ErrorKind::Configuration);
    assert_eq!(failure(&adapter(), "{\"type\":\"message\",\"content\":[").kind, ErrorKind::Stream);
}

#[test]
fn an_error_event_ends_the_response_after_earlier_events() {
    covers("stream.incomplete");
    let body = format!(
        "{}event: error\ndata: {}\n\n",
        sse(&[message_start()]),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    );
    let (events, outcome) = decode(&adapter(), &body);
    assert_eq!(events.len(), 1);
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.kind, error.retryable, error.error_code.as_deref()),
        (ErrorKind::Server, true, Some("overloaded_error"))
    );
}

#[test]
fn another_response_in_the_same_stream_replaces_the_first() {
    let second =
        json!({"type": "message_start", "message": {"id": "msg_2", "model": "claude-x", "usage": {"input_tokens": 3}}});
    let mut events = vec![message_start()];
    events.extend(tool_use(&["{\"a\":"], json!({})));
    events.pop();
    events.push(second.clone());
    events.push(second);
    events.extend(block(0, json!({"type": "text", "text": ""}), &[json!({"type": "text_delta", "text": "new"})]));
    events.extend(end("end_turn"));
    let response = answer(&adapter(), &sse(&events));
    assert_eq!((response.id.as_str(), response.message.text().as_str()), ("msg_2", "new"));
    assert_eq!((response.message.tool_calls().len(), response.usage.input_tokens), (0, 3));
}

#[test]
fn errors_name_the_next_step_and_hide_the_key() {
    covers("adapter.error_class secrets.errors");
    #[track_caller]
    fn check(status: u16, body: Value, kind: ErrorKind, retryable: bool, message: &str) {
        let error = adapter().decode_error(status, &Headers::default(), body.to_string().as_bytes());
        assert_eq!((error.kind, error.retryable, error.message.as_str()), (kind, retryable, message));
        assert!(!format!("{error:?}").contains("test-key"), "{error:?}");
    }
    let body = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    check(
        401,
        body("authentication_error", "invalid x-api-key test-key-0123456789"),
        ErrorKind::Authentication,
        false,
        "anthropic rejected the key: set ANTHROPIC_API_KEY to a valid key (401). It says: invalid x-api-key [redacted]",
    );
    check(
        529,
        body("overloaded_error", "Overloaded"),
        ErrorKind::Server,
        true,
        "anthropic failed: try again later (529). It says: Overloaded",
    );
    check(
        400,
        body("invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum"),
        ErrorKind::ContextLength,
        false,
        "the conversation exceeds the model's context window: shorten it or use a model with a larger one (400). \
         It says: prompt is too long: 200251 tokens > 200000 maximum",
    );
    check(
        429,
        body("rate_limit_error", "Extra usage is required for long context requests."),
        ErrorKind::RateLimit,
        false,
        "this request is too large for the rate limit of the account at anthropic: send less or raise it (429). \
         It says: Extra usage is required for long context requests.",
    );
}

#[test]
fn a_conversation_is_encoded_with_alternating_roles_and_results_first() {
    covers("adapter.system adapter.roles message.tools cache.anthropic_marks cache.anthropic_placement");
    covers("cache.anthropic_beta tool_loop.choice");
    let call = ToolCall {
        id: "toolu_1".into(),
        name: "read".into(),
        arguments: json!("{broken"),
        raw_arguments: Some("{broken".into()),
        custom: false,
        provider_data: None,
    };
    let result = ToolResult {
        tool_call_id: "toolu_1".into(),
        name: "read".into(),
        content: json!({"n": 1}),
        is_error: true,
        image: None,
    };
    let request = Request {
        model: "claude-opus-4-6".into(),
        messages: vec![
            Message::system("Be brief."),
            Message::user("a"),
            Message { role: Role::Assistant, content: vec![ContentPart::ToolCall(call)].into(), name: None },
            Message::user("steer"),
            Message::tool_results(vec![result]),
        ],
        tools: vec![ToolDefinition {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
        }],
        tool_choice: Some(ToolChoice::Required),
        ..Request::default()
    };
    let (http, body) = encoded(&adapter(), &request);
    assert_eq!(http.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(http.headers.get("x-api-key"), Some("test-key-0123456789"));
    assert_eq!(http.headers.get("anthropic-beta"), Some("prompt-caching-2024-07-31"));
    assert!(!format!("{http:?}").contains("test-key"));
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        body,
        json!({
            "model": "claude-opus-4-6",
            "max_tokens": 128_000,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"INVALID_JSON": "{broken"}}
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"n\":1}", "is_error": true},
                    {"type": "text", "text": "steer", "cache_control": mark}
                ]}
            ],
            "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "cache_control": mark}],
            "tool_choice": {"type": "any"},
            "stream": true
        })
    );
}

#[test]
fn options_reach_the_body_and_the_headers() {
    covers("adapter.options adapter.beta_headers cache.anthropic_off");
    let mut request =
        Request { model: "claude-sonnet-4-5".into(), messages: vec![Message::user("a")], ..Request::default() };
    request.reasoning_effort = Some("low".into());
    request.provider_options = serde_json::from_value(json!({"anthropic": {
        "auto_cache": false, "beta_headers": ["one"], "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "service_tier": "auto", "thinking": {"type": "adaptive"}
    }}))
    .unwrap();
    let adapter = Anthropic::new(Config {
        api_key: "k".into(),
        base_url: Some("http://localhost:9/proxy/".into()),
        browser: true,
        betas: vec!["two".into(), "one".into()],
        ..Config::default()
    });
    let (http, body) = encoded(&adapter, &request);
    assert_eq!(http.url, "http://localhost:9/proxy/v1/messages");
    assert_eq!(http.headers.get("anthropic-beta"), Some("two,one"));
    assert_eq!(http.headers.get("anthropic-dangerous-direct-browser-access"), Some("true"));
    assert_eq!(body["tools"], json!([{"type": "web_search_20250305", "name": "web_search"}]));
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["service_tier"], "auto");
    assert_eq!(body.get("auto_cache"), None);
}

#[test]
fn effort_becomes_a_budget_or_an_effort() {
    covers("effort.values");
    #[track_caller]
    fn check(model: &str, effort: &str, max_tokens: Option<u64>, thinking: Value, output_config: Value) {
        let mut request =
            Request { model: model.into(), messages: vec![Message::user("a")], max_tokens, ..Request::default() };
        request.reasoning_effort = Some(effort.into());
        let (_, body) = encoded(&adapter(), &request);
        assert_eq!((&body["thinking"], &body["output_config"]), (&thinking, &output_config));
    }
    check("claude-opus-4-6", "xhigh", None, json!({"type": "adaptive"}), json!({"effort": "high"}));
    check("claude-new", "low", None, json!({"type": "adaptive"}), json!({"effort": "low"}));
    check("claude-sonnet-4-5-20250929", "low", None, json!({"type": "enabled", "budget_tokens": 4096}), Value::Null);
    check("claude-sonnet-4-5", "high", Some(2000), json!({"type": "enabled", "budget_tokens": 1999}), Value::Null);
    check("claude-sonnet-4-5", "high", Some(500), Value::Null, Value::Null);
    check("claude-opus-4-6", "none", None, Value::Null, Value::Null);
}

#[test]
fn a_missing_key_is_a_configuration_error_unless_a_proxy_may_add_it() {
    let request = Request { model: "claude-x".into(), messages: vec![Message::user("a")], ..Request::default() };
    let error = Anthropic::new(Config::default()).encode(&request, true).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Configuration, "no key for anthropic: set ANTHROPIC_API_KEY")
    );
    let proxy = Anthropic::new(Config { base_url: Some("http://localhost:1/v1".into()), ..Config::default() });
    let http = proxy.encode(&request, true).unwrap();
    assert_eq!((http.url.as_str(), http.headers.get("x-api-key")), ("http://localhost:1/v1/messages", None));
}
