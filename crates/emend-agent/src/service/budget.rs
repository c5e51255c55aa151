//! Limits on the use of models, and the use so far.

use serde::{Deserialize, Serialize};

/// Limits on the use of models. A limit of 0 means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Maximum tokens of requests and responses.
    pub tokens: u64,
    /// Maximum cost in US dollars at list price.
    pub cost_usd: f64,
    /// Maximum duration in milliseconds. The wait for a decision on a tool call counts, that for an answer to a question does
    /// not.
    pub duration_ms: u64,
}

impl Budget {
    /// Returns the name of a limit that is used up, if one is.
    #[must_use]
    pub fn used_up(&self, spent: &Spent) -> Option<&'static str> {
        let over = |limit: u64, used: u64| limit > 0 && used >= limit;
        if over(self.tokens, spent.total_tokens) {
            Some("tokens")
        } else if self.cost_usd > 0.0 && spent.cost_usd >= self.cost_usd {
            Some("cost_usd")
        } else if over(self.duration_ms, spent.duration_ms) {
            Some("duration_ms")
        } else {
            None
        }
    }

    /// Returns the smaller one of each limit.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        let least = |a: u64, b: u64| if a == 0 || b == 0 { a.max(b) } else { a.min(b) };
        let is_set = |cost: &f64| *cost > 0.0;
        let costs = [self.cost_usd, other.cost_usd].into_iter().filter(is_set);
        Self {
            tokens: least(self.tokens, other.tokens),
            cost_usd: costs.reduce(f64::min).unwrap_or_default(),
            duration_ms: least(self.duration_ms, other.duration_ms),
        }
    }
}

/// The use of models so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Spent {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of responses.
    pub output_tokens: u64,
    /// Sum of both.
    pub total_tokens: u64,
    /// Cost in US dollars at list price. Responses of models without a known price add nothing.
    pub cost_usd: f64,
    /// Duration of the runs in milliseconds, waits for a decision on a tool call included.
    pub duration_ms: u64,
}

impl Spent {
    /// Returns the use beyond another, at least 0 each.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            total_tokens: self.total_tokens.saturating_sub(other.total_tokens),
            cost_usd: (self.cost_usd - other.cost_usd).max(0.0),
            duration_ms: self.duration_ms.saturating_sub(other.duration_ms),
        }
    }

    /// Adds the use of a run.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.total_tokens += other.total_tokens;
        self.cost_usd += other.cost_usd;
        self.duration_ms += other.duration_ms;
    }
}
