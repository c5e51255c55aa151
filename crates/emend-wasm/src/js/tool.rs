//! Tools written in JavaScript, which an agent has beside its own.

use emend_agent::error_code::Code;
use emend_agent::tool::{Tool, ToolContext, ToolError, ToolOutput};
use emend_llm::{BoxFuture, ToolDefinition, tool};
use js_sys::Function;
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use super::call::{OpenCall, thrown_error};
use crate::failure::Failure;

/// A tool behind a function of its name, the arguments' JSON text and the call's id, which returns a [`JsCall`].
pub(crate) struct JsTool {
    definition: ToolDefinition,
    start: Function,
}

impl JsTool {
    /// Returns the tool, or says why no model could be offered it.
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

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// What it does outside of the workspace cannot be cut in half by not waiting for it.
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
            let given = call.given().await.map_err(|thrown| thrown_error(&thrown))?;
            let text = given.as_string().unwrap_or_default();
            let data = json!({ "content": text });
            Ok(ToolOutput::new(text, data))
        })
    }
}
