//! Responses as a provider streams them, the moments for faults in them, and a check of the requests.

use emend_llm::Api;
use serde_json::{Value, json};

use crate::parity::wire::{WireCall, events};

/// The text of responses; its first half is sent first.
pub(super) const TEXT: &str = "Let me see. Done so.";
const REASONING: &str = "pondering";

/// Returns the events of a response with reasoning, text and a call.
pub(super) fn answer(api: Api, reasons: bool, text: &str, calls: &[WireCall]) -> Vec<Value> {
    let mut all = events(api, text, calls);
    if reasons {
        let at = usize::from(matches!(api, Api::AnthropicMessages | Api::OpenAiResponses));
        all.splice(at..at, reasoning(api));
    }
    all
}

fn reasoning(api: Api) -> Vec<Value> {
    match api {
        Api::AnthropicMessages => vec![
            json!({"type": "content_block_start", "index": 90, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 90, "delta": {"type": "thinking_delta", "thinking": REASONING}}),
            json!({"type": "content_block_delta", "index": 90, "delta": {"type": "signature_delta", "signature": "sig"}}),
            json!({"type": "content_block_stop", "index": 90}),
        ],
        Api::OpenAiResponses => {
            let item =
                |summary: Value| json!({"type": "reasoning", "id": "rs", "encrypted_content": "x", "summary": summary});
            vec![
                json!({"type": "response.output_item.added", "output_index": 90, "item": item(json!([]))}),
                json!({"type": "response.reasoning_summary_text.delta", "output_index": 90, "summary_index": 0, "delta": REASONING}),
                json!({"type": "response.output_item.done", "output_index": 90,
                    "item": item(json!([{"type": "summary_text", "text": REASONING}]))}),
            ]
        }
        Api::OpenAiChat => {
            let choice = json!({"index": 0, "delta": {"reasoning_content": REASONING}, "finish_reason": null});
            vec![json!({"id": "r", "model": "x", "choices": [choice]})]
        }
        Api::Gemini => {
            let content = json!({"parts": [{"text": REASONING, "thought": true}]});
            vec![json!({"responseId": "r", "modelVersion": "x", "candidates": [{"content": content}]})]
        }
    }
}

/// The moment of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// Before the head of the response.
    Connect,
    /// Before the first event.
    Head,
    /// In the middle of an event.
    InEvent,
    /// After an event.
    Between,
    Reasoning,
    Text,
    /// In the middle of a call's arguments.
    Arguments,
    /// Before the event that ends the response.
    End,
}

pub(super) const MOMENTS: [Moment; 8] = [
    Moment::Connect,
    Moment::Head,
    Moment::InEvent,
    Moment::Between,
    Moment::Reasoning,
    Moment::Text,
    Moment::Arguments,
    Moment::End,
];

impl Moment {
    /// Returns the byte of the body at this moment, `None` if the response has no such moment. `any` is a random
    /// number.
    pub(super) fn place(self, events: &[String], any: usize) -> Option<usize> {
        let before = |index: usize| events[..index].iter().map(String::len).sum::<usize>();
        let after_event_with =
            |mark: &str| events.iter().position(|event| event.contains(mark)).map(|at| before(at + 1));
        match self {
            Self::Connect | Self::Head => Some(0),
            Self::InEvent => {
                let index = any % events.len();
                Some(before(index) + 1 + any / events.len() % (events[index].len() - 2))
            }
            Self::Between => (events.len() > 1).then(|| before(1 + any % (events.len() - 1))),
            Self::Reasoning => after_event_with(REASONING),
            Self::Text => after_event_with(&TEXT[..TEXT.len() / 2]),
            Self::Arguments => events.concat().find("file_pa").map(|at| at + 4),
            Self::End => Some(before(events.len() - 1)),
        }
    }
}

/// Checks that a provider would accept a conversation: each call has a unique id and exactly one result, right after
/// the call, and no text is empty.
pub(super) fn assert_acceptable(api: Api, body: &[u8]) {
    let body: Value = serde_json::from_slice(body).unwrap();
    let list = ["messages", "input", "contents"].iter().find_map(|name| body[*name].as_array()).unwrap();
    let (mut open, mut known): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for item in list {
        let (calls, results) = calls_and_results(api, item);
        if !results.is_empty() {
            for id in results {
                let at = open
                    .iter()
                    .position(|call| *call == id)
                    .unwrap_or_else(|| panic!("a result of no call: {item} in {body}"));
                open.remove(at);
            }
            continue;
        }
        // The calls of one response are consecutive in the Responses format.
        let goes_on = api == Api::OpenAiResponses && item["type"] == "function_call";
        assert!(open.is_empty() || goes_on, "{open:?} had no result before {item} in {body}");
        for call in calls {
            // Gemini matches calls by their order.
            assert!(api == Api::Gemini || !known.contains(&call), "{call} is the id of two calls: {body}");
            known.push(call.clone());
            open.push(call);
        }
        for list in ["content", "parts"].iter().filter_map(|name| item[*name].as_array()) {
            assert!(!list.is_empty(), "an empty message: {body}");
        }
        let texts = ["content", "parts"].iter().filter_map(|name| item[*name].as_array()).flatten();
        for text in texts.filter_map(|part| part["text"].as_str()).chain(item["content"].as_str()) {
            assert!(!text.is_empty(), "an empty text: {body}");
        }
    }
    assert!(open.is_empty(), "{open:?} had no result in {body}");
}

fn calls_and_results(api: Api, item: &Value) -> (Vec<String>, Vec<String>) {
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parts = |name: &str| item[name].as_array().cloned().unwrap_or_default();
    match api {
        Api::AnthropicMessages => {
            let of = |kind: &str, field: &str| {
                parts("content").iter().filter(|part| part["type"] == kind).map(|part| id(&part[field])).collect()
            };
            (of("tool_use", "id"), of("tool_result", "tool_use_id"))
        }
        Api::OpenAiResponses => {
            let of = |kind: &str| if item["type"] == kind { vec![id(&item["call_id"])] } else { Vec::new() };
            (of("function_call"), of("function_call_output"))
        }
        Api::OpenAiChat => {
            let calls = parts("tool_calls").iter().map(|call| id(&call["id"])).collect();
            (calls, if item["role"] == "tool" { vec![id(&item["tool_call_id"])] } else { Vec::new() })
        }
        Api::Gemini => {
            // Calls and results are matched by order and name.
            let of = |field: &str| {
                let parts = parts("parts");
                parts.iter().filter_map(|part| part.get(field)).map(|call| id(&call["name"])).collect()
            };
            (of("functionCall"), of("functionResponse"))
        }
    }
}
