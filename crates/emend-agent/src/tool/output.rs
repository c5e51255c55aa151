//! The result of a tool call that worked, and the envelope in which scripts see results.

use emend_llm::MediaData;
use serde_json::{Value, json};

use super::error::ToolError;

/// The result of a call that worked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Text for the model and for events, before truncation.
    pub text: String,
    /// The same result as a JSON object, whose fields each tool defines. The model does not see it.
    pub data: Value,
    /// An image for the model, base64-encoded.
    pub image: Option<MediaData>,
}

impl ToolOutput {
    /// Returns an output without an image.
    pub fn new(text: impl Into<String>, data: Value) -> Self {
        Self { text: text.into(), data, image: None }
    }

    /// Adds an image.
    #[must_use]
    pub fn with_image(mut self, image: MediaData) -> Self {
        self.image = Some(image);
        self
    }
}

/// Returns the result of a call as scripts and debug output show it: `{"ok": true, "data"}` or `{"ok": false, "error"}`.
#[must_use]
pub fn envelope(outcome: &Result<ToolOutput, ToolError>) -> Value {
    match outcome {
        Ok(output) => json!({ "ok": true, "data": output.data }),
        Err(error) => json!({ "ok": false, "error": error.info() }),
    }
}
