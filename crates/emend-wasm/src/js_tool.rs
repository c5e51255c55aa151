//! Tools written in JavaScript, which an agent has beside its own.

use emend_agent::error_code::Code;
use emend_agent::tool::{Tool, ToolContext, ToolError, ToolOutput};
use emend_llm::{BoxFuture, ToolDefinition, tool};
use js_sys::Function;
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::host::{Settled, promise};

#[wasm_bindgen]
extern "C" {
    /// A call under way on the JavaScript side. Neither method runs the tool's code before it returns.
    pub type JsCall;

    /// A promise of the result, the text of a tool's; it rejects with JSON text of `message` and `code`.
    #[wasm_bindgen(method, getter)]
    fn result(this: &JsCall) -> JsValue;

    /// Says that nobody waits for it any more.
    #[wasm_bindgen(method)]
    fn cancel(this: &JsCall);
}

/// Tells the other side when the call is dropped, be it done or not.
pub(crate) struct Open(pub(crate) JsCall);

impl Open {
    /// Resolves with what the call gives.
    pub(crate) fn given(&self) -> Settled {
        promise(&self.0.result())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

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
            let call = Open(call.map_err(|thrown| failure(&thrown))?.unchecked_into());
            let given = call.given().await.map_err(|thrown| failure(&thrown))?;
            let text = given.as_string().unwrap_or_default();
            let data = json!({ "content": text });
            Ok(ToolOutput::new(text, data))
        })
    }
}

/// What it threw, with the code that it gives if that is one of ours.
pub(crate) fn failure(thrown: &JsValue) -> ToolError {
    let thrown: Value = serde_json::from_str(&thrown.as_string().unwrap_or_default()).unwrap_or_default();
    let code = thrown["code"].as_str().and_then(Code::from_name).unwrap_or(Code::IoError);
    ToolError::new(code, thrown["message"].as_str().unwrap_or("it failed"))
}
