//! Complete responses of a model: message, finish reason, token counts, warnings.

use std::ops::Add;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::Message;

/// Why generation ended, unified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishKind {
    /// The model was done.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// The model wants tools called.
    ToolCalls,
    /// A filter blocked the answer.
    ContentFilter,
    /// Generation failed.
    Error,
    /// The provider paused the turn; sending it back unchanged goes on.
    Pause,
    /// The provider's own reason, not mapped.
    Other,
}

/// Why generation ended: the unified reason and the provider's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishReason {
    /// The unified reason.
    pub reason: FinishKind,
    /// The provider's own string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Token counts. `input_tokens` includes cached ones, whatever the provider's own counting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens in the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens generated, reasoning included.
    pub output_tokens: u64,
    /// Tokens spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens served from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The provider's own numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

impl Usage {
    /// Returns input plus output.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        Usage {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
            raw: None,
        }
    }
}

/// Something worth knowing that did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What happened.
    pub message: String,
    /// A stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What the provider said of its rate limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimitInfo {
    /// Requests left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_remaining: Option<u64>,
    /// Requests per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_limit: Option<u64>,
    /// Tokens left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_remaining: Option<u64>,
    /// Tokens per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// When the window resets, as the provider wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<String>,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The provider's id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// The provider that answered.
    pub provider: String,
    /// The answer; its role is assistant.
    pub message: Message,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Token counts.
    pub usage: Usage,
    /// What is worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Rate limits, from the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitInfo>,
}
