//! Encodes a [`Request`] as the body of a Gemini request.

use serde_json::{Map, Value, json};

use crate::catalog::get_model_info;
use crate::error::LlmError;
use crate::model::media::{self, Source};
use crate::model::{
    ContentPart, MediaData, Message, Request, ResponseFormat, Role, ThinkingData, ToolCall, ToolChoice, ToolResult,
    is_local_id,
};
use crate::providers::shared::encode_cache::{self, EncodeCache};
use crate::providers::shared::shared_encoding;

/// Encodes `request` for the adapter named `provider`. Only signatures and parts of that provider are echoed.
pub(super) fn body(
    request: &Request,
    provider: &str,
    cache: &EncodeCache<EncodedMessage>,
) -> Result<Vec<u8>, LlmError> {
    let mut options = shared_encoding::provider_options(request, &[provider, "gemini"]);
    let mut body = Map::new();
    let system = request.messages.iter().filter(|message| matches!(message.role, Role::System | Role::Developer));
    let system: Vec<Value> = system.map(|message| json!({"text": message.text()})).collect();
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": system}));
    }
    let mut tools = Vec::new();
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters})
            })
            .collect();
        tools.push(json!({"functionDeclarations": declarations}));
        if let Some(choice) = &request.tool_choice {
            body.insert("toolConfig".into(), json!({"functionCallingConfig": tool_choice(choice)}));
        }
    }
    tools.extend(shared_encoding::take_array(&mut options, "tools"));
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    let generation = generation_config(request);
    if !generation.is_empty() {
        body.insert("generationConfig".into(), generation.into());
    }
    shared_encoding::merge(&mut body, options);
    let encode = |index: usize| content(&request.messages, index, provider);
    cache.with(&request.messages, encode, |messages| {
        let contents = merge_roles(messages.iter().map(|(_, content)| content));
        encode_cache::splice(&body, "contents", contents.iter().map(String::as_str))
    })?
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named { tool_name } => json!({"mode": "ANY", "allowedFunctionNames": [tool_name]}),
    }
}

fn generation_config(request: &Request) -> Map<String, Value> {
    let mut config = Map::new();
    if get_model_info(&request.model).is_none_or(|info| info.supports_sampling) {
        if let Some(temperature) = request.temperature {
            config.insert("temperature".into(), temperature.into());
        }
        if let Some(top_p) = request.top_p {
            config.insert("topP".into(), top_p.into());
        }
    }
    if let Some(max_tokens) = request.max_tokens {
        config.insert("maxOutputTokens".into(), max_tokens.into());
    }
    if !request.stop_sequences.is_empty() {
        config.insert("stopSequences".into(), request.stop_sequences.clone().into());
    }
    match &request.response_format {
        None | Some(ResponseFormat::Text) => {}
        Some(ResponseFormat::Json) => {
            config.insert("responseMimeType".into(), "application/json".into());
        }
        Some(ResponseFormat::JsonSchema { json_schema, .. }) => {
            config.insert("responseMimeType".into(), "application/json".into());
            config.insert("responseJsonSchema".into(), json_schema.clone());
        }
    }
    if let Some(thinking) = thinking_config(request) {
        config.insert("thinkingConfig".into(), thinking);
    }
    config
}

/// Maps `reasoning_effort`. Models of the 2.5 family take a budget of tokens, later models a level. The API rejects
/// both together.
fn thinking_config(request: &Request) -> Option<Value> {
    let effort = request.reasoning_effort.as_deref()?;
    let info = get_model_info(&request.model);
    if info.is_some_and(|info| !info.supports_reasoning) {
        return None;
    }
    if !request.model.contains("gemini-2.5") {
        // The API knows neither `none` nor a level above `high`: the nearest level is used.
        let wanted = match effort {
            "none" => "minimal",
            "xhigh" | "max" => "high",
            other => other,
        };
        let level = info.and_then(|info| info.nearest_effort(wanted)).unwrap_or(wanted);
        return Some(json!({"thinkingLevel": level.to_uppercase(), "includeThoughts": true}));
    }
    let budget = match effort {
        // Thinking cannot be turned off for the Pro model.
        "none" if request.model.contains("pro") => 128,
        "none" => 0,
        "minimal" => 512,
        "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    Some(json!({"thinkingBudget": budget, "includeThoughts": budget > 0}))
}

/// The encoding of one message: a role and its parts, joined. Without parts if the message is encoded elsewhere.
pub(super) struct EncodedMessage {
    role: &'static str,
    parts: String,
}

/// All results of one round must be in one content, so neighbouring messages of one role are merged.
fn merge_roles<'a>(contents: impl Iterator<Item = &'a EncodedMessage>) -> Vec<String> {
    let mut turns: Vec<String> = Vec::new();
    let mut role = "";
    for content in contents.filter(|content| !content.parts.is_empty()) {
        match turns.last_mut() {
            Some(turn) if role == content.role => {
                turn.truncate(turn.len() - 2);
                turn.push(',');
                turn.push_str(&content.parts);
                turn.push_str("]}");
            }
            _ => turns.push(format!("{{\"role\":\"{}\",\"parts\":[{}]}}", content.role, content.parts)),
        }
        role = content.role;
    }
    turns
}

