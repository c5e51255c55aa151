//! Tools that [`generate`](crate::generate) can run: a definition and, if the tool is active, a handler.

use std::future::Future;

use serde_json::Value;

use crate::model::{Message, ToolCall, ToolDefinition};
use crate::runtime::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

/// What a handler may know besides its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The conversation up to the call.
    pub messages: Shared<Vec<Message>>,
    /// Fires when the caller gives up.
    pub cancel: CancelToken,
    /// The id of the call.
    pub tool_call_id: String,
}

/// Runs a tool.
pub trait ToolHandler: MaybeSend + MaybeSync {
    /// Runs the tool with arguments that match its schema. An error is told to the model, which may try again.
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, Result<Value, String>>;
}

impl<F, R> ToolHandler for F
where
    F: Fn(Value, ToolContext) -> R + MaybeSend + MaybeSync,
    R: Future<Output = Result<Value, String>> + MaybeSend + 'static,
{
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(self(arguments, context))
    }
}

/// Tries to mend the arguments of a call that does not match its schema.
pub trait ToolCallRepair: MaybeSend + MaybeSync {
    /// Returns better arguments, or nothing. `problem` says what is wrong with the ones there are.
    fn repair(&self, call: &ToolCall, problem: &str) -> BoxFuture<'static, Option<Value>>;
}

/// A tool for [`generate`](crate::generate).
#[derive(Clone)]
pub struct Tool {
    definition: ToolDefinition,
    handler: Option<Shared<dyn ToolHandler>>,
}

/// Why a tool cannot be defined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The name is not one that every provider takes.
    #[error("{name:?} is no tool name: a letter, then letters, digits or _, at most 64 in all")]
    Name {
        /// The name.
        name: String,
    },
    /// The parameters are not those of an object.
    #[error("the parameters of {name} must be a JSON Schema with \"type\": \"object\" at its root")]
    Parameters {
        /// The tool's name.
        name: String,
    },
}

impl ToolError {
    /// Returns the stable code. Codes never change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "tool_name",
            Self::Parameters { .. } => "tool_parameters",
        }
    }
}

/// The longest tool name that every provider takes.
const NAME_CHARS_MAX: usize = 64;

impl Tool {
    /// Returns a passive tool: its calls are handed to the caller.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if some provider would refuse the definition.
    pub fn passive(definition: ToolDefinition) -> Result<Self, ToolError> {
        let name = &definition.name;
        let first_is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let rest_is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !first_is_letter || !rest_is_plain || name.len() > NAME_CHARS_MAX {
            return Err(ToolError::Name { name: name.clone() });
        }
        if definition.parameters["type"] != "object" {
            return Err(ToolError::Parameters { name: name.clone() });
        }
        Ok(Self { definition, handler: None })
    }

    /// Returns an active tool: `handler` runs its calls.
    ///
    /// # Errors
    ///
    /// As [`passive`](Self::passive).
    pub fn active(definition: ToolDefinition, handler: impl ToolHandler + 'static) -> Result<Self, ToolError> {
        Ok(Self { handler: Some(Shared::new(handler)), ..Self::passive(definition)? })
    }

    /// Returns the definition that is sent to the model.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Returns what runs the tool's calls, if it is active.
    #[must_use]
    pub fn handler(&self) -> Option<&Shared<dyn ToolHandler>> {
        self.handler.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn names_and_parameters_are_what_every_provider_takes() {
        covers("tool.names");
        let define = |name: &str, parameters: Value| {
            let definition = ToolDefinition { name: name.into(), description: String::new(), parameters };
            Tool::passive(definition).map(drop)
        };
        for name in ["a", "read_file", "A1", &"x".repeat(64)] {
            assert_eq!(define(name, json!({"type": "object"})), Ok(()), "{name}");
        }
        for name in ["", "1a", "_a", "read-file", "é", &"x".repeat(65)] {
            assert_eq!(define(name, json!({"type": "object"})), Err(ToolError::Name { name: name.into() }));
        }
        assert_eq!(define("a", json!({"type": "string"})), Err(ToolError::Parameters { name: "a".into() }));
    }
}
