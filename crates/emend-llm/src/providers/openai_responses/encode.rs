//! Encodes a [`Request`] as the body of a Responses request.

use serde_json::{Map, Value, json};

use crate::catalog::get_model_info;
use crate::error::{ErrorKind, LlmError};
use crate::model::media::{self, Source};
use crate::model::{
    ContentPart, MediaData, Message, Request, ResponseFormat, Role, ThinkingData, ToolCall, ToolChoice, ToolResult,
};
use crate::providers::shared::encode_cache::{self, EncodeCache};
use crate::providers::shared::shared_encoding;

/// Encodes `request` for the adapter named `provider`. Only reasoning and items of that provider are echoed.
pub(super) fn body(
    request: &Request,
    stream: bool,
    provider: &str,
    cache: &EncodeCache<String>,
) -> Result<Vec<u8>, LlmError> {
    let mut options = shared_encoding::provider_options(request, &[provider, "openai"]);
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    let system: Vec<String> =
        request.messages.iter().filter(|message| message.role == Role::System).map(Message::text).collect();
    if !system.is_empty() {
        body.insert("instructions".into(), system.join("\n\n").into());
    }
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false})
        })
        .collect();
    tools.extend(shared_encoding::take_array(&mut options, "tools"));
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        if let Some(choice) = &request.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
    }
    if let Some(format) = text_format(request.response_format.as_ref()) {
        body.insert("text".into(), json!({"format": format}));
    }
    insert_generation(&mut body, request);
    if !request.metadata.is_empty() {
        body.insert("metadata".into(), json!(request.metadata));
    }
    if stream {
        body.insert("stream".into(), true.into());
    }
    shared_encoding::merge(&mut body, options);
    let encode = |index: usize| Ok(encode_cache::join(&items(&request.messages, index, provider)?));
    cache.with(&request.messages, encode, |messages| {
        encode_cache::splice(&body, "input", messages.iter().map(|(_, items)| items.as_str()))
    })?
}

fn insert_generation(body: &mut Map<String, Value>, request: &Request) {
    let info = get_model_info(&request.model);
    if info.is_none_or(|info| info.supports_sampling) {
        if let Some(temperature) = request.temperature {
            body.insert("temperature".into(), temperature.into());
        }
        if let Some(top_p) = request.top_p {
            body.insert("top_p".into(), top_p.into());
        }
    }
    if let Some(max_tokens) = request.max_tokens {
        body.insert("max_output_tokens".into(), max_tokens.into());
    }
    body.insert("store".into(), false.into());
    // Models without reasoning reject these fields.
    let reasons = info.map_or_else(|| looks_reasoning(&request.model), |info| info.supports_reasoning);
    if !reasons {
        return;
    }
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    if let Some(effort) = request.reasoning_effort.as_deref() {
        let effort = info.and_then(|info| info.nearest_effort(effort)).unwrap_or(effort);
        // Without this request the model sends no summary.
        let reasoning =
            if effort == "none" { json!({"effort": effort}) } else { json!({"effort": effort, "summary": "auto"}) };
        body.insert("reasoning".into(), reasoning);
    }
}

/// Returns whether a model that is not in the catalogue reasons, by its name.
fn looks_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    if name.ends_with("-chat-latest") {
        return false;
    }
    ["gpt-5", "gpt-6", "o1", "o3", "o4", "codex", "grok-4"].iter().any(|start| name.starts_with(start))
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named { tool_name } => json!({"type": "function", "name": tool_name}),
    }
}

fn text_format(format: Option<&ResponseFormat>) -> Option<Value> {
    match format? {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { json_schema, strict } => {
            Some(json!({"type": "json_schema", "name": "answer", "schema": json_schema, "strict": strict}))
        }
    }
}

/// Returns the items of the message at `index`.
fn items(messages: &[Message], index: usize, provider: &str) -> Result<Vec<Value>, LlmError> {
    let message = &messages[index];
    let mut items = Vec::new();
    match message.role {
        Role::System => {}
        Role::Developer => items.push(json!({"type": "message", "role": "developer", "content": message.text()})),
        Role::User => {
            let content = user_content(&message.content)?;
            items.push(json!({"type": "message", "role": "user", "content": content}));
        }
        Role::Assistant => assistant_items(message, provider, &mut items),
        Role::Tool => {
            for part in &message.content {
                if let ContentPart::ToolResult(result) = part {
                    items.push(result_item(result, answers_custom(&messages[..index], &result.tool_call_id))?);
                }
            }
        }
    }
    Ok(items)
}

