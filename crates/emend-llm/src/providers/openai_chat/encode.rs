//! Encodes a [`Request`] as the body of a Chat Completions request.

use serde_json::{Map, Value, json};

use crate::catalog::get_model_info;
use crate::error::{ErrorKind, LlmError};
use crate::model::media::{self, Source};
use crate::model::{ContentPart, MediaData, Message, Request, ResponseFormat, Role, ToolCall, ToolChoice, ToolResult};
use crate::providers::shared::encode_cache::{self, EncodeCache};
use crate::providers::shared::shared_encoding;

/// Encodes `request` for the adapter named `provider`. OpenAI's own servers (`openai`) require a newer name for the
/// output limit than the copies accept.
pub(super) fn body(
    request: &Request,
    stream: bool,
    provider: &str,
    openai: bool,
    cache: &EncodeCache<String>,
) -> Result<Vec<u8>, LlmError> {
    let mut options = shared_encoding::provider_options(request, &[provider, "openai_compatible"]);
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters
            }})
        })
        .collect();
    tools.extend(shared_encoding::take_array(&mut options, "tools"));
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        if let Some(choice) = &request.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
    }
    if let Some(format) = response_format(request.response_format.as_ref()) {
        body.insert("response_format".into(), format);
    }
    insert_sampling(&mut body, request, openai);
    if stream {
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    shared_encoding::merge(&mut body, options);
    let encode = |index: usize| {
        let mut messages = Vec::new();
        encode_message(&request.messages[index], provider, openai, &mut messages)?;
        Ok(encode_cache::join(&messages))
    };
    cache.with(&request.messages, encode, |messages| {
        encode_cache::splice(&body, "messages", messages.iter().map(|(_, message)| message.as_str()))
    })?
}

fn insert_sampling(body: &mut Map<String, Value>, request: &Request, openai: bool) {
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
        body.insert(if openai { "max_completion_tokens" } else { "max_tokens" }.into(), max_tokens.into());
    }
    if !request.stop_sequences.is_empty() {
        body.insert("stop".into(), request.stop_sequences.clone().into());
    }
    if let Some(effort) = request.reasoning_effort.as_deref()
        && info.is_none_or(|info| info.supports_reasoning)
    {
        let effort = info.and_then(|info| info.nearest_effort(effort)).unwrap_or(effort);
        body.insert("reasoning_effort".into(), effort.into());
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named { tool_name } => json!({"type": "function", "function": {"name": tool_name}}),
    }
}

fn response_format(format: Option<&ResponseFormat>) -> Option<Value> {
    match format? {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { json_schema, strict } => Some(json!({"type": "json_schema", "json_schema": {
            "name": "answer", "schema": json_schema, "strict": strict
        }})),
    }
}

/// Encodes one message; a tool message becomes one message for each result.
fn encode_message(message: &Message, provider: &str, openai: bool, messages: &mut Vec<Value>) -> Result<(), LlmError> {
    match message.role {
        Role::System => messages.push(json!({"role": "system", "content": message.text()})),
        // Only OpenAI knows the role; other servers reject it.
        Role::Developer => {
            messages.push(json!({"role": if openai { "developer" } else { "system" }, "content": message.text()}));
        }
        Role::User => messages.push(json!({"role": "user", "content": user_content(&message.content)?})),
        Role::Assistant => messages.extend(assistant(message, provider)),
        Role::Tool => {
            let results = message.content.iter().filter_map(|part| match part {
                ContentPart::ToolResult(result) => Some(result),
                _ => None,
            });
            let mut images = Vec::new();
            for result in results {
                messages.push(tool_message(result));
                images.extend(result.image.as_ref().map(|image| ContentPart::Image(image.clone())));
            }
            // Tool messages hold text only, so images follow as a user message.
            if !images.is_empty() {
                messages.push(json!({"role": "user", "content": user_content(&images)?}));
            }
        }
    }
    Ok(())
}

fn tool_message(result: &ToolResult) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": result.tool_call_id,
        "content": shared_encoding::result_text(&result.content)
    })
}

