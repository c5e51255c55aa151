//! Steps of the model: a text and tool calls, and the results of earlier calls.

use serde_json::{Map, Value};

/// The result of a tool call.
#[derive(Clone)]
pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// The next step of the model: a text and tool calls. Without calls it ends the run.
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) calls: Vec<PlannedCall>,
}

impl Step {
    /// Returns the step that ends the run.
    pub(crate) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    /// Returns a step that calls tools.
    pub(crate) fn call(text: impl Into<String>, calls: Vec<PlannedCall>) -> Self {
        Self { text: text.into(), calls }
    }
}

/// A tool call that the model requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedCall {
    pub(crate) name: &'static str,
    pub(crate) input: Value,
}

impl PlannedCall {
    /// Returns a call of the tool `name`, without arguments that are null.
    pub(crate) fn new(name: &'static str, arguments: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let arguments = arguments.into_iter().filter(|(_, value)| !value.is_null());
        Self { name, input: arguments.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into() }
    }
}

/// A tool call that was made, with its result.
pub(crate) struct CompletedCall {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) result: ToolResult,
}

impl CompletedCall {
    /// Returns a text argument; empty if absent.
    pub(crate) fn argument(&self, name: &str) -> &str {
        self.input[name].as_str().unwrap_or_default()
    }
}
