//! Tools for [`generate`](crate::generate): a definition and, for active tools, a handler.

use std::future::Future;

use serde_json::Value;

use crate::model::{Message, ToolCall, ToolDefinition};
use crate::runtime::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

/// The context of a call, beside its arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// The conversation up to the call.
    pub messages: Shared<Vec<Message>>,
    /// Fires when the caller cancels.
    pub cancel: CancelToken,
    /// Id of the call.
    pub tool_call_id: String,
}

/// The code of an active tool.
pub trait ToolHandler: MaybeSend + MaybeSync {
    /// Runs the tool with arguments that match its schema.
    ///
    /// # Errors
    ///
    /// A text for the model, which may correct its call.
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

/// Repairs the arguments of a call that do not match the tool's schema.
pub trait ToolCallRepair: MaybeSend + MaybeSync {
    /// Returns repaired arguments, or `None`. `problem` describes the mismatch.
    fn repair(&self, call: &ToolCall, problem: &str) -> BoxFuture<'static, Option<Value>>;
}

/// A tool for [`generate`](crate::generate), active or passive.
#[derive(Clone)]
pub struct Tool {
    definition: ToolDefinition,
    handler: Option<Shared<dyn ToolHandler>>,
}

/// The reason why a tool definition is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Some provider would reject the name.
    #[error("{name:?} is not a valid tool name: use a letter, then letters, digits or _, at most 64 characters")]
    Name {
        /// The rejected name.
        name: String,
    },
    /// The parameters do not describe an object.
    #[error("the parameters of {name} must be a JSON Schema with \"type\": \"object\" at its root")]
    Parameters {
        /// Name of the tool.
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

/// The longest tool name that all providers accept, in characters.
const NAME_CHARS_MAX: usize = 64;

impl Tool {
    /// Returns a passive tool: its calls are returned to the caller.
    ///
    /// # Errors
    ///
    /// [`ToolError`] if some provider would reject the definition.
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

    /// Returns the handler of an active tool.
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
    fn tool_definitions_must_suit_every_provider() {
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