/// Returns whether the call of a result took free text. The latest call with the id counts: some models reuse an id in
/// a later round.
fn answers_custom(before: &[Message], id: &str) -> bool {
    let calls = before.iter().rev().flat_map(Message::tool_calls);
    calls.into_iter().find(|call| call.id == id).is_some_and(|call| call.custom)
}

fn user_content(content: &[ContentPart]) -> Result<Value, LlmError> {
    if let [ContentPart::Text { text }] = content {
        return Ok(text.clone().into());
    }
    let mut parts = Vec::with_capacity(content.len());
    for part in content {
        match part {
            ContentPart::Text { text } => parts.push(json!({"type": "input_text", "text": text})),
            ContentPart::Image(image) => parts.push(image_part(image)?),
            ContentPart::Document(document) => parts.push(document_part(document)?),
            ContentPart::Audio(_) => {
                return Err(LlmError::new(
                    ErrorKind::InvalidRequest,
                    "the Responses API takes no audio: use the Chat Completions adapter",
                ));
            }
            _ => {}
        }
    }
    Ok(parts.into())
}

fn image_part(image: &MediaData) -> Result<Value, LlmError> {
    let url = media::source(image, "image/png")?.as_url();
    let detail = image.detail.as_deref().unwrap_or("auto");
    Ok(json!({"type": "input_image", "image_url": url, "detail": detail}))
}

fn document_part(document: &MediaData) -> Result<Value, LlmError> {
    let source = media::source(document, "application/pdf")?;
    Ok(match source {
        Source::Url(url) => json!({"type": "input_file", "file_url": url}),
        Source::Data { .. } => {
            let name = document.file_name.as_deref().unwrap_or("document.pdf");
            json!({"type": "input_file", "filename": name, "file_data": source.as_url()})
        }
    })
}

/// An assistant message becomes several items. Only reasoning items keep their ids: nothing is stored that the other
/// ids could refer to.
fn assistant_items(message: &Message, provider: &str, items: &mut Vec<Value>) {
    for (index, part) in message.content.iter().enumerate() {
        match part {
            ContentPart::Text { text } => {
                let mut content = Map::from_iter([("type".to_owned(), json!("output_text"))]);
                content.insert("text".into(), text.clone().into());
                content.insert("annotations".into(), json!([]));
                let mut item = json!({"type": "message", "role": "assistant"});
                let fields = message.content.get(index + 1).and_then(|next| next.annotation_by(provider));
                for (key, value) in fields.into_iter().flatten() {
                    if key == "annotations" {
                        content.insert(key.clone(), value.clone());
                    } else {
                        item[key] = value.clone();
                    }
                }
                item["content"] = json!([content]);
                items.push(item);
            }
            ContentPart::ToolCall(call) => items.push(call_item(call, provider)),
            ContentPart::Thinking(thinking) => items.extend(reasoning_item(thinking, provider)),
            ContentPart::Provider { provider: own, data }
                if own == provider && part.annotation_by(provider).is_none() =>
            {
                items.push(data.clone());
            }
            _ => {}
        }
    }
}

fn reasoning_item(thinking: &ThinkingData, provider: &str) -> Option<Value> {
    let own = thinking.provider.as_deref() == Some(provider);
    let mut item = thinking.provider_data.clone().filter(|_| own)?;
    // A reasoning item without encrypted content exists only on the server, which was told to store nothing.
    item.get("encrypted_content").filter(|content| content.is_string())?;
    if let Some(item) = item.as_object_mut() {
        item.shift_remove("status");
    }
    Some(item)
}

fn call_item(call: &ToolCall, provider: &str) -> Value {
    let mut item = if call.custom {
        let input = call.arguments.as_str().unwrap_or_default();
        json!({"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": input})
    } else {
        let arguments = shared_encoding::arguments_text(call);
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    };
    if let (Some(fields), Some(item)) = (shared_encoding::own_fields(call, provider), item.as_object_mut()) {
        item.extend(fields.clone());
    }
    item
}

fn result_item(result: &ToolResult, custom: bool) -> Result<Value, LlmError> {
    let text = shared_encoding::result_text(&result.content);
    let output = match &result.image {
        None => Value::String(text),
        Some(image) if text.is_empty() => json!([image_part(image)?]),
        Some(image) => json!([{"type": "input_text", "text": text}, image_part(image)?]),
    };
    let kind = if custom { "custom_tool_call_output" } else { "function_call_output" };
    Ok(json!({"type": kind, "call_id": result.tool_call_id, "output": output}))
}
