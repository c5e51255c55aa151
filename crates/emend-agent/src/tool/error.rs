//! The result of a tool call that failed.

use serde_json::{Map, Value, json};

use super::names::ToolNames;
use crate::environment::EnvError;
use crate::error_code::{Code, HasCode};
use crate::event::ErrorInfo;
use crate::search::MatcherError;
use crate::workspace::{LATEST, Rejection, WorkspaceError, latest_state_text};

/// The result of a call that failed. The model sees it, and the run continues.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The stable code.
    pub code: Code,
    /// The problem, its place, and the next step.
    pub message: String,
    /// Alternatives to try, best first.
    pub suggestions: Vec<String>,
    /// Details for hosts. The model sees only the `latest_file_state` in it, as text.
    pub data: Option<Value>,
    /// Canonical name of a tool that suits the request better. The session appends its exposed name to the message.
    pub better_tool: Option<&'static str>,
}

impl ToolError {
    /// Returns an error without suggestions.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestions: Vec::new(), data: None, better_tool: None }
    }

    /// Sets the suggestions.
    #[must_use]
    pub fn with_suggestions(mut self, suggestions: Vec<String>) -> Self {
        self.suggestions = suggestions;
        self
    }

    /// Appends the exposed name of the [better tool](Self::better_tool) to the message.
    #[must_use]
    pub(crate) fn naming(mut self, names: &ToolNames) -> Self {
        if let Some(tool) = self.better_tool.take() {
            self.message.push_str(&format!(", or use {}", names.tool(tool)));
        }
        self
    }

    /// Returns the error as events show it.
    #[must_use]
    pub fn info(&self) -> ErrorInfo {
        ErrorInfo {
            code: self.code.as_str(),
            message: self.message.clone(),
            suggestions: self.suggestions.clone(),
            data: self.data.clone(),
        }
    }

    /// Returns the text that the model sees: the message, the suggestions, and last the current state of a file that the
    /// error shows.
    #[must_use]
    pub fn text(&self) -> String {
        let asks = matches!(self.code, Code::NotFound | Code::UnknownTool);
        let text = match self.suggestions.as_slice() {
            [] => self.message.clone(),
            [one] if asks => format!("{}\nDid you mean {one}?", self.message),
            many if asks => format!("{}\nDid you mean one of {}?", self.message, many.join(", ")),
            advice => format!("{}\nTry: {}", self.message, advice.join("; ")),
        };
        match self.data.as_ref().and_then(latest_state_text) {
            Some(state) => format!("{text}\n{state}"),
            None => text,
        }
    }
}

impl From<EnvError> for ToolError {
    fn from(error: EnvError) -> Self {
        let data = match &error {
            EnvError::OutsideRoot { decision, .. } => Some(json!({ "sandbox": decision })),
            _ => None,
        };
        let better_tool = matches!(error, EnvError::IsDirectory { .. }).then_some("list_dir");
        let (message, suggestions) = (error.to_string(), error.suggestions());
        Self { code: error.code(), message, suggestions, data, better_tool }
    }
}

impl HasCode for ToolError {
    fn code(&self) -> Code {
        self.code
    }
}

impl From<MatcherError> for ToolError {
    fn from(error: MatcherError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Environment(error) => error.into(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl<E: Into<ToolError>> From<Rejection<E>> for ToolError {
    fn from(rejection: Rejection<E>) -> Self {
        let mut error: Self = rejection.error.into();
        if let Some(latest) = rejection.latest {
            let mut data = match error.data {
                Some(Value::Object(data)) => data,
                _ => Map::new(),
            };
            data.insert(LATEST.to_owned(), latest.state());
            error.data = Some(Value::Object(data));
        }
        if error.suggestions.is_empty() {
            error.suggestions = rejection.suggestions;
        }
        error
    }
}
