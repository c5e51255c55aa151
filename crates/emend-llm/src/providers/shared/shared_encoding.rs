//! Parts of requests that all encoders share: provider options, texts of results, arguments of calls.

use serde_json::{Map, Value};

use crate::catalog::get_model_info;
use crate::error::{ErrorKind, LlmError};
use crate::model::{Request, ResponseFormat, ToolCall, Warning};

/// Returns a copy of the request's options for the first of `names` that has any.
pub(crate) fn provider_options(request: &Request, names: &[&str]) -> Map<String, Value> {
    names.iter().find_map(|name| request.provider_options.get(*name)?.as_object()).cloned().unwrap_or_default()
}

/// Removes and returns the array `key` of the options.
pub(crate) fn take_array(options: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match options.shift_remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Merges `from` into `into`: objects key by key, null removes, all other values replace.
pub(crate) fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if !has_tag(&new) => merge(old, new),
            (_, Value::Null) => {
                into.shift_remove(&key);
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Returns whether an object is one case of a tagged union. Merging it with another case would be invalid.
fn has_tag(object: &Map<String, Value>) -> bool {
    object.contains_key("type")
}

/// Serialises a body.
pub(crate) fn to_bytes(body: &Map<String, Value>) -> Result<Vec<u8>, LlmError> {
    serde_json::to_vec(body)
        .map_err(|error| LlmError::new(ErrorKind::InvalidRequest, format!("the request cannot be encoded: {error}")))
}

/// Returns a tool result as text: itself, or its JSON.
pub(crate) fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the arguments of a call as an object, which every API requires. Arguments that are not an object are wrapped
/// under the key `INVALID_JSON`.
pub(crate) fn arguments(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        broken => serde_json::json!({"INVALID_JSON": broken}),
    }
}

/// Returns the arguments of a call as JSON text: as received if they were parsed.
pub(crate) fn arguments_text(call: &ToolCall) -> String {
    match (&call.arguments, &call.raw_arguments) {
        (Value::Object(_), Some(raw)) if raw.trim_start().starts_with('{') => raw.clone(),
        _ => arguments(call).to_string(),
    }
}

/// Returns the fields of `call` that `provider` must get back, if they came from it.
pub(crate) fn own_fields<'a>(call: &'a ToolCall, provider: &str) -> Option<&'a Map<String, Value>> {
    call.provider_data.as_ref()?.get(provider)?.as_object()
}

/// Returns an instruction in words for a format that the API does not enforce.
pub(crate) fn format_instruction(format: Option<&ResponseFormat>) -> Option<String> {
    match format? {
        ResponseFormat::Json => {
            Some("Answer with one JSON value and nothing else: no prose, no code fence.".to_owned())
        }
        ResponseFormat::JsonSchema { json_schema, strict: false } => Some(format!(
            "Answer with one JSON value and nothing else: no prose, no code fence. It must match this JSON Schema:\n\
             {json_schema}"
        )),
        _ => None,
    }
}

/// Returns a warning if the request sets sampling parameters that the model does not accept. They are omitted, because
/// the model would reject the whole request.
pub(crate) fn sampling_warnings(request: &Request) -> Vec<Warning> {
    let set = request.temperature.is_some() || request.top_p.is_some();
    let refused = get_model_info(&request.model).is_some_and(|info| !info.supports_sampling);
    let message = || format!("{} takes no temperature or top_p; they were not sent", request.model);
    let warning = || Warning { message: message(), code: Some("unsupported_parameter".to_owned()) };
    (set && refused).then(warning).into_iter().collect()
}
