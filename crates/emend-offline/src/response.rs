//! Responses in the Messages wire format, as a provider sends them.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::labels::MODEL;
use crate::request::{Conversation, tokens};
use crate::step::Step;
use crate::tool_names;

/// A response, split into the chunks in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireResponse {
    /// HTTP status code.
    pub status: u16,
    /// Value of the header `content-type`.
    pub content_type: &'static str,
    /// The body: one event each, or the whole error. Each chunk is valid UTF-8.
    pub chunks: VecDeque<String>,
}

/// Returns an error response of the provider.
pub(crate) fn error(status: u16, kind: &str, message: &str) -> WireResponse {
    whole(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
}

fn whole(status: u16, body: &Value) -> WireResponse {
    WireResponse { status, content_type: "application/json", chunks: VecDeque::from([body.to_string()]) }
}

/// Returns `step` as the response to `conversation`, streamed if the request asks for it.
pub(crate) fn encode(conversation: &Conversation, step: &Step) -> WireResponse {
    // Ids must be unique within a conversation, so they contain its length.
    let number = conversation.messages.len();
    let message_id = format!("msg_offline_{number:04}");
    let calls: Vec<(String, Value)> =
        step.calls.iter().map(|call| tool_names::to_exposed(&conversation.tools, call)).collect();
    let inputs: Vec<String> = calls.iter().map(|(_, input)| input.to_string()).collect();
    let chars = step.text.chars().count() + inputs.iter().map(|input| input.chars().count()).sum::<usize>();
    let reason = if step.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = |output_tokens: u64| {
        json!({
            "input_tokens": conversation.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens,
        })
    };
    let call_id = |index: usize| format!("toolu_offline_{number:04}_{index:02}");
    if !conversation.stream {
        let mut content = Vec::new();
        if !step.text.is_empty() {
            content.push(json!({"type": "text", "text": step.text}));
        }
        content.extend(calls.iter().enumerate().map(
            |(index, (name, input))| json!({"type": "tool_use", "id": call_id(index), "name": name, "input": input}),
        ));
        return whole(
            200,
            &json!({
                "id": message_id, "type": "message", "role": "assistant", "model": MODEL, "content": content,
                "stop_reason": reason, "stop_sequence": null, "usage": usage(tokens(chars)),
            }),
        );
    }
    let mut events = Events::default();
    events.push(json!({"type": "message_start", "message": {
        "id": message_id, "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    }}));
    events.push(json!({"type": "ping"}));
    if !step.text.is_empty() {
        events.block(json!({"type": "text", "text": ""}), "text_delta", "text", words_of(&step.text));
    }
    for (index, ((name, _), input)) in calls.iter().zip(&inputs).enumerate() {
        let start = json!({"type": "tool_use", "id": call_id(index), "name": name, "input": {}});
        // Providers send an empty piece first.
        let pieces = std::iter::once("").chain(pieces_of(input)).collect();
        events.block(start, "input_json_delta", "partial_json", pieces);
    }
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage(tokens(chars)),
    }));
    events.push(json!({"type": "message_stop"}));
    WireResponse { status: 200, content_type: "text/event-stream; charset=utf-8", chunks: events.chunks }
}

#[derive(Default)]
struct Events {
    chunks: VecDeque<String>,
    blocks: usize,
}

impl Events {
    fn push(&mut self, data: Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.chunks.push_back(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// Adds one content block: its start, a delta for each piece, its end.
    fn block(&mut self, start: Value, delta: &str, field: &str, pieces: Vec<&str>) {
        let index = self.blocks;
        self.blocks += 1;
        self.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for piece in pieces {
            self.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": delta, (field): piece}}));
        }
        self.push(json!({"type": "content_block_stop", "index": index}));
    }
}

/// Splits a text after its spaces, as a model streams words.
fn words_of(text: &str) -> Vec<&str> {
    text.split_inclusive([' ', '\n']).collect()
}

/// Splits argument JSON into at most sixteen pieces, so that a slowed-down response with a large edit ends soon.
fn pieces_of(json: &str) -> impl Iterator<Item = &str> {
    let size = (json.len() / 16).max(24);
    let mut rest = json;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
