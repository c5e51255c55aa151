//! The input of a generation: prompt, tools, limits, conditions.

use super::result::StepResult;
use super::tool::{Tool, ToolCallRepair};
use crate::client::RetryPolicy;
use crate::model::{Message, Request};
use crate::runtime::{CancelToken, MaybeSend, MaybeSync, Shared};

/// Decides after each round of tools whether to stop.
pub trait StopCondition: MaybeSend + MaybeSync {
    /// Returns whether the steps so far are enough.
    fn stop(&self, steps: &[StepResult]) -> bool;
}

impl<F: Fn(&[StepResult]) -> bool + MaybeSend + MaybeSync> StopCondition for F {
    fn stop(&self, steps: &[StepResult]) -> bool {
        self(steps)
    }
}

/// Time limits in milliseconds. An absent limit means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// Limit of the whole operation, with all steps and tools.
    pub total_ms: Option<u64>,
    /// Limit of one model call.
    pub per_step_ms: Option<u64>,
}

/// The input of [`Generator::generate`](super::Generator::generate) and [`Generator::stream`](super::Generator::stream).
#[derive(Clone, Default)]
pub struct Generate {
    /// All settings of the request except messages and tools, which the fields below replace.
    pub request: Request,
    /// One user message. Excludes `messages`.
    pub prompt: Option<String>,
    /// A whole conversation. Excludes `prompt`.
    pub messages: Option<Vec<Message>>,
    /// Instructions; the first message.
    pub system: Option<String>,
    /// Active and passive tools.
    pub tools: Vec<Tool>,
    /// The number of rounds of tool calls whose results are sent back; one if absent.
    pub max_tool_rounds: Option<u32>,
    /// Stops the loop early.
    pub stop_when: Option<Shared<dyn StopCondition>>,
    /// Repairs arguments that do not match their schema.
    pub repair_tool_call: Option<Shared<dyn ToolCallRepair>>,
    /// Retries of failed model calls, for each step on its own.
    pub retry: RetryPolicy,
    /// Time limits.
    pub timeout: TimeoutConfig,
    /// Cancels the whole operation.
    pub cancel: CancelToken,
}
