//! Small cases of the Responses API. The workspace's test suite decodes recorded traffic.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::model::*;
use crate::testing::{answer, covers, encoded, failure, sse};

fn adapter() -> OpenAiResponses {
    OpenAiResponses::new(Config { api_key: "k".into(), ..Config::default() })
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-x", "status": "in_progress"}})
}

fn item(index: u64, added: Value, deltas: &[Value], done: Value) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.output_item.added", "output_index": index, "item": added})];
    for delta in deltas {
        let mut delta = delta.clone();
        delta["output_index"] = index.into();
        events.push(delta);
    }
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": done}));
    events
}

fn end(response: Value) -> Value {
    let status = response["status"].as_str().unwrap().to_owned();
    json!({"type": format!("response.{status}"), "response": response})
}

fn completed() -> Value {
    end(json!({"id": "resp_1", "model": "gpt-x", "status": "completed", "output": [], "usage": {
        "input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 3}
    }}))
}

/// Reasoning with different encrypted contents in its first and last event, two contents with a phase, a call.
fn items() -> Vec<Value> {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "real",
        "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}]});
    let summary = |index: u64, text: &str| json!({"type": "response.reasoning_summary_text.delta", "summary_index": index, "delta": text});
    let arguments = |text: &str| json!({"type": "response.function_call_arguments.delta", "delta": text});
    let text = |text: &str| json!({"type": "response.output_text.delta", "content_index": 0, "delta": text});
    [
        item(
            0,
            json!({"id": "rs_x", "type": "reasoning", "encrypted_content": "other", "summary": []}),
            &[summary(0, "A"), summary(1, "B")],
            reasoning,
        ),
        item(
            1,
            json!({"type": "message", "content": []}),
            &[text("Hel"), text("lo")],
            json!({"id": "msg_1", "type": "message", "role": "assistant", "phase": "final", "status": "completed",
                "content": [{"type": "output_text", "text": "Hello", "annotations": []}]}),
        ),
        item(
            2,
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""}),
            &[arguments("{\"x\""), arguments(":1}")],
            json!({"type": "function_call", "id": "fc_2", "call_id": "call_1", "name": "f", "arguments": "{\"x\":1}",
                "status": "completed"}),
        ),
    ]
    .concat()
}

