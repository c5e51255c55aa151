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

/// The description of a JavaScript tool in the options of an agent.
#[derive(Clone)]
pub(crate) struct ToolDescription {
    pub(crate) definition: ToolDefinition,
    pub(crate) effect: ToolEffect,
    /// Parameters whose values are paths: strings or lists of strings.
    pub(crate) path_parameters: Vec<String>,
}

/// A tool behind a function. It gets the tool's name, the arguments as JSON text and the call's id, and returns a
/// [`JsCall`](super::call::JsCall).
pub(crate) struct JsTool {
    description: ToolDescription,
    start: Function,
}

impl JsTool {
    /// Returns the tool.
    ///
    /// # Errors
    ///
    /// A `configuration` failure if its name or its schema cannot be offered to a model.
    pub(crate) fn new(description: ToolDescription, start: Function) -> Result<Self, Failure> {
        tool::Tool::passive(description.definition.clone())
            .map_err(|error| Failure::new(Code::Configuration, format!("the options are wrong: {error}")))?;
        Ok(Self { description, start })
    }
}

impl Tool for JsTool {
    fn definition(&self) -> ToolDefinition {
        self.description.definition.clone()
    }

    fn effect(&self) -> ToolEffect {
        self.description.effect
    }

    /// None: the function writes files through the agent, which takes no canvas lease for it.
    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Path rules apply to the path parameters of the description.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        let given = self.description.path_parameters.iter().filter_map(|name| arguments.get(name));
        let texts = given.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
        let paths = texts.filter_map(Value::as_str).map(str::to_owned).collect();
        Target { paths, ..Target::default() }
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
            let (name, id) =
                (JsValue::from_str(&self.description.definition.name), JsValue::from_str(&context.call_id));
            let call = self.start.call3(&JsValue::UNDEFINED, &name, &JsValue::from_str(&arguments), &id);
            let call = OpenCall(call.map_err(|thrown| thrown_error(&thrown))?.unchecked_into());
            let result = call.result().await.map_err(|thrown| thrown_error(&thrown))?;
            let text = result.as_string().unwrap_or_default();
            let data = json!({ "content": text });
            Ok(ToolOutput::new(text, data))
        })
    }
}
