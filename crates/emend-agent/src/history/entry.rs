//! Entries of the history: a message with its kind, time and cost, and its size in characters.

use emend_llm::{ContentPart, Message, Role, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an entry of the conversation is (S2 §2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEntryKind {
    /// The user's message.
    User,
    /// The model's answer.
    Assistant,
    /// The results of the answer's tool calls.
    ToolResults,
    /// Instructions of the application.
    System,
    /// A message put in while the model works; it goes to the model as the user's.
    Steering,
}

/// One entry of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// What it is.
    pub kind: HistoryEntryKind,
    /// When it was added, in milliseconds since 1970.
    pub at_ms: u64,
    /// What the model is sent.
    pub message: Message,
    /// What an answer cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The provider's id of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl HistoryEntry {
    /// Returns an entry without the facts that only answers have.
    #[must_use]
    pub fn new(kind: HistoryEntryKind, at_ms: u64, message: Message) -> Self {
        Self { kind, at_ms, message, usage: None, response_id: None }
    }

    /// Returns the entry that a bare message stands for.
    #[must_use]
    pub fn of_message(message: Message) -> Self {
        let kind = match message.role {
            Role::User => HistoryEntryKind::User,
            Role::Assistant => HistoryEntryKind::Assistant,
            Role::Tool => HistoryEntryKind::ToolResults,
            Role::System | Role::Developer => HistoryEntryKind::System,
        };
        Self::new(kind, 0, message)
    }
}

pub(super) fn n_chars(entries: &[HistoryEntry]) -> u64 {
    entries.iter().map(|entry| chars_of(&entry.message)).sum()
}

/// The rule of thumb for tokens.
pub(crate) const CHARS_PER_TOKEN: u64 = 4;
/// What an image or another medium counts for: providers charge by its size in pixels, not by its bytes.
const MEDIA_CHARS: u64 = 6_000;

/// Returns how many characters a message has for the model.
pub(crate) fn chars_of(message: &Message) -> u64 {
    let count = |text: &str| text.chars().count() as u64;
    let json = |value: &Value| value.as_str().map_or_else(|| count(&value.to_string()), count);
    let part = |part: &ContentPart| match part {
        ContentPart::Text { text } => count(text),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::Document(_) => MEDIA_CHARS,
        ContentPart::ToolCall(call) => {
            count(&call.name) + call.raw_arguments.as_deref().map_or_else(|| json(&call.arguments), count)
        }
        ContentPart::ToolResult(result) => json(&result.content) + result.image.as_ref().map_or(0, |_| MEDIA_CHARS),
        ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => {
            count(&thinking.text) + thinking.signature.as_deref().map_or(0, count)
        }
        ContentPart::Provider { data, .. } => json(data),
    };
    message.content.iter().map(part).sum()
}
