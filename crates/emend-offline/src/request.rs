//! Requests in the Messages wire format, as a provider reads them.
//!
//! Only the fields that the model needs are read. Everything else in a request is accepted and ignored.

use std::collections::HashMap;

use serde_json::Value;

use crate::step::ToolResult;
use crate::tool_names::{self, Tool};

/// The contents of a request.
pub(crate) struct Conversation {
    /// All system texts, joined.
    pub(crate) system: String,
    /// The messages in order.
    pub(crate) messages: Vec<Message>,
    /// The offered tools.
    pub(crate) tools: Vec<Tool>,
    /// Limit of the response, in tokens.
    pub(crate) max_tokens: Option<u64>,
    pub(crate) stream: bool,
    pub(crate) input_tokens: u64,
}

/// One message.
pub(crate) enum Message {
    /// A user message: its texts, if any, and tool results.
    User {
        /// The text blocks in order. Neighbouring messages of the user reach the model as blocks of one.
        texts: Vec<String>,
        /// Results by call id.
        results: HashMap<String, ToolResult>,
    },
    /// A response of the model: the calls it made.
    Assistant(Vec<ToolCall>),
}

/// A tool call of an earlier response.
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
}

impl Conversation {
    /// Parses a request body.
    ///
    /// # Errors
    ///
    /// A text that names the invalid part.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
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
            tools: tool_names::tools(
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
            Ok(Message::User { texts: texts_of(content), results: results.collect() })
        }
        Some("assistant") => {
            let calls = of_kind("tool_use").map(|block| {
                let (name, input) =
                    tool_names::to_canonical(block["name"].as_str().unwrap_or_default(), &block["input"]);
                ToolCall { id: block["id"].as_str().unwrap_or_default().to_owned(), name, input }
            });
            Ok(Message::Assistant(calls.collect()))
        }
        // Some models accept system messages between others; they contain no instruction for this model.
        Some("system") => Ok(Message::User { texts: Vec::new(), results: HashMap::new() }),
        _ => Err(format!("messages.{index}.role: must be user or assistant")),
    }
}

/// Returns the text of a content value. Text blocks are joined by line feeds.
fn text_of(content: &Value) -> String {
    texts_of(content).join("\n")
}

/// Returns the texts of a content value: a string, or the text blocks of an array.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Returns the text of a tool result. Some profiles wrap it in an envelope: `{"ok": .., "data": {"output": ..}}`, or
/// with `"error": {"message": ..}`.
fn unwrapped(text: String) -> String {
    let envelope = || serde_json::from_str::<Value>(&text).ok().filter(|value| value["ok"].is_boolean());
    let inner = text.starts_with('{').then(envelope).flatten().and_then(|value| {
        let texts = [&value["data"]["output"], &value["error"]["message"]];
        texts.into_iter().find_map(Value::as_str).map(str::to_owned)
    });
    inner.unwrap_or(text)
}

/// Returns the estimated tokens of a text with `chars` characters.
pub(crate) fn tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}
