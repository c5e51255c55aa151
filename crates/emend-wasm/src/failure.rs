//! Failures on their way to JavaScript: plain objects that name the error class to throw.

use emend_agent::error_code::Code;
use emend_agent::event::ErrorInfo;
use serde::Serialize;
#[cfg(any(feature = "edit", feature = "llm"))]
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

/// A failure of a call. The JavaScript layer turns it into an instance of `class`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Failure {
    class: &'static str,
    #[serde(flatten)]
    info: ErrorInfo,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let info = ErrorInfo { code: code.as_str(), message: message.into(), suggestions: Vec::new(), data: None };
        Self { class: code.row().js_class, info, retryable: false }
    }

    /// Returns the failure of an invalid argument.
    #[cfg(any(feature = "edit", feature = "llm"))]
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Returns the failure of an argument with the wrong form; `what` begins the message, e.g. "the options are".
    #[cfg(any(feature = "edit", feature = "llm"))]
    pub(crate) fn argument(what: &str, error: &serde_json::Error) -> Self {
        Self::invalid(format!("{what} wrong: {}", without_place(error)))
    }

    /// Returns the failure of a broken assumption inside Emend.
    #[cfg(any(feature = "edit", feature = "llm"))]
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Returns the failure of a rejected patch, with the complete reason as data.
    #[cfg(feature = "edit")]
    pub(crate) fn of_edit(error: &emend_edit::patch::EditError) -> Self {
        let mut failure = Self::new(error.code().into(), error.to_string());
        failure.info.suggestions = error.suggestions();
        failure.info.data = serde_json::to_value(error).ok().map(camel);
        failure
    }

    #[cfg(feature = "llm")]
    pub(crate) fn with_retryable(self, retryable: bool) -> Self {
        Self { retryable, ..self }
    }

    #[cfg(any(feature = "edit", feature = "llm"))]
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.info.data = Some(data);
        self
    }

    #[cfg(any(test, feature = "service"))]
    pub(crate) fn message(&self) -> &str {
        &self.info.message
    }

    pub(crate) fn into_js(self) -> JsValue {
        self.serialize(&Serializer::json_compatible()).unwrap_or_else(|error| error.into())
    }
}

/// Returns the message of a JSON error without its position, which means nothing to a caller who passed an object.
#[cfg(any(feature = "agent", feature = "edit", feature = "llm"))]
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    reason.split(" at line ").next().unwrap_or(&reason).to_owned()
}

/// Converts the names in a JSON value to camel case: `n_lines` becomes `nLines`.
#[cfg(feature = "edit")]
fn camel(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(camel).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (camel_name(&name), camel(value))).collect(),
        other => other,
    }
}

#[cfg(feature = "edit")]
fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name.push_str(&initial.to_ascii_uppercase());
        name.push_str(rest);
        name
    })
}

/// Returns the name of the class for errors with `code`.
#[wasm_bindgen(js_name = errorClass)]
pub fn error_class(code: &str) -> String {
    let known = Code::ALL.iter().find(|known| known.as_str() == code);
    known.map_or("EmendError", |known| known.row().js_class).to_owned()
}

#[cfg(feature = "agent")]
mod of_agent {
    //! Failures of the agent.

    use emend_agent::environment::EnvError;
    use emend_agent::event::ResyncRequired;
    use emend_agent::search::MatcherError;
    use emend_agent::session::{ResumeError, SubmitError};
    use emend_agent::store::StoreError;
    use emend_agent::tool::ToolError;
    use emend_agent::workspace::{ReviewError, WorkspaceError};
    use serde_json::{Map, Value, json};

    use super::Failure;

    impl From<ToolError> for Failure {
        fn from(error: ToolError) -> Self {
            Self { info: error.info(), ..Self::new(error.code, String::new()) }
        }
    }

    impl From<MatcherError> for Failure {
        fn from(error: MatcherError) -> Self {
            Self::new(error.code, error.message)
        }
    }

    impl From<EnvError> for Failure {
        fn from(error: EnvError) -> Self {
            ToolError::from(error).into()
        }
    }

    impl From<WorkspaceError> for Failure {
        fn from(error: WorkspaceError) -> Self {
            ToolError::from(error).into()
        }
    }

    impl From<ReviewError> for Failure {
        fn from(error: ReviewError) -> Self {
            let named = |name: &str, value: &str, counts: &[(&str, usize)]| {
                let mut data = Map::new();
                data.insert(name.to_owned(), value.into());
                data.extend(counts.iter().map(|&(name, count)| (name.to_owned(), count.into())));
                Some(Value::Object(data))
            };
            let data = match &error {
                ReviewError::HasDependents { path, n_dependents, from_user } => {
                    named("path", path.as_str(), &[("dependents", *n_dependents), ("fromUser", *from_user)])
                }
                ReviewError::Contested { path, n_places } => named("path", path.as_str(), &[("contested", *n_places)]),
                ReviewError::UnknownHunk { id } => named("id", id, &[]),
                ReviewError::Workspace(error) => return error.clone().into(),
                _ => None,
            };
            ToolError { data, ..ToolError::new(error.code(), error.to_string()) }.into()
        }
    }

    impl From<StoreError> for Failure {
        fn from(error: StoreError) -> Self {
            Self::new(error.code(), error.to_string())
        }
    }

    impl From<ResumeError> for Failure {
        fn from(error: ResumeError) -> Self {
            Self::new(error.code(), error.to_string())
        }
    }

    impl From<ResyncRequired> for Failure {
        fn from(error: ResyncRequired) -> Self {
            let data = Some(json!({ "floor": error.floor, "last": error.last }));
            ToolError { data, ..ToolError::new(error.code(), error.to_string()) }.into()
        }
    }

    impl From<SubmitError> for Failure {
        fn from(error: SubmitError) -> Self {
            Self::new(error.code(), error.to_string())
        }
    }
}
