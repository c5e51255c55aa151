//! Runs the calls of one response: all at once, each with exactly one result, in the order of the calls.

use futures::future::join_all;
use serde_json::Value;

use super::options::Generate;
use super::tool::{Tool, ToolContext};
use crate::model::{Message, ToolCall, ToolResult, schema};
use crate::runtime::Shared;

impl Generate {
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.definition().name == name)
    }

    /// Runs all calls at once and returns their results in the order of the calls.
    pub(super) async fn run_tools(&self, calls: &[ToolCall], messages: &[Message]) -> Vec<ToolResult> {
        let messages = Shared::new(messages.to_vec());
        join_all(calls.iter().map(|call| {
            let context = ToolContext {
                messages: Shared::clone(&messages),
                cancel: self.cancel.clone(),
                tool_call_id: call.id.clone(),
            };
            self.run_tool(call, context)
        }))
        .await
    }

    async fn run_tool(&self, call: &ToolCall, context: ToolContext) -> ToolResult {
        let outcome = match self.tool(&call.name).and_then(|tool| Some((tool, tool.handler()?))) {
            None => {
                let known: Vec<&str> = self.tools.iter().map(|tool| tool.definition().name.as_str()).collect();
                Err(format!("Unknown tool: {}. Known tools: {}", call.name, known.join(", ")))
            }
            Some((tool, handler)) => match self.arguments(call, tool).await {
                Ok(arguments) => handler.call(arguments, context).await,
                Err(problem) => Err(format!("Invalid arguments for {}: {problem}", call.name)),
            },
        };
        let is_error = outcome.is_err();
        let content = outcome.unwrap_or_else(Value::String);
        ToolResult { tool_call_id: call.id.clone(), name: call.name.clone(), content, is_error, image: None }
    }

    /// Returns arguments that match the tool's schema, repaired if necessary.
    async fn arguments(&self, call: &ToolCall, tool: &Tool) -> Result<Value, String> {
        let schema = &tool.definition().parameters;
        let problem = match schema::validate(schema, &call.arguments) {
            Ok(()) => return Ok(call.arguments.clone()),
            Err(violation) => violation.to_string(),
        };
        let Some(repair) = &self.repair_tool_call else { return Err(problem) };
        match repair.repair(call, &problem).await {
            Some(arguments) => match schema::validate(schema, &arguments) {
                Ok(()) => Ok(arguments),
                Err(violation) => Err(violation.to_string()),
            },
            None => Err(problem),
        }
    }
}