/// Plain text stays a string, which every server accepts; only mixed content becomes a list.
fn user_content(content: &[ContentPart]) -> Result<Value, LlmError> {
    if let [ContentPart::Text { text }] = content {
        return Ok(text.clone().into());
    }
    let mut parts = Vec::with_capacity(content.len());
    for part in content {
        match part {
            ContentPart::Text { text } => parts.push(json!({"type": "text", "text": text})),
            ContentPart::Image(image) => parts.push(image_part(image)?),
            ContentPart::Audio(audio) => parts.push(audio_part(audio)?),
            ContentPart::Document(document) => parts.push(document_part(document)?),
            _ => {}
        }
    }
    Ok(parts.into())
}

fn image_part(image: &MediaData) -> Result<Value, LlmError> {
    let mut image_url = json!({"url": media::source(image, "image/png")?.as_url()});
    if let Some(detail) = &image.detail {
        image_url["detail"] = detail.clone().into();
    }
    Ok(json!({"type": "image_url", "image_url": image_url}))
}

fn audio_part(audio: &MediaData) -> Result<Value, LlmError> {
    let Source::Data { media_type, data } = media::source(audio, "audio/wav")? else {
        return Err(LlmError::new(
            ErrorKind::InvalidRequest,
            "audio must be passed as `data`: this API takes no address",
        ));
    };
    let format = if media_type.contains("mp3") || media_type.contains("mpeg") { "mp3" } else { "wav" };
    Ok(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
}

fn document_part(document: &MediaData) -> Result<Value, LlmError> {
    let source = media::source(document, "application/pdf")?;
    if matches!(source, Source::Url(_)) {
        return Err(LlmError::new(
            ErrorKind::InvalidRequest,
            "a document must be passed as `data`: this API takes no address",
        ));
    }
    let name = document.file_name.as_deref().unwrap_or("document.pdf");
    Ok(json!({"type": "file", "file": {"filename": name, "file_data": source.as_url()}}))
}

/// Returns the assistant's message, `None` if it is empty.
fn assistant(message: &Message, provider: &str) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message.tool_calls().into_iter().map(tool_call).collect();
    let mut fields = Map::new();
    fields.insert("role".into(), "assistant".into());
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    let has_content = content.as_str().is_some_and(|text| !text.is_empty());
    fields.insert("content".into(), content);
    insert_reasoning(&mut fields, message, provider, !calls.is_empty());
    let refusal = message.content.iter().find_map(|part| match part {
        ContentPart::Provider { provider: own, data } if own == provider => data.get("refusal"),
        _ => None,
    });
    if let Some(refusal) = refusal {
        fields.insert("refusal".into(), refusal.clone());
    } else if !has_content && calls.is_empty() {
        return None;
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".into(), calls.into());
    }
    Some(fields.into())
}

/// Echoes reasoning in the field it came in, to the provider it came from. `reasoning_content` is echoed with tool
/// calls only: DeepSeek requires it there and once rejected it elsewhere. Signed `reasoning_details` are always echoed.
/// Plain `reasoning` is not: no provider reads it.
fn insert_reasoning(fields: &mut Map<String, Value>, message: &Message, provider: &str, has_calls: bool) {
    let own = message.content.iter().filter_map(|part| match part {
        ContentPart::Thinking(thinking) if thinking.provider.as_deref() == Some(provider) => Some(thinking),
        _ => None,
    });
    let mut content = String::new();
    let mut details: Vec<Value> = Vec::new();
    let mut chunks: Vec<Value> = Vec::new();
    for thinking in own {
        let data = thinking.provider_data.as_ref();
        details.extend(data.and_then(|data| data["reasoning_details"].as_array()).into_iter().flatten().cloned());
        match data.and_then(|data| data["field"].as_str()) {
            Some("reasoning_content") => content.push_str(&thinking.text),
            Some("content") => {
                chunks.push(json!({"type": "thinking", "thinking": [{"type": "text", "text": thinking.text}]}));
            }
            _ => {}
        }
    }
    if has_calls && !content.is_empty() {
        fields.insert("reasoning_content".into(), content.into());
    }
    if !details.is_empty() {
        fields.insert("reasoning_details".into(), details.into());
    }
    if !chunks.is_empty() {
        if let Some(text) = fields.get("content").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            chunks.push(json!({"type": "text", "text": text}));
        }
        fields.insert("content".into(), chunks.into());
    }
}

fn tool_call(call: &ToolCall) -> Value {
    if call.custom {
        let input = call.arguments.as_str().unwrap_or_default();
        return json!({"id": call.id, "type": "custom", "custom": {"name": call.name, "input": input}});
    }
    let arguments = shared_encoding::arguments_text(call);
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}
