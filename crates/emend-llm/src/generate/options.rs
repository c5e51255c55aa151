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

/// How long things may take, in milliseconds. Without a limit they may take forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// The whole operation, all steps and tools.
    pub total_ms: Option<u64>,
    /// One call of the model.
    pub per_step_ms: Option<u64>,
}

/// The input of [`Generator::generate`] and [`Generator::stream`].
#[derive(Clone, Default)]
pub struct Generate {
    /// Everything of the request but its messages and tools: those below replace its own.
    pub request: Request,
    /// A user message. Excludes `messages`.
    pub prompt: Option<String>,
    /// A conversation. Excludes `prompt`.
    pub messages: Option<Vec<Message>>,
    /// Instructions, put first.
    pub system: Option<String>,
    /// The tools, active or passive.
    pub tools: Vec<Tool>,
    /// How often tools are run and their results fed back; one round when absent.
    pub max_tool_rounds: Option<u32>,
    /// Stops the loop early.
    pub stop_when: Option<Shared<dyn StopCondition>>,
    /// Mends arguments that do not match.
    pub repair_tool_call: Option<Shared<dyn ToolCallRepair>>,
    /// How failed calls are repeated; each step on its own.
    pub retry: RetryPolicy,
    /// Time limits.
    pub timeout: TimeoutConfig,
    /// Cancels everything.
    pub cancel: CancelToken,
}
