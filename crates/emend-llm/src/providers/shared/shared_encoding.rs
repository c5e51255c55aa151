//! What the encoders share: provider options, and the places where every wire format wants the same thing.

use serde_json::{Map, Value};

use crate::catalog::get_model_info;
use crate::error::{ErrorKind, LlmError};
use crate::model::{Request, ResponseFormat, ToolCall, Warning};

/// Returns a copy of the request's options for the first of `names` that has any.
pub(crate) fn provider_options(request: &Request, names: &[&str]) -> Map<String, Value> {
    names.iter().find_map(|name| request.provider_options.get(*name)?.as_object()).cloned().unwrap_or_default()
}

/// Takes the array `key` out of the options.
pub(crate) fn take_array(options: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match options.shift_remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Merges `from` into `into`: objects key by key, null removes, anything else replaces.
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

/// Whether an object is one case of several, so that mixing it with another case would make nonsense.
fn has_tag(object: &Map<String, Value>) -> bool {
    object.contains_key("type")
}

/// Serialises a body.
pub(crate) fn to_bytes(body: &Map<String, Value>) -> Result<Vec<u8>, LlmError> {
    serde_json::to_vec(body)
        .map_err(|error| LlmError::new(ErrorKind::InvalidRequest, format!("the request cannot be encoded: {error}")))
}

/// Returns the text of a tool's result: itself, or its JSON.
pub(crate) fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the arguments of a call as the object that every API wants. Arguments that never were one travel under a
/// key that says so.
pub(crate) fn arguments(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        broken => serde_json::json!({"INVALID_JSON": broken}),
    }
}

/// Returns the arguments of a call as JSON text: as received where they parsed.
pub(crate) fn arguments_text(call: &ToolCall) -> String {
    match (&call.arguments, &call.raw_arguments) {
        (Value::Object(_), Some(raw)) if raw.trim_start().starts_with('{') => raw.clone(),
        _ => arguments(call).to_string(),
    }
}

/// Returns the fields of `call` that `provider` wants echoed, if it was the one who made it.
pub(crate) fn own_fields<'a>(call: &'a ToolCall, provider: &str) -> Option<&'a Map<String, Value>> {
    call.provider_data.as_ref()?.get(provider)?.as_object()
}

/// Returns the instruction that asks for a format in words, where the API does not enforce it.
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

/// Returns the warning that a model takes no sampling parameters, if the request sets any: they are left out, because
/// such a model would refuse the whole request.
pub(crate) fn sampling_warnings(request: &Request) -> Vec<Warning> {
    let set = request.temperature.is_some() || request.top_p.is_some();
    let refused = get_model_info(&request.model).is_some_and(|info| !info.supports_sampling);
    let message = || format!("{} takes no temperature or top_p; they were not sent", request.model);
    let warning = || Warning { message: message(), code: Some("unsupported_parameter".to_owned()) };
    (set && refused).then(warning).into_iter().collect()
}
