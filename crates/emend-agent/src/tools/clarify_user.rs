//! `clarify_user`: a question to the user. The run ends after the call, and the user's next message is the answer: free
//! text, one of the options, one line `NAME: ANSWER` per field, or [`NO_USER_ANSWER`]. There is no time limit.

use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{schema, text_argument};
use crate::error_code::Code;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

const PARAMETERS: &str = r#"{"type": "object", "properties": {
  "question": {"type": "string", "description": "The question."},
  "options": {"type": "array", "items": {"type": "string"},
    "description": "Likely answers, best first. The user may give another answer."},
  "fields": {"type": "array", "description": "For several values at once. The answer has a line `NAME: ANSWER` for each.",
    "items": {"type": "object", "required": ["name", "label"], "properties": {
      "name": {"type": "string"}, "label": {"type": "string"},
      "options": {"type": "array", "items": {"type": "string"}}, "required": {"type": "boolean"}}}}},
  "required": ["question"]}"#;

/// The answer of a user who skips the question, or a field of it.
pub const NO_USER_ANSWER: &str = "no_user_answer";

/// Asks the user a question, which ends the run.
pub struct ClarifyUser;

impl Tool for ClarifyUser {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "clarify_user".to_owned(),
            description: "Asks the user one question and waits for the answer. Use it only if you cannot continue \
                          without the answer and cannot find it out yourself. Offer likely answers as options."
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
            Err(ToolError::new(Code::InvalidArgument, "The question is empty. Write the question."))
        } else {
            let options = arguments.get("options").cloned().unwrap_or_else(|| json!([]));
            let mut data = json!({ "question": question, "options": options });
            if let Some(fields) = arguments.get("fields") {
                data["fields"] = fields.clone();
            }
            let text =
                "The user was asked. Their next message is the answer; `no_user_answer` if they skip the question.";
            Ok(ToolOutput::new(text, data))
        };
        Box::pin(std::future::ready(outcome))
    }
}
