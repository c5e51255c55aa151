//! One call of JavaScript code that gives a promise: a tool's call or an operation of an environment.

use emend_agent::error_code::Code;
use emend_agent::tool::ToolError;
use serde_json::Value;
use wasm_bindgen::prelude::*;

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
pub(crate) struct OpenCall(pub(crate) JsCall);

impl OpenCall {
    /// Resolves with what the call gives.
    pub(crate) fn given(&self) -> Settled {
        promise(&self.0.result())
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What it threw, with the code that it gives if that is one of ours.
pub(crate) fn thrown_error(thrown: &JsValue) -> ToolError {
    let thrown: Value = serde_json::from_str(&thrown.as_string().unwrap_or_default()).unwrap_or_default();
    let code = thrown["code"].as_str().and_then(Code::from_name).unwrap_or(Code::IoError);
    ToolError::new(code, thrown["message"].as_str().unwrap_or("it failed"))
}