fn content(messages: &[Message], index: usize, provider: &str) -> Result<EncodedMessage, LlmError> {
    let message = &messages[index];
    let role = match message.role {
        Role::System | Role::Developer => "",
        Role::User | Role::Tool => "user",
        Role::Assistant => "model",
    };
    let parts = if role.is_empty() { Vec::new() } else { parts(&messages[..index], message, provider)? };
    Ok(EncodedMessage { role, parts: encode_cache::join(&parts) })
}

fn parts(before: &[Message], message: &Message, provider: &str) -> Result<Vec<Value>, LlmError> {
    let mut parts: Vec<Value> = Vec::with_capacity(message.content.len());
    let mut images = Vec::new();
    for (index, part) in message.content.iter().enumerate() {
        let annotation = message.content.get(index + 1).and_then(|next| next.annotation_by(provider));
        match part {
            ContentPart::Text { text } => {
                let mut own = Map::from_iter([("text".to_owned(), text.clone().into())]);
                own.extend(annotation.cloned().unwrap_or_default());
                if !text.is_empty() || own.len() > 1 {
                    parts.push(own.into());
                }
            }
            ContentPart::Image(image) => parts.push(media_part(image, "image/png")?),
            ContentPart::Audio(audio) => parts.push(media_part(audio, "audio/wav")?),
            ContentPart::Document(document) => parts.push(media_part(document, "application/pdf")?),
            ContentPart::ToolCall(call) => parts.push(call_part(call, provider)),
            ContentPart::ToolResult(result) => {
                parts.push(result_part(result, before));
                images.extend(result.image.as_ref().map(|image| media_part(image, "image/png")).transpose()?);
            }
            ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => {
                parts.extend(thought_part(thinking, provider));
            }
            ContentPart::Provider { provider: own, data }
                if own == provider && part.annotation_by(provider).is_none() =>
            {
                parts.push(data.clone());
            }
            ContentPart::Provider { .. } => {}
        }
    }
    parts.extend(images);
    Ok(parts)
}

fn media_part(media: &MediaData, default_type: &str) -> Result<Value, LlmError> {
    Ok(match media::source(media, default_type)? {
        Source::Url(url) => {
            let mime_type = media.media_type.as_deref().unwrap_or(default_type);
            json!({"fileData": {"mimeType": mime_type, "fileUri": url}})
        }
        Source::Data { media_type, data } => json!({"inlineData": {"mimeType": media_type, "data": data}}),
    })
}

fn call_part(call: &ToolCall, provider: &str) -> Value {
    let mut function = json!({"name": call.name, "args": shared_encoding::arguments(call)});
    if !call.has_local_id() {
        function["id"] = call.id.clone().into();
    }
    let mut part = json!({"functionCall": function});
    if let Some(signature) =
        shared_encoding::own_fields(call, provider).and_then(|fields| fields.get("thoughtSignature"))
    {
        part["thoughtSignature"] = signature.clone();
    }
    part
}

fn result_part(result: &ToolResult, before: &[Message]) -> Value {
    let response = match &result.content {
        // A result that is already an error object is not wrapped again.
        Value::Object(own) if !result.is_error || own.contains_key("error") => result.content.clone(),
        content => {
            let key = if result.is_error { "error" } else { "result" };
            json!({ key: shared_encoding::result_text(content) })
        }
    };
    // The API matches results by name. A result without a name gets the name of its call.
    let call = || {
        let mut calls = before.iter().rev().flat_map(Message::tool_calls);
        calls.find(|call| call.id == result.tool_call_id).map(|call| call.name.clone())
    };
    let name = if result.name.is_empty() { call().unwrap_or_default() } else { result.name.clone() };
    let mut function = json!({"name": name, "response": response});
    if !is_local_id(&result.tool_call_id) {
        function["id"] = result.tool_call_id.clone().into();
    }
    json!({"functionResponse": function})
}

/// Thoughts need not be echoed, but a signature on a thought must be.
fn thought_part(thinking: &ThinkingData, provider: &str) -> Option<Value> {
    let own = thinking.provider.as_deref() == Some(provider);
    let signature = thinking.signature.as_deref().filter(|_| own)?;
    Some(json!({"text": thinking.text, "thought": true, "thoughtSignature": signature}))
}
