//! The conversation as the session keeps it: turns with their time and cost, how large it is, and whether it is valid.
//!
//! A history is valid when each message with tool calls is followed at once by one message with exactly one result for
//! each, in order. Providers refuse anything else, so every change of a history keeps it so.

use emend_llm::{ContentPart, Message, Role, ToolResult, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error_code::Code;
use crate::tool::{ResultForm, ToolError};

/// What an entry of the conversation is (S2 §2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
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
pub struct Turn {
    /// What it is.
    pub kind: TurnKind,
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

impl Turn {
    /// Returns an entry without the facts that only answers have.
    #[must_use]
    pub fn new(kind: TurnKind, at_ms: u64, message: Message) -> Self {
        Self { kind, at_ms, message, usage: None, response_id: None }
    }

    /// Returns the entry that a bare message stands for.
    #[must_use]
    pub fn of_message(message: Message) -> Self {
        let kind = match message.role {
            Role::User => TurnKind::User,
            Role::Assistant => TurnKind::Assistant,
            Role::Tool => TurnKind::ToolResults,
            Role::System | Role::Developer => TurnKind::System,
        };
        Self::new(kind, 0, message)
    }
}

/// The conversation of one session.
#[derive(Default)]
pub(crate) struct History {
    turns: Vec<Turn>,
    chars: u64,
    /// Answers of the whole session, those no longer in `turns` included.
    n_answers: u64,
    /// Counts how often turns were replaced; between two replacements `turns` only grows.
    generation: u64,
}

impl History {
    pub(crate) fn new(turns: Vec<Turn>) -> Self {
        let n_answers = turns.iter().filter(|turn| turn.kind == TurnKind::Assistant).count() as u64;
        Self { chars: n_chars(&turns), turns, n_answers, generation: 0 }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    pub(crate) fn n_answers(&self) -> u64 {
        self.n_answers
    }

    /// Returns whether a call has this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        let parts = self.turns.iter().flat_map(|turn| &turn.message.content);
        parts.into_iter().any(|part| matches!(part, ContentPart::ToolCall(call) if call.id == id))
    }

    /// Returns about how many tokens the conversation is: four characters each (S2 §5.5).
    pub(crate) fn tokens(&self) -> u64 {
        self.chars / CHARS_PER_TOKEN
    }

    pub(crate) fn push(&mut self, turn: Turn) {
        self.chars += chars_of(&turn.message);
        self.n_answers += u64::from(turn.kind == TurnKind::Assistant);
        self.turns.push(turn);
    }

    /// Puts other turns in place of all, as a context strategy does. What was answered stays counted.
    pub(crate) fn replace(&mut self, turns: Vec<Turn>) {
        self.chars = n_chars(&turns);
        self.turns = turns;
        self.generation += 1;
    }
}

fn n_chars(turns: &[Turn]) -> u64 {
    turns.iter().map(|turn| chars_of(&turn.message)).sum()
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

/// Returns whether every tool call has exactly one result, in order, in the very next message, and no result is
/// without its call.
#[must_use]
pub fn is_valid(turns: &[Turn]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for turn in turns {
        let results = results_of(&turn.message);
        if !open.is_empty() || !results.is_empty() {
            if results != open || results.len() != turn.message.content.len() {
                return false;
            }
            open.clear();
            continue;
        }
        open = turn.message.tool_calls().iter().map(|call| call.id.as_str()).collect();
    }
    open.is_empty()
}

fn results_of(message: &Message) -> Vec<&str> {
    let parts = message.content.iter();
    let ids = parts.filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result.tool_call_id.as_str()),
        _ => None,
    });
    ids.collect()
}

/// Makes a conversation valid that was cut off somewhere: calls without a result are answered by `why_lost`, in this
/// form; results without a call are dropped.
#[must_use]
pub fn repaired(turns: Vec<Turn>, why_lost: &str, form: ResultForm) -> Vec<Turn> {
    if is_valid(&turns) {
        return turns;
    }
    let mut valid: Vec<Turn> = Vec::with_capacity(turns.len() + 1);
    let mut turns = turns.into_iter().peekable();
    while let Some(turn) = turns.next() {
        if turn.kind == TurnKind::ToolResults {
            continue;
        }
        let calls: Vec<_> = turn.message.tool_calls().into_iter().cloned().collect();
        let called_at_ms = turn.at_ms;
        valid.push(turn);
        if calls.is_empty() {
            continue;
        }
        let arrived = turns.next_if(|next| next.kind == TurnKind::ToolResults);
        let at_ms = arrived.as_ref().map_or(called_at_ms, |next| next.at_ms);
        let arrived = arrived.map(|next| next.message.content).unwrap_or_default();
        let result_of = |id: &str| {
            arrived.iter().find_map(|part| match part {
                ContentPart::ToolResult(result) if result.tool_call_id == id => Some(result.clone()),
                _ => None,
            })
        };
        let results =
            calls.iter().map(|call| result_of(&call.id).unwrap_or_else(|| refusal(call, why_lost, form))).collect();
        valid.push(Turn::new(TurnKind::ToolResults, at_ms, Message::tool_results(results)));
    }
    valid
}

/// Returns the result of a call that was not run.
pub(crate) fn refusal(call: &emend_llm::ToolCall, why: &str, form: ResultForm) -> ToolResult {
    let content = match form {
        ResultForm::Text => Value::from(why),
        ResultForm::Envelope => form.failed(&call.name, &ToolError::new(Code::Aborted, why), str::to_owned),
    };
    result(call, content, true)
}

/// Returns the result of a call.
pub(crate) fn result(call: &emend_llm::ToolCall, content: Value, is_error: bool) -> ToolResult {
    ToolResult { tool_call_id: call.id.clone(), name: call.name.clone(), content, is_error, image: None }
}
