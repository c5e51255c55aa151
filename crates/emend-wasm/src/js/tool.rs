//! Tools written in JavaScript, in addition to the core's own.

use emend_agent::approval::Target;
use emend_agent::error_code::Code;
use emend_agent::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use emend_llm::{BoxFuture, ToolDefinition, tool};
use js_sys::Function;
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use super::call::{OpenCall, thrown_error};
use crate::failure::Failure;

/// A tool behind a function. It gets the tool's name, the arguments as JSON text and the call's id, and returns a
/// [`JsCall`](super::call::JsCall).
pub(crate) struct JsTool {
    definition: ToolDefinition,
    start: Function,
}

impl JsTool {
    /// Returns the tool.
    ///
    /// # Errors
    ///
    /// A `configuration` failure if its name or its schema cannot be offered to a model.
    pub(crate) fn new(definition: ToolDefinition, start: Function) -> Result<Self, Failure> {
        tool::Tool::passive(definition.clone())
            .map_err(|error| Failure::new(Code::Configuration, format!("the options are wrong: {error}")))?;
        Ok(Self { definition, start })
    }
}

impl Tool for JsTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    /// Nothing is known about the function, so the user is asked about its calls as about writes.
    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Path rules see the argument `path`.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        let path = arguments.get("path").and_then(Value::as_str).map(str::to_owned);
        Target { paths: path.into_iter().collect(), ..Target::default() }
    }

    /// True: its code runs outside the workspace, and not waiting for its result leaves no write half done.
    fn interruptible(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = serde_json::to_string(arguments).unwrap_or_default();
            let (name, id) = (JsValue::from_str(&self.definition.name), JsValue::from_str(&context.call_id));
            let call = self.start.call3(&JsValue::UNDEFINED, &name, &JsValue::from_str(&arguments), &id);
            let call = OpenCall(call.map_err(|thrown| thrown_error(&thrown))?.unchecked_into());
            let result = call.result().await.map_err(|thrown| thrown_error(&thrown))?;
            let text = result.as_string().unwrap_or_default();
            let data = json!({ "content": text });
            Ok(ToolOutput::new(text, data))
        })
    }
}
