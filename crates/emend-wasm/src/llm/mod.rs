//! The bindings of `emend-llm`: a client over fetch, generation with tools, the wire formats without I/O.
//!
//! Requests, events and responses cross as the JSON text of the crate's own types.

pub mod client;
pub mod formats;
pub mod generate;
pub mod models;
mod options;

use emend_agent::error_code::Code;
use emend_llm::LlmError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;

impl From<LlmError> for Failure {
    fn from(error: LlmError) -> Self {
        let data = json!({
            "kind": error.kind.code(),
            "provider": error.provider,
            "statusCode": error.status_code,
            "errorCode": error.error_code,
            "retryAfterMs": error.retry_after_ms,
            "raw": error.raw,
        });
        Self::new(Code::of_llm(error.kind), error.message).with_data(data).with_retryable(error.retryable)
    }
}

fn text_of(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::internal(error.to_string()))
}

/// Reads an argument from JSON text. `what` begins the error message, e.g. "the request is".
fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::argument(what, &error))
}

/// Returns one item of a stream as JSON text: the value, or `{"error": …}`.
fn item_text(item: Result<impl Serialize, Failure>) -> String {
    #[derive(Serialize)]
    struct Failed {
        error: Failure,
    }
    let text = match item {
        Ok(value) => serde_json::to_string(&value),
        Err(error) => serde_json::to_string(&Failed { error }),
    };
    text.unwrap_or_default()
}

fn thrown<T>(outcome: Result<T, Failure>) -> Result<T, JsValue> {
    outcome.map_err(Failure::into_js)
}