#[test]
fn items_become_parts_in_order_and_are_echoed() {
    covers("adapter.system adapter.roles message.tools reasoning.responses_tokens cache.openai_automatic");
    covers("cache.openai_usage message.reasoning_round_trip");
    let response = answer(&adapter(), &sse(&[vec![created()], items(), vec![completed()]].concat()));
    assert_eq!(response.finish_reason, FinishReason { reason: FinishKind::ToolCalls, raw: Some("completed".into()) });
    assert_eq!((response.usage.reasoning_tokens, response.usage.cache_read_tokens), (Some(3), Some(4)));
    assert_eq!(response.message.reasoning().as_deref(), Some("A\n\nB"));
    assert_eq!(response.message.text(), "Hello");
    let result = ToolResult {
        tool_call_id: "call_1".into(),
        name: "f".into(),
        content: json!("r"),
        is_error: false,
        image: None,
    };
    let messages =
        vec![Message::system("s"), Message::user("u"), response.message, Message::tool_results(vec![result])];
    let request = Request { model: "gpt-5.2".into(), messages, ..Request::default() };
    let (http, body) = encoded(&adapter(), &request);
    assert_eq!(http.url, "https://api.openai.com/v1/responses");
    let input = json!([
        {"type": "message", "role": "user", "content": "u"},
        {"id": "rs_1", "type": "reasoning", "encrypted_content": "real",
            "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}]},
        {"type": "message", "role": "assistant", "phase": "final",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"x\":1}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "r"}
    ]);
    assert_eq!(
        body,
        json!({"model": "gpt-5.2", "instructions": "s", "input": input, "store": false,
            "include": ["reasoning.encrypted_content"], "stream": true})
    );
    let other = OpenAiResponses::new(Config { api_key: "k".into(), name: Some("other".into()), ..Config::default() });
    let body = encoded(&other, &request).1.to_string();
    assert!(!body.contains("real") && !body.contains("final"), "{body}");
}

#[test]
fn a_document_decodes_as_the_stream_does() {
    let streamed = answer(&adapter(), &sse(&[vec![created()], items(), vec![completed()]].concat()));
    let done = items().into_iter().filter(|event| event["type"] == "response.output_item.done");
    let mut document = completed()["response"].clone();
    document["output"] = done.map(|event| event["item"].clone()).collect();
    let whole = answer(&adapter(), &document.to_string());
    assert_eq!(whole, streamed);
    // The list at the end of a stream counts if no item came before it.
    let late = answer(&adapter(), &sse(&[created(), end(document)]));
    assert_eq!(late, streamed);
}

#[test]
fn free_text_calls_stay_text() {
    let delta = json!({"type": "response.custom_tool_call_input.delta", "delta": "*** Begin"});
    let added = json!({"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": ""});
    let done = json!({"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "*** Begin Patch"});
    let response =
        answer(&adapter(), &sse(&[vec![created()], item(0, added, &[delta], done), vec![completed()]].concat()));
    let call = response.message.tool_calls()[0].clone();
    assert_eq!((call.custom, call.arguments), (true, json!("*** Begin Patch")));
    let result = ToolResult {
        tool_call_id: "call_1".into(),
        name: "patch".into(),
        content: json!("ok"),
        is_error: false,
        image: None,
    };
    let messages = vec![response.message, Message::tool_results(vec![result])];
    let request = Request { model: "gpt-5.2".into(), messages, ..Request::default() };
    assert_eq!(
        encoded(&adapter(), &request).1["input"],
        json!([
            {"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "*** Begin Patch"},
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"}
        ])
    );
}

#[test]
fn the_status_gives_the_finish_reason() {
    covers("adapter.response");
    #[track_caller]
    fn check(response: Value, expected: FinishKind) {
        assert_eq!(answer(&adapter(), &sse(&[created(), end(response)])).finish_reason.reason, expected);
    }
    let incomplete = |reason: &str| json!({"id": "resp_1", "status": "incomplete", "output": [], "incomplete_details": {"reason": reason}});
    check(incomplete("max_output_tokens"), FinishKind::Length);
    check(incomplete("content_filter"), FinishKind::ContentFilter);
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    check(json!({"id": "resp_1", "status": "completed", "output": [refusal]}), FinishKind::ContentFilter);
    check(json!({"id": "resp_1", "status": "completed", "output": []}), FinishKind::Stop);
}

#[test]
fn errors_are_nested_flat_or_a_failed_response() {
    covers("stream.incomplete");
    #[track_caller]
    fn check(event: Value) {
        let error = failure(&adapter(), &sse(&[created(), event]));
        assert_eq!(
            (error.kind, error.error_code.as_deref()),
            (ErrorKind::ContextLength, Some("context_length_exceeded"))
        );
    }
    let error = json!({"code": "context_length_exceeded", "message": "too long"});
    check(json!({"type": "error", "error": error}));
    check(json!({"type": "error", "code": "context_length_exceeded", "message": "too long"}));
    check(json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}}));
    assert_eq!(failure(&adapter(), &sse(&[created()])).kind, ErrorKind::Stream);
}

#[test]
fn parameters_follow_the_model() {
    covers("adapter.options reasoning.responses_effort");
    let mut request = Request { model: "gpt-5.2".into(), messages: vec![Message::user("u")], ..Request::default() };
    request.reasoning_effort = Some("low".into());
    request.stop_sequences = vec!["x".into()];
    request.response_format = Some(ResponseFormat::JsonSchema { json_schema: json!({"type": "object"}), strict: true });
    request
        .provider_options
        .insert("openai".into(), json!({"reasoning": {"summary": null}, "tools": [{"type": "web_search"}]}));
    let body = encoded(&adapter(), &request).1;
    assert_eq!(body["reasoning"], json!({"effort": "low"}));
    assert_eq!(body["tools"], json!([{"type": "web_search"}]));
    let format = json!({"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": true});
    assert_eq!(body["text"], json!({"format": format}));
    assert_eq!(adapter().warnings(&request).len(), 1);
    request.model = "some-local-model".into();
    request.provider_options.clear();
    let body = encoded(&adapter(), &request).1;
    assert_eq!((body.get("include"), body.get("reasoning")), (None, None));
}
