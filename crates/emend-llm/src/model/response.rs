//! Complete responses of a model: message, finish reason, token counts, warnings.

use std::ops::Add;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::message::Message;

/// The reason why generation ended, the same for all providers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishKind {
    /// The model was done.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// The model wants tools called.
    ToolCalls,
    /// A content filter blocked the response.
    ContentFilter,
    /// Generation failed.
    Error,
    /// The provider paused. Sending the response back unchanged continues it.
    Pause,
    /// A reason of the provider without an equivalent here.
    Other,
}

/// The reason why generation ended, and the provider's name for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FinishReason {
    /// The reason, the same for all providers.
    pub reason: FinishKind,
    /// The provider's own name for the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Token counts. `input_tokens` includes cached tokens, also where the provider's own count does not.
///
/// Serialises with the field `total_tokens`, their sum, which is ignored when it is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Usage {
    /// Tokens in the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens generated, reasoning included.
    pub output_tokens: u64,
    /// Tokens generated as reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens served from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The provider's own counts, as received.
    pub raw: Option<Value>,
}

impl Usage {
    /// Returns the sum of input and output tokens.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("input_tokens", &self.input_tokens)?;
        map.serialize_entry("output_tokens", &self.output_tokens)?;
        map.serialize_entry("total_tokens", &self.total_tokens())?;
        for (name, count) in [
            ("reasoning_tokens", self.reasoning_tokens),
            ("cache_read_tokens", self.cache_read_tokens),
            ("cache_write_tokens", self.cache_write_tokens),
        ] {
            if let Some(count) = count {
                map.serialize_entry(name, &count)?;
            }
        }
        if let Some(raw) = &self.raw {
            map.serialize_entry("raw", raw)?;
        }
        map.end()
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

/// A problem that did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// Text for the user.
    pub message: String,
    /// Stable code, e.g. `unsupported_parameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The rate limits that the provider reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RateLimitInfo {
    /// Requests left in the current window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_remaining: Option<u64>,
    /// Requests per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_limit: Option<u64>,
    /// Tokens left in the current window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_remaining: Option<u64>,
    /// Tokens per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// The end of the window, as the provider wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<String>,
}

/// The complete response of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Response {
    /// The provider's id of the response.
    pub id: String,
    /// The model that responded.
    pub model: String,
    /// Name of the provider that responded.
    pub provider: String,
    /// The message of the model; its role is assistant.
    pub message: Message,
    /// The reason why generation ended.
    pub finish_reason: FinishReason,
    /// Token counts of this call.
    pub usage: Usage,
    /// Problems that did not stop the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Rate limits from the response headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitInfo>,
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::testing::covers;

    fn usage(counts: [u64; 2], known: [Option<u64>; 3]) -> Usage {
        let [input_tokens, output_tokens] = counts;
        let [reasoning_tokens, cache_read_tokens, cache_write_tokens] = known;
        Usage { input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens, raw: None }
    }

    #[test]
    fn token_counts_are_added_each_to_its_own_kind() {
        covers("usage.normalized");
        let first = usage([100, 20], [Some(3), Some(40), Some(5)]);
        let second = usage([1_000, 200], [Some(30), Some(400), Some(50)]);
        assert_eq!(first.clone() + second, usage([1_100, 220], [Some(33), Some(440), Some(55)]));
        // A count that one provider does not report is not a zero of the other.
        assert_eq!(first.clone() + usage([1, 1], [None; 3]), usage([101, 21], [Some(3), Some(40), Some(5)]));
        assert_eq!(
            usage([1, 1], [None; 3]) + usage([1, 1], [None, Some(2), None]),
            usage([2, 2], [None, Some(2), None])
        );
        let raw = Usage { raw: Some(Value::from(1)), ..usage([1, 1], [None; 3]) };
        assert_eq!((raw.clone() + raw).raw, None, "the provider's own counts belong to one call");
    }
}
