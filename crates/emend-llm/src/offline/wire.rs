//! The provider's side of the Messages wire format: reads a request's conversation, writes an answer as SSE.
//!
//! Only what the stand-in needs is read; everything else in a request is accepted and ignored.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::MODEL;
use super::dialect::{self, Tool};
use super::turn::Step;

/// What a request says.
pub(super) struct Conversation {
    /// All system texts.
    pub(super) system: String,
    /// The messages in order.
    pub(super) messages: Vec<Message>,
    /// The tools on offer.
    pub(super) tools: Vec<Tool>,
    /// The largest answer, in tokens.
    pub(super) max_tokens: Option<u64>,
    stream: bool,
    input_tokens: u64,
}

/// One message.
pub(super) enum Message {
    /// What the user wrote, if anything, and the results that came with it.
    User {
        /// The text blocks, joined by line ends.
        text: String,
        /// Results by call id.
        results: HashMap<String, ToolResult>,
    },
    /// What the model answered: the calls it made.
    Assistant(Vec<ToolCall>),
}

/// A call the model made earlier.
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// What a call gave.
#[derive(Clone)]
pub(super) struct ToolResult {
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl Conversation {
    /// Reads a request body. The error says what is wrong with it.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let request: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
        let messages = request["messages"].as_array().ok_or("messages: an array is required")?;
        if messages.is_empty() {
            return Err("messages: at least one message is required".to_owned());
        }
        let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            system: text_of(&request["system"]),
            messages: messages
                .iter()
                .enumerate()
                .map(|(index, message)| parse_message(index, message))
                .collect::<Result<_, _>>()?,
            tools: dialect::tools(
                tools
                    .iter()
                    .filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool["input_schema"].clone())))
                    .collect(),
            ),
            max_tokens: request["max_tokens"].as_u64(),
            stream: request["stream"].as_bool().unwrap_or(false),
            input_tokens: tokens(String::from_utf8_lossy(body).chars().count()),
        })
    }
}

fn parse_message(index: usize, message: &Value) -> Result<Message, String> {
    let content = &message["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    match message["role"].as_str() {
        Some("user") => {
            let results = of_kind("tool_result").map(|block| {
                let result = ToolResult {
                    text: unwrapped(text_of(&block["content"])),
                    is_error: block["is_error"].as_bool().unwrap_or(false),
                };
                (block["tool_use_id"].as_str().unwrap_or_default().to_owned(), result)
            });
            Ok(Message::User { text: text_of(content), results: results.collect() })
        }
        Some("assistant") => {
            let calls = of_kind("tool_use").map(|block| {
                let (name, input) = dialect::understood(block["name"].as_str().unwrap_or_default(), &block["input"]);
                ToolCall { id: block["id"].as_str().unwrap_or_default().to_owned(), name, input }
            });
            Ok(Message::Assistant(calls.collect()))
        }
        // Some models take system messages in the middle; they carry no instruction here.
        Some("system") => Ok(Message::User { text: String::new(), results: HashMap::new() }),
        _ => Err(format!("messages.{index}.role: must be user or assistant")),
    }
}

/// Returns the text of a content value: a string, or the text blocks of an array.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the text of a tool's result that came in an envelope (S0 spec 5), as some profiles send it.
fn unwrapped(text: String) -> String {
    let envelope = || serde_json::from_str::<Value>(&text).ok().filter(|value| value["ok"].is_boolean());
    let inner = text.starts_with('{').then(envelope).flatten().and_then(|value| {
        let texts = [&value["data"]["output"], &value["error"]["message"]];
        texts.into_iter().find_map(Value::as_str).map(str::to_owned)
    });
    inner.unwrap_or(text)
}

/// Returns the tokens that so many characters count for.
fn tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}

/// A whole answer, cut into the pieces it is sent in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The value of `content-type`.
    pub content_type: &'static str,
    /// The body: an event each, or all of an error. Each piece is UTF-8 by itself.
    pub chunks: VecDeque<String>,
}

/// Returns an answer that is an error of the provider's.
pub(super) fn error(status: u16, kind: &str, message: &str) -> Answer {
    whole(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
}

fn whole(status: u16, body: &Value) -> Answer {
    Answer { status, content_type: "application/json", chunks: VecDeque::from([body.to_string()]) }
}

/// Returns `step` as the answer to `conversation`, streamed if it asked for that.
pub(super) fn encode(conversation: &Conversation, step: &Step) -> Answer {
    // Ids only need to be unique within a conversation, so its length makes them.
    let number = conversation.messages.len();
    let message_id = format!("msg_offline_{number:04}");
    let calls: Vec<(String, Value)> =
        step.calls.iter().map(|call| dialect::spelled(&conversation.tools, call)).collect();
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
    Answer { status: 200, content_type: "text/event-stream; charset=utf-8", chunks: events.chunks }
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

    /// Sends one content block: its start, a delta for each piece, its end.
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

/// Cuts a text behind its spaces, as a model streams words.
fn words_of(text: &str) -> Vec<&str> {
    text.split_inclusive([' ', '\n']).collect()
}

/// Cuts argument JSON into at most sixteen pieces, so that a paced answer does not take long over large edits.
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
