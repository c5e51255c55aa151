//! Small cases of the Gemini API. The workspace's test suite decodes recorded traffic.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::model::*;
use crate::testing::{answer, covers, encoded, failure};

fn adapter() -> Gemini {
    Gemini::new(Config { api_key: "k".into(), ..Config::default() })
}

fn chunk(parts: Value) -> Value {
    json!({"responseId": "r1", "modelVersion": "gemini-x", "candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn end(reason: &str) -> Value {
    json!({"responseId": "r1", "candidates": [{"finishReason": reason}], "usageMetadata": {
        "promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 6, "cachedContentTokenCount": 8}})
}

/// Frames chunks as the API does, with CRLF.
fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

#[track_caller]
fn echo(chunks: &[Value], reason: &str) -> Value {
    let mut chunks = chunks.to_vec();
    chunks.push(end(reason));
    let message = answer(&adapter(), &stream(&chunks)).message;
    let request = Request { model: "gemini-3-x".into(), messages: vec![message], ..Request::default() };
    encoded(&adapter(), &request).1["contents"][0]["parts"].clone()
}

#[test]
fn text_thoughts_and_usage() {
    covers("reasoning.gemini_tokens cache.gemini_automatic cache.gemini_usage");
    let chunks = [
        chunk(json!([{"text": "hm", "thought": true}])),
        chunk(json!([{"text": "Hel"}])),
        chunk(json!([{"text": "lo"}])),
        end("STOP"),
    ];
    let response = answer(&adapter(), &stream(&chunks));
    assert_eq!((response.message.text().as_str(), response.message.reasoning().as_deref()), ("Hello", Some("hm")));
    assert_eq!(response.finish_reason, FinishReason { reason: FinishKind::Stop, raw: Some("STOP".into()) });
    assert_eq!((response.usage.input_tokens, response.usage.output_tokens), (10, 10));
    assert_eq!((response.usage.reasoning_tokens, response.usage.cache_read_tokens), (Some(6), Some(8)));
    // Without `alt=sse` the response is one array of chunks.
    assert_eq!(answer(&adapter(), &json!(chunks).to_string()), response);
}

#[test]
fn a_response_with_a_call_ends_with_tool_calls_for_any_finish_reason() {
    let call = chunk(json!([{"functionCall": {"name": "f"}}]));
    for reason in ["STOP", "FUNCTION_CALL"] {
        let response = answer(&adapter(), &stream(&[call.clone(), end(reason)]));
        let expected = FinishReason { reason: FinishKind::ToolCalls, raw: Some(reason.into()) };
        assert_eq!(response.finish_reason, expected);
    }
}

#[test]
fn whole_calls_are_read_with_or_without_ids_and_arguments() {
    covers("message.tools tool_loop.one_message");
    let call = |call: Value| chunk(json!([{"functionCall": call}]));
    let chunks = [call(json!({"name": "f", "args": {"x": 1}})), call(json!({"name": "g", "id": "real"})), end("STOP")];
    let response = answer(&adapter(), &stream(&chunks));
    let calls = response.message.tool_calls();
    let found: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), &call.arguments)).collect();
    assert_eq!(found, [("local_r1_0", "f", &json!({"x": 1})), ("real", "g", &json!({}))]);
    assert_eq!(response.finish_reason.reason, FinishKind::ToolCalls);
    let result = |id: &str, name: &str, content: Value, is_error| ToolResult {
        tool_call_id: id.into(),
        name: name.into(),
        content,
        is_error,
        image: None,
    };
    let own = json!({"ok": false, "error": {"code": "not_found"}});
    let results = vec![
        result("local_r1_0", "", json!("one"), false),
        result("real", "g", json!({"k": 2}), true),
        result("own", "h", own.clone(), true),
    ];
    let messages = vec![response.message, Message::tool_results(results)];
    let request = Request { model: "gemini-3-x".into(), messages, ..Request::default() };
    assert_eq!(
        encoded(&adapter(), &request).1["contents"],
        json!([
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "args": {}, "id": "real"}}
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"result": "one"}}},
                {"functionResponse": {"name": "g", "response": {"error": "{\"k\":2}"}, "id": "real"}},
                {"functionResponse": {"name": "h", "response": own, "id": "own"}}
            ]}
        ])
    );
}

#[test]
fn arguments_that_come_in_pieces_are_assembled() {
    let call = |call: Value| chunk(json!([{"functionCall": call}]));
    let mut chunks = vec![
        call(json!({"name": "f", "willContinue": true})),
        call(
            json!({"partialArgs": [{"jsonPath": "$.a", "stringValue": "x", "willContinue": true}], "willContinue": true}),
        ),
        call(json!({"partialArgs": [{"jsonPath": "$.a", "stringValue": "y"}], "willContinue": true})),
        call(json!({})),
        end("STOP"),
    ];
    let response = answer(&adapter(), &stream(&chunks));
    assert_eq!(response.message.tool_calls()[0].arguments, json!({"a": "xy"}));
    chunks.remove(3);
    assert_eq!(answer(&adapter(), &stream(&chunks)), response, "the end marker may be missing");
}

