//! Targets for the responses of providers.

use emend_llm::partial_json::PartialJson;
use emend_llm::{Api, Headers, LlmError, Response, StreamEvent};

use crate::{Target, draw, texts};

pub(crate) const ANSWERS: Target = Target {
    name: "answers",
    run: run_answers,
    samples: &[
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\",\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"id\":\"i\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"item_id\":\"i\",\"delta\":\"{}\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n",
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"a\",\"thought\":true},{\"functionCall\":{\"name\":\"f\",\"args\":{\"x\":1}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":2}}\n\n",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}",
    ],
    words: &[
        "data: ",
        "event: ",
        "\n\n",
        ": keep-alive\n",
        "null",
        "{}",
        "[]",
        "[DONE]",
        "\"index\":9",
        "\\u0000",
        "\"type\":\"error\"",
        "1e999",
        "-1",
    ],
};

fn run_answers(data: &[u8]) {
    let mut headers = Headers::default();
    headers.set("content-type", if draw(data, 9).is_multiple_of(8) { "application/json" } else { "text/event-stream" });
    let status = [200, 200, 200, 400, 429, 529][draw(data, 7) as usize % 6];
    let size = 1 + draw(data, 8) as usize % 23;
    for api in [Api::AnthropicMessages, Api::OpenAiResponses, Api::OpenAiChat, Api::Gemini] {
        let (events, whole) = api.decode(status, &headers, [data]);
        let (other_events, in_pieces) = api.decode(status, &headers, data.chunks(size));
        let (expected, found) = (outline(&events, whole), outline(&other_events, in_pieces));
        assert_eq!(expected, found, "{} in pieces of {size} decodes differently", api.name());
    }
}

/// Returns the parts of a decoded response that must not depend on the pieces: the response, or the text so far and the
/// error. The message of an error may quote the bytes that had arrived by then.
fn outline(events: &[StreamEvent], outcome: Result<(), LlmError>) -> (Option<Response>, String, Option<LlmError>) {
    let response = events.iter().find_map(|event| match event {
        StreamEvent::Finish { response } => Some(response.clone()),
        _ => None,
    });
    let deltas = events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    let error = outcome.err().map(|error| LlmError { message: String::new(), raw: None, ..error });
    (response, deltas.collect(), error)
}

pub(crate) const PARTIAL_JSON: Target = Target {
    name: "partial-json",
    run: run_partial_json,
    samples: &[
        "{\"a\":[1,-2.5e3,true,null,\"x\\u00e9\\n\"],\"b\":{\"c\":\"\\ud83e\\udd80\"}}",
        "[[[{\"\":\"\"}]]]",
        "\"unfinished",
    ],
    words: &["{", "}", "[", "]", "\"", ":", ",", "\\u", "\\", "true", "nul", "1e", "-", "\\ud800"],
};

fn run_partial_json(data: &[u8]) {
    let [text] = texts(data);
    let mut reader = PartialJson::new();
    let mut outcome = Ok(());
    for (start, letter) in text.char_indices() {
        outcome = outcome.and_then(|()| reader.push(&text[start..start + letter.len_utf8()]));
    }
    let Ok(expected) = serde_json::from_str::<serde_json::Value>(&text) else { return };
    assert!(outcome.is_ok(), "valid JSON is rejected: {outcome:?}");
    if expected.is_object() || expected.is_array() || expected.is_string() {
        assert_eq!(reader.value(), &expected);
        assert!(reader.is_complete());
    }
}
