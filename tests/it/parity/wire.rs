//! Model responses in each provider's wire format, and readers for the checked fields of each provider's requests.

use emend_llm::Api;
use serde_json::{Value, json};

/// A tool call of a response: id, name and arguments.
pub(crate) type WireCall = (String, &'static str, Value);

/// Returns a response of text and calls as the provider streams it.
pub(crate) fn say(api: Api, text: &str, calls: &[WireCall]) -> String {
    events(api, text, calls).iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Returns the same response as a list of events.
pub(crate) fn events(api: Api, text: &str, calls: &[WireCall]) -> Vec<Value> {
    match api {
        Api::AnthropicMessages => anthropic(text, calls),
        Api::OpenAiResponses => responses(text, calls),
        Api::Gemini => gemini(text, calls),
        Api::OpenAiChat => chat(text, calls),
    }
}

/// Splits a text in two, so that the response arrives in pieces.
fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = text.split_at(middle);
    [start, end]
}

fn anthropic(text: &str, calls: &[WireCall]) -> Vec<Value> {
    let usage = json!({"input_tokens": 40, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": usage}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: [Value; 2]| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let deltas = deltas.into_iter();
        events.extend(deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !text.is_empty() {
        let deltas = halves(text).map(|text| json!({"type": "text_delta", "text": text}));
        block(json!({"type": "text", "text": ""}), deltas);
    }
    for (id, name, arguments) in calls {
        let arguments = arguments.to_string();
        let deltas = halves(&arguments).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas);
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({"output_tokens": 20});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn responses(text: &str, calls: &[WireCall]) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.created", "response": {"id": "r", "model": "x"}})];
    let mut index = 0;
    let mut item = |added: Value, deltas: [Value; 2], done: Value| {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": added}));
        for mut delta in deltas {
            delta["output_index"] = index.into();
            events.push(delta);
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": done}));
        index += 1;
    };
    if !text.is_empty() {
        let delta = |text| json!({"type": "response.output_text.delta", "content_index": 0, "delta": text});
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        let message = |content: Value| json!({"type": "message", "role": "assistant", "content": content});
        item(message(json!([])), halves(text).map(delta), message(content));
    }
    for (id, name, arguments) in calls {
        let arguments = arguments.to_string();
        let delta = |piece| json!({"type": "response.function_call_arguments.delta", "delta": piece});
        let call =
            |arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        item(call(""), halves(&arguments).map(delta), call(&arguments));
    }
    let usage = json!({"input_tokens": 100, "output_tokens": 20});
    let response = json!({"id": "r", "model": "x", "status": "completed", "output": [], "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    events
}

fn gemini(text: &str, calls: &[WireCall]) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    if !text.is_empty() {
        parts.extend(halves(text).map(|text| json!({"text": text})));
    }
    let call = |(id, name, args): &WireCall| json!({"functionCall": {"id": id, "name": name, "args": args}});
    parts.extend(calls.iter().map(call));
    let chunk = |candidate: Value| {
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 12});
        json!({"responseId": "r", "modelVersion": "x", "candidates": [candidate], "usageMetadata": usage})
    };
    let mut chunks: Vec<Value> = parts.into_iter().map(|part| chunk(json!({"content": {"parts": [part]}}))).collect();
    chunks.push(chunk(json!({"content": {}, "finishReason": "STOP"})));
    chunks
}

fn chat(text: &str, calls: &[WireCall]) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"id": "r", "model": "x", "choices": [choice]})
    };
    let mut chunks: Vec<Value> = halves(text)
        .iter()
        .map(|text| chunk(json!({"content": text}), Value::Null))
        .filter(|_| !text.is_empty())
        .collect();
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let arguments = arguments.to_string();
        let [start, rest] = halves(&arguments);
        let function = json!({"name": name, "arguments": start});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        let more = json!({"index": index, "function": {"arguments": rest}});
        chunks.extend([call, more].map(|call| chunk(json!({"tool_calls": [call]}), Value::Null)));
    }
    chunks.push(chunk(json!({}), if calls.is_empty() { "stop" } else { "tool_calls" }.into()));
    chunks
}

/// Returns the names of the tools that a request offers.
pub(super) fn tool_names(api: Api, body: &Value) -> Vec<String> {
    let tools = match api {
        Api::Gemini => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Returns the tool results of the last round in a request, as text.
pub(super) fn last_results(api: Api, body: &Value) -> Vec<String> {
    let list = match api {
        Api::Gemini => &body["contents"],
        Api::OpenAiResponses => &body["input"],
        _ => &body["messages"],
    };
    let items: Vec<&Value> = match api {
        Api::OpenAiResponses => list.as_array().into_iter().flatten().collect(),
        _ => {
            let messages = list.as_array().into_iter().flatten();
            let parts = messages.flat_map(|message| {
                let parts = message["content"].as_array().or_else(|| message["parts"].as_array());
                parts.into_iter().flatten()
            });
            parts.collect()
        }
    };
    let result = |item: &&Value| match api {
        Api::OpenAiResponses => (item["type"] == "function_call_output").then(|| text(&item["output"])),
        Api::Gemini => item.get("functionResponse").map(|part| envelope_text(&part["response"])),
        _ => (item["type"] == "tool_result").then(|| text(&item["content"])),
    };
    let is_call = |item: &&Value| {
        item["type"] == "function_call" || item["type"] == "tool_use" || item.get("functionCall").is_some()
    };
    let last_call = items.iter().rposition(is_call).map_or(0, |at| at + 1);
    items[last_call..].iter().filter_map(result).collect()
}

/// Returns the text of a result that must have the envelope `{ok, data | error}`.
fn envelope_text(response: &Value) -> String {
    let (data, error) = (&response["data"], &response["error"]);
    let inner = match response["ok"].as_bool() {
        Some(true) => &data["output"],
        Some(false) if error["code"].is_string() && error["suggestions"].is_array() => &error["message"],
        _ => panic!("no envelope: {response}"),
    };
    assert_eq!(response.as_object().map(serde_json::Map::len), Some(2), "{response}");
    text(inner)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