#[test]
fn signatures_stay_on_the_part_they_came_with() {
    covers("message.reasoning_round_trip");
    let parts = [
        json!({"text": "a"}),
        json!({"text": "b", "thoughtSignature": "s1"}),
        json!({"text": "c"}),
        json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s2"}),
        json!({"functionCall": {"name": "g", "args": {}}}),
        json!({"executableCode": {"code": "1"}, "thoughtSignature": "s3"}),
        json!({"text": "", "thoughtSignature": "s4"}),
    ];
    let chunks: Vec<Value> = parts.iter().map(|part| chunk(json!([part]))).collect();
    assert_eq!(echo(&chunks, "STOP"), json!(parts));
    let thought = json!({"text": "hm", "thought": true, "thoughtSignature": "s5"});
    assert_eq!(echo(&[chunk(json!([thought, {"text": "x"}]))], "STOP"), json!([thought, {"text": "x"}]));
}

#[test]
fn finish_reasons_are_mapped() {
    #[track_caller]
    fn check(parts: Value, reason: &str, expected: FinishKind) {
        assert_eq!(answer(&adapter(), &stream(&[chunk(parts), end(reason)])).finish_reason.reason, expected);
    }
    check(json!([]), "MAX_TOKENS", FinishKind::Length);
    check(json!([]), "SAFETY", FinishKind::ContentFilter);
    check(json!([]), "MALFORMED_FUNCTION_CALL", FinishKind::Error);
    check(json!([{"functionCall": {"name": "f"}}]), "UNEXPECTED_TOOL_CALL", FinishKind::ToolCalls);
    check(json!([]), "SOMETHING_NEW", FinishKind::Other);
    assert_eq!(failure(&adapter(), &stream(&[chunk(json!([{"text": "a"}]))])).kind, ErrorKind::Stream);
    let blocked = failure(&adapter(), &stream(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]));
    assert_eq!((blocked.kind, blocked.error_code.as_deref()), (ErrorKind::ContentFilter, Some("SAFETY")));
}

#[test]
fn bare_errors_in_a_stream_are_reported() {
    covers("stream.incomplete");
    let error = json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}});
    let bare = serde_json::to_string_pretty(&error).unwrap();
    let body = format!("{}{bare}\n", stream(&[chunk(json!([{"text": "a"}]))]));
    let found = failure(&adapter(), &body);
    assert_eq!((found.kind, found.error_code.as_deref()), (ErrorKind::Server, Some("503")));
    assert_eq!(failure(&adapter(), &bare).kind, ErrorKind::Server);
    assert_eq!(failure(&adapter(), &format!("[{bare}]")).kind, ErrorKind::Server);
}

#[test]
fn errors_are_classified_by_more_than_their_status() {
    covers("adapter.error_class provider.retry_after");
    #[track_caller]
    fn check(status: u16, error: Value, kind: ErrorKind, retryable: bool, retry_after_ms: Option<u64>) {
        let body = json!([{"error": error}]).to_string();
        let error = adapter().decode_error(status, &Headers::default(), body.as_bytes());
        assert_eq!((error.kind, error.retryable, error.retry_after_ms), (kind, retryable, retry_after_ms));
    }
    let key = json!({"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"});
    check(400, key, ErrorKind::Authentication, false, None);
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"});
    let minute = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota.", "details": [retry]});
    check(429, minute, ErrorKind::RateLimit, true, Some(34_400));
    let day = json!({"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]});
    let daily = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota.", "details": [day, retry]});
    check(429, daily, ErrorKind::QuotaExceeded, false, None);
}

#[test]
fn a_request_is_encoded() {
    covers("adapter.system adapter.roles adapter.options tool_loop.choice");
    let mut request = Request {
        model: "models/gemini-2.5-flash".into(),
        messages: vec![Message::system("s"), Message::text_of(Role::Developer, "d"), Message::user("u")],
        tools: vec![ToolDefinition {
            name: "f".into(),
            description: "F.".into(),
            parameters: json!({"type": "object"}),
        }],
        tool_choice: Some(ToolChoice::Named { tool_name: "f".into() }),
        max_tokens: Some(5),
        reasoning_effort: Some("low".into()),
        ..Request::default()
    };
    request.provider_options.insert("gemini".into(), json!({"tools": [{"googleSearch": {}}], "safetySettings": []}));
    let (http, body) = encoded(&adapter(), &request);
    assert_eq!(
        http.url,
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    );
    assert_eq!(http.headers.get("x-goog-api-key"), Some("k"));
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "s"}, {"text": "d"}]},
            "contents": [{"role": "user", "parts": [{"text": "u"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            "tools": [
                {"functionDeclarations": [{"name": "f", "description": "F.", "parametersJsonSchema": {"type": "object"}}]},
                {"googleSearch": {}}
            ],
            "generationConfig": {
                "maxOutputTokens": 5, "thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": true}
            },
            "safetySettings": []
        })
    );
    request.model = "gemini-3-x".into();
    let thinking = &encoded(&adapter(), &request).1["generationConfig"]["thinkingConfig"];
    assert_eq!(*thinking, json!({"thinkingLevel": "LOW", "includeThoughts": true}));
}
