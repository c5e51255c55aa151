//! One call of JavaScript code that returns a promise: a tool call or an operation of an environment.

use emend_agent::error_code::Code;
use emend_agent::tool::ToolError;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::host::{Settled, promise};

#[wasm_bindgen]
extern "C" {
    /// A call in progress on the JavaScript side. Neither method runs the host's code before it returns.
    pub type JsCall;

    /// A promise of the result (a tool's result is a text). It rejects with JSON text that has `message` and `code`.
    #[wasm_bindgen(method, getter)]
    fn result(this: &JsCall) -> JsValue;

    /// Reports that the result is no longer needed.
    #[wasm_bindgen(method)]
    fn cancel(this: &JsCall);
}

/// Cancels the call when it is dropped, whether or not it has finished.
pub(crate) struct OpenCall(pub(crate) JsCall);

impl OpenCall {
    /// Resolves with the call's result.
    pub(crate) fn result(&self) -> Settled {
        promise(&self.0.result())
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Converts an exception. A `code` that is not in the table of error codes becomes `io_error`.
pub(crate) fn thrown_error(thrown: &JsValue) -> ToolError {
    let thrown: Value = serde_json::from_str(&thrown.as_string().unwrap_or_default()).unwrap_or_default();
    let code = thrown["code"].as_str().and_then(Code::from_name).unwrap_or(Code::IoError);
    ToolError::new(code, thrown["message"].as_str().unwrap_or("the call failed without a reason"))
}
