//! Entries of the history: a message with its kind, time and cost, and its size in characters.

use emend_llm::{ContentPart, Message, Role, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a history entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistoryEntryKind {
    /// A message of the user.
    User,
    /// A response of the model.
    Assistant,
    /// The results of the response's tool calls.
    ToolResults,
    /// Instructions of the application.
    System,
    /// A steering message, added during a run; the model reads it as a user message.
    Steering,
    /// A message of the host for the model, such as a change of the canvas. The model reads it as a user message, and
    /// hosts do not show it unless the user asks for it.
    Hidden,
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryEntry {
    /// The kind.
    pub kind: HistoryEntryKind,
    /// Time of the addition in milliseconds since 1970.
    pub at_ms: u64,
    /// The message for the model.
    pub message: Message,
    /// Token usage, for a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The provider's id of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl HistoryEntry {
    /// Returns an entry without the fields that only responses have.
    #[must_use]
    pub fn new(kind: HistoryEntryKind, at_ms: u64, message: Message) -> Self {
        Self { kind, at_ms, message, usage: None, response_id: None }
    }

    /// Returns the entry for a bare message.
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

/// Estimate of characters per token.
pub(crate) const CHARS_PER_TOKEN: u64 = 4;
/// Characters that an image or another medium counts for. Providers charge media by their dimensions, not their bytes.
const MEDIA_CHARS: u64 = 6_000;

/// Returns the number of characters that a message counts for.
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
