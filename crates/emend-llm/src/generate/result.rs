//! The results of a generation: steps, events, totals.

use serde_json::Value;

use crate::model::{FinishReason, Response, StreamEvent, ToolCall, ToolResult, Usage, Warning};

/// One call of the model and the tools it asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The answer.
    pub response: Response,
    /// What the tools gave, in the order of the calls; empty if none were run.
    pub tool_results: Vec<ToolResult>,
}

impl StepResult {
    /// Returns the text of the answer.
    #[must_use]
    pub fn text(&self) -> String {
        self.response.message.text()
    }

    /// Returns the reasoning, if there is any.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        self.response.message.reasoning()
    }

    /// Returns the calls the model made.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<&ToolCall> {
        self.response.message.tool_calls()
    }

    /// Returns why the answer ended.
    #[must_use]
    pub fn finish_reason(&self) -> &FinishReason {
        &self.response.finish_reason
    }

    /// Returns the tokens of this step.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.response.usage
    }

    /// Returns what is worth knowing.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.response.warnings
    }
}

/// The result of all steps. Text, calls and such are those of the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateResult {
    /// Every step, at least one.
    pub steps: Vec<StepResult>,
    /// The last step.
    pub last: StepResult,
    /// The tokens of all steps together.
    pub total_usage: Usage,
    /// The parsed and checked object, from `generate_object`.
    pub output: Option<Value>,
}

/// What a stream of [`Generator::stream`] yields.
#[derive(Clone, Debug, PartialEq)]
pub enum GenerateEvent {
    /// The model's own event. Each step has its own start and finish.
    Model(StreamEvent),
    /// A step is over and its tools have run.
    StepFinish(StepResult),
}
