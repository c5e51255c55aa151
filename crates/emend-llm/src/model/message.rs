//! Messages: a role and its content parts.

use serde::{Deserialize, Serialize};

use super::content::{ContentPart, ToolCall, ToolResult};
use super::parts::Parts;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the application, usually first.
    System,
    /// Input of the user.
    User,
    /// Output of the model.
    Assistant,
    /// Results of tool calls.
    Tool,
    /// Instructions with a higher rank than the user's, where the provider knows the role.
    Developer,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The parts in order. Copies of a message share them.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<super::ContentPart>))]
    pub content: Parts,
    /// Name of the author, for providers that take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// Returns a message of `role` with one text part.
    pub fn text_of(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: vec![ContentPart::Text { text: text.into() }].into(), name: None }
    }

    /// Returns a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::text_of(Role::System, text)
    }

    /// Returns a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Role::User, text)
    }

    /// Returns an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text_of(Role::Assistant, text)
    }

    /// Returns one tool message that carries all `results`, in call order.
    #[must_use]
    pub fn tool_results(results: Vec<ToolResult>) -> Self {
        Self { role: Role::Tool, content: results.into_iter().map(ContentPart::ToolResult).collect(), name: None }
    }

    /// Returns the concatenation of all text parts.
    #[must_use]
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|part| if let ContentPart::Text { text } = part { Some(text.as_str()) } else { None })
            .collect()
    }

    /// Returns the tool calls in order.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<&ToolCall> {
        self.content
            .iter()
            .filter_map(|part| if let ContentPart::ToolCall(call) = part { Some(call) } else { None })
            .collect()
    }

    /// Returns the concatenated reasoning text, if there is any.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(
                |part| if let ContentPart::Thinking(thinking) = part { Some(thinking.text.as_str()) } else { None },
            )
            .collect();
        (!texts.is_empty()).then(|| texts.concat())
    }
}
