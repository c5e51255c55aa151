//! Asking the user: `clarify_user`. The call only puts the question; the session then waits, and the user's next message
//! is the answer.

use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{schema, text_argument};
use crate::error_code::Code;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

const PARAMETERS: &str = r#"{"type": "object", "properties": {
  "question": {"type": "string", "description": "The question."},
  "options": {"type": "array", "items": {"type": "string"},
    "description": "Likely answers, best first. The user may answer something else."}},
  "required": ["question"]}"#;

/// Puts a question to the user and ends the turn.
pub struct ClarifyUser;

impl Tool for ClarifyUser {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "clarify_user".to_owned(),
            description: "Asks the user one question and waits for the answer. Use it only when you cannot go on well \
                          without knowing and cannot find out yourself. Offer the likely answers as options."
                .to_owned(),
            parameters: schema(PARAMETERS),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Asks
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let question = text_argument(arguments, "question").trim();
        let outcome = if question.is_empty() {
            Err(ToolError::new(Code::InvalidArgument, "question is empty; write what you want to know"))
        } else {
            let options = arguments.get("options").cloned().unwrap_or_else(|| json!([]));
            Ok(ToolOutput::new(
                "The question was put to the user. Their next message is the answer.",
                json!({ "question": question, "options": options }),
            ))
        };
        Box::pin(std::future::ready(outcome))
    }
}
