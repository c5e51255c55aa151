//! Structured output: a response that is one JSON value with a given schema.
//!
//! A provider that enforces schemas is asked to, if it accepts the schema; other providers get an instruction in words.
//! In both cases the response is validated here.

use futures::StreamExt;
use serde_json::Value;

use super::generator::Generator;
use super::options::Generate;
use super::result::{GenerateEvent, GenerateResult};
use super::stream_result::StreamResult;
use crate::error::{ErrorKind, LlmError};
use crate::model::schema;
use crate::model::{ResponseFormat, StreamEvent};
use crate::partial_json::PartialJson;

impl Generator {
    /// Generates a value that matches `json_schema`. The value is the `output` of the result.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoObjectGenerated`] if the response is not JSON or does not match, and the errors of
    /// [`generate`](Self::generate).
    pub async fn generate_object(&self, options: Generate, json_schema: Value) -> Result<GenerateResult, LlmError> {
        let mut result = self.generate(with_format(options, &json_schema)).await?;
        result.output = Some(read_object(&result.last.text(), &json_schema)?);
        Ok(result)
    }

    /// As [`generate_object`](Self::generate_object), but yields the value while it grows.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    pub fn stream_object(&self, options: Generate, json_schema: Value) -> Result<ObjectStream, LlmError> {
        let stream = self.stream(with_format(options, &json_schema))?;
        Ok(ObjectStream { stream, json_schema, partial: PartialJson::new(), text: String::new(), begun: false })
    }
}

fn with_format(mut options: Generate, json_schema: &Value) -> Generate {
    let strict = schema::is_strict(json_schema);
    options.request.response_format = Some(ResponseFormat::JsonSchema { json_schema: json_schema.clone(), strict });
    options
}

/// Parses the value in a response. Without enforcement models often wrap it in a code fence.
fn read_object(text: &str, json_schema: &Value) -> Result<Value, LlmError> {
    let no_object = |problem: String| {
        let raw = Some(Value::String(text.to_owned()));
        Err(LlmError { raw, ..LlmError::new(ErrorKind::NoObjectGenerated, problem) })
    };
    let trimmed = text.trim();
    let fenced = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let bare = fenced.map_or(trimmed, |inside| inside.split_once('\n').map_or(inside, |(_, body)| body));
    let value = match serde_json::from_str(bare) {
        Ok(value) => value,
        Err(error) => return no_object(format!("the response is not JSON ({error})")),
    };
    match schema::validate(json_schema, &value) {
        Ok(()) => Ok(value),
        Err(violation) => no_object(format!("the response does not match the schema: {violation}")),
    }
}

/// A value that grows while it is generated.
pub struct ObjectStream {
    stream: StreamResult,
    json_schema: Value,
    partial: PartialJson,
    text: String,
    begun: bool,
}

impl ObjectStream {
    /// Waits until the value changes and returns it as far as it has arrived, `None` at the end. The value is borrowed,
    /// not copied, so the cost is linear in its length.
    pub async fn next(&mut self) -> Option<Result<&Value, LlmError>> {
        loop {
            match self.stream.next().await? {
                Err(error) => return Some(Err(error)),
                Ok(GenerateEvent::Model(StreamEvent::StreamStart { .. })) => {
                    (self.partial, self.begun) = (PartialJson::new(), false);
                    self.text.clear();
                }
                Ok(GenerateEvent::Model(StreamEvent::TextDelta { delta, .. })) => {
                    self.text.push_str(&delta);
                    if self.take(&delta) {
                        return Some(Ok(self.partial.value()));
                    }
                }
                Ok(_) => {}
            }
        }
    }

    /// Feeds the reader from the first bracket on, and returns whether the value changed. [`object`](Self::object)
    /// reports text that is not JSON.
    fn take(&mut self, delta: &str) -> bool {
        let start = if self.begun { Some(0) } else { delta.find(['{', '[']) };
        let Some(start) = start else { return false };
        self.begun = true;
        self.partial.push(&delta[start..]).is_ok()
    }

    /// Returns the whole value, validated, once the stream has ended.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoObjectGenerated`] if the response is not JSON or does not match the schema.
    pub fn object(&self) -> Result<Value, LlmError> {
        read_object(&self.text, &self.json_schema)
    }
}
