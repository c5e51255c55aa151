//! The results of a generation: steps, events, totals.

use serde_json::Value;

use crate::model::{FinishReason, Response, StreamEvent, ToolCall, ToolResult, Usage, Warning};

/// One model call and the results of the tools that it requested.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The response of the model.
    pub response: Response,
    /// Results of the tools, in the order of the calls; empty if no tool ran.
    pub tool_results: Vec<ToolResult>,
}

impl StepResult {
    /// Returns the text of the response.
    #[must_use]
    pub fn text(&self) -> String {
        self.response.message.text()
    }

    /// Returns the reasoning, if there is any.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        self.response.message.reasoning()
    }

    /// Returns the calls that the model requested.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<&ToolCall> {
        self.response.message.tool_calls()
    }

    /// Returns the reason why generation ended.
    #[must_use]
    pub fn finish_reason(&self) -> &FinishReason {
        &self.response.finish_reason
    }

    /// Returns the token counts of this step.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.response.usage
    }

    /// Returns the warnings of this step.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.response.warnings
    }
}

/// The result of all steps. Text, calls and finish reason are those of the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateResult {
    /// Every step, at least one.
    pub steps: Vec<StepResult>,
    /// The last step.
    pub last: StepResult,
    /// The sum of the token counts of all steps.
    pub total_usage: Usage,
    /// The parsed and validated value of [`generate_object`](super::Generator::generate_object).
    pub output: Option<Value>,
}

/// One item of [`Generator::stream`](super::Generator::stream).
#[derive(Clone, Debug, PartialEq)]
pub enum GenerateEvent {
    /// An event of the model. Each step has its own start and finish.
    Model(StreamEvent),
    /// A step ended and its tools have run.
    StepFinish(StepResult),
}
