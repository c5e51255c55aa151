//! Encodes a [`Request`] as the body of a Messages request.

use serde_json::{Map, Value, json};

use crate::catalog::{ModelInfo, get_model_info};
use crate::error::{ErrorKind, LlmError};
use crate::model::media;
use crate::model::{
    ContentPart, MediaData, Message, Request, ResponseFormat, Role, ThinkingData, ToolCall, ToolChoice, ToolResult,
};
use crate::providers::shared::encode_cache::{self, EncodeCache};
use crate::providers::shared::shared_encoding;

/// An encoded body and the facts that the headers depend on.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) betas: Vec<String>,
    pub(super) cached: bool,
}

/// The output limit of models that are not in the catalogue: the smallest limit since Claude 4.
const MAX_TOKENS_UNKNOWN: u64 = 32_000;
/// The smallest thinking budget that the API accepts, in tokens.
const THINKING_TOKENS_MIN: u64 = 1024;
const CACHE_MARKS_MAX: usize = 4;

/// Encodes `request` for the adapter named `provider`. Only reasoning and blocks of that provider are echoed.
pub(super) fn body(
    request: &Request,
    stream: bool,
    provider: &str,
    cache: &EncodeCache<EncodedMessage>,
) -> Result<Body, LlmError> {
    let mut options = shared_encoding::provider_options(request, &[provider, "anthropic"]);
    let betas = match options.shift_remove("beta_headers") {
        Some(Value::Array(betas)) => betas.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let auto_cache = options.shift_remove("auto_cache") != Some(Value::Bool(false));

    let mut system = system_blocks(request);
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
        .collect();
    tools.extend(shared_encoding::take_array(&mut options, "tools"));

    let marks = count_marks(&system) + count_marks(&tools) + usize::from(options.contains_key("cache_control"));
    let auto_cache = auto_cache && !options.contains_key("cache_control");
    let encode = |index: usize| content(&request.messages[index], provider);
    cache.with(&request.messages, encode, |messages| {
        let mut merged = merge_roles(messages.iter().map(|(_, content)| content));
        let mut marks = marks + merged.iter().map(|message| message.marks).sum::<usize>();
        if auto_cache {
            marks += set_marks(&mut tools, &mut system, &mut merged, CACHE_MARKS_MAX.saturating_sub(marks));
        }
        let body = fields(request, stream, system, tools, options);
        let bytes = encode_cache::splice(&body, "messages", merged.iter().map(|message| message.json.as_str()))?;
        Ok(Body { bytes, betas, cached: marks > 0 })
    })?
}

/// Returns all fields of the body except the messages.
fn fields(
    request: &Request,
    stream: bool,
    system: Vec<Value>,
    tools: Vec<Value>,
    options: Map<String, Value>,
) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    let info = get_model_info(&request.model);
    let max_tokens = request.max_tokens.or(info.and_then(|info| info.max_output)).unwrap_or(MAX_TOKENS_UNKNOWN);
    body.insert("max_tokens".into(), max_tokens.into());
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        if let Some(choice) = &request.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
    }
    insert_sampling(&mut body, request, info);
    insert_thinking(&mut body, request, info, max_tokens);
    if let Some(ResponseFormat::JsonSchema { json_schema, strict: true }) = &request.response_format {
        let format = json!({"type": "json_schema", "schema": json_schema});
        shared_encoding::merge(&mut body, Map::from_iter([("output_config".to_owned(), json!({"format": format}))]));
    }
    if let Some(user) = request.metadata.get("user_id") {
        body.insert("metadata".into(), json!({"user_id": user}));
    }
    if stream {
        body.insert("stream".into(), true.into());
    }
    shared_encoding::merge(&mut body, options);
    body
}

/// Returns the instructions: system and developer messages at any position, and the instruction for a format that the
/// API does not enforce.
fn system_blocks(request: &Request) -> Vec<Value> {
    let instructions = request.messages.iter().filter(|message| matches!(message.role, Role::System | Role::Developer));
    let mut texts: Vec<String> = instructions.map(Message::text).filter(|text| !text.is_empty()).collect();
    texts.extend(shared_encoding::format_instruction(request.response_format.as_ref()));
    texts.into_iter().map(|text| json!({"type": "text", "text": text})).collect()
}

/// The encoding of one message: a role and its blocks. Without blocks if the message is encoded elsewhere.
#[derive(Default)]
pub(super) struct EncodedMessage {
    role: &'static str,
    /// The tool results, joined.
    results: String,
    /// All other blocks, joined.
    others: String,
    /// The number of cache marks among the blocks.
    marks: usize,
    /// Whether the last block may carry a cache mark.
    markable: bool,
}

/// One message of the wire format. Roles alternate, so neighbouring messages of one role are merged.
struct ApiMessage {
    role: &'static str,
    json: String,
    marks: usize,
    markable: bool,
}

fn content(message: &Message, provider: &str) -> Result<EncodedMessage, LlmError> {
    let role = match message.role {
        Role::System | Role::Developer => return Ok(EncodedMessage::default()),
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let blocks = blocks(message, provider)?;
    let (results, others): (Vec<Value>, Vec<Value>) =
        blocks.into_iter().partition(|block| role == "user" && block["type"] == "tool_result");
    let last = others.last().or(results.last());
    Ok(EncodedMessage {
        role,
        marks: count_marks(&results) + count_marks(&others),
        markable: last.is_some_and(is_markable),
        results: encode_cache::join(&results),
        others: encode_cache::join(&others),
    })
}

fn merge_roles<'a>(contents: impl Iterator<Item = &'a EncodedMessage>) -> Vec<ApiMessage> {
    let mut groups: Vec<Vec<&EncodedMessage>> = Vec::new();
    for content in contents.filter(|content| !(content.results.is_empty() && content.others.is_empty())) {
        match groups.last_mut() {
            Some(group) if group[0].role == content.role => group.push(content),
            _ => groups.push(vec![content]),
        }
    }
    groups.iter().map(|group| merged(group)).collect()
}

fn merged(group: &[&EncodedMessage]) -> ApiMessage {
    let role = group[0].role;
    // Results must open the message that follows the calls, even if a user message came in between.
    let results = group.iter().map(|content| content.results.as_str());
    let others = group.iter().map(|content| content.others.as_str());
    let mut json = format!("{{\"role\":\"{role}\",\"content\":[");
    for (index, blocks) in results.chain(others).filter(|blocks| !blocks.is_empty()).enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(blocks);
    }
    json.push_str("]}");
    let last = group.iter().rev().find(|content| !content.others.is_empty()).or(group.last());
    let markable = last.is_some_and(|content| content.markable);
    ApiMessage { role, json, marks: group.iter().map(|content| content.marks).sum(), markable }
}

impl ApiMessage {
    /// Marks the last block, if it may carry a mark, and returns whether it did.
    fn mark(&mut self) -> bool {
        // The text ends with the braces of the last block, of the list and of the message.
        const END: &str = "}]}";
        if !self.markable || !self.json.ends_with(END) {
            return false;
        }
        self.json.truncate(self.json.len() - END.len());
        self.json.push_str(",\"cache_control\":{\"type\":\"ephemeral\"}");
        self.json.push_str(END);
        true
    }
}

fn blocks(message: &Message, provider: &str) -> Result<Vec<Value>, LlmError> {
    let mut blocks = Vec::with_capacity(message.content.len());
    for part in &message.content {
        match part {
            ContentPart::Text { text } if text.is_empty() => {}
            ContentPart::Text { text } => blocks.push(json!({"type": "text", "text": text})),
            ContentPart::Image(image) => blocks.push(image_block(image)?),
            ContentPart::Document(document) => blocks.push(document_block(document)?),
            ContentPart::Audio(_) => {
                return Err(LlmError::new(ErrorKind::InvalidRequest, "Claude models take no audio: send text instead"));
            }
            ContentPart::ToolCall(call) => blocks.push(tool_use(call, provider)),
            ContentPart::ToolResult(result) => blocks.push(tool_result(result)?),
            ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => {
                blocks.extend(thinking_block(thinking, provider));
            }
            ContentPart::Provider { provider: own, data } if own == provider => match part.annotation_by(provider) {
                Some(fields) => {
                    if let Some(text) = blocks.last_mut().and_then(Value::as_object_mut) {
                        text.extend(fields.clone());
                    }
                }
                None => blocks.push(data.clone()),
            },
            ContentPart::Provider { .. } => {}
        }
    }
    Ok(blocks)
}

fn image_block(image: &MediaData) -> Result<Value, LlmError> {
    let source = match media::source(image, "image/png")? {
        media::Source::Url(url) => json!({"type": "url", "url": url}),
        media::Source::Data { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
    };
    Ok(json!({"type": "image", "source": source}))
}

fn document_block(document: &MediaData) -> Result<Value, LlmError> {
    let source = match media::source(document, "application/pdf")? {
        media::Source::Url(url) => json!({"type": "url", "url": url}),
        media::Source::Data { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
    };
    let mut block = json!({"type": "document", "source": source});
    if let Some(name) = &document.file_name {
        block["title"] = name.clone().into();
    }
    Ok(block)
}

/// The API accepts ids of letters, digits, `_` and `-` only; other providers use more characters.
fn call_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn tool_use(call: &ToolCall, provider: &str) -> Value {
    let input = shared_encoding::arguments(call);
    let mut block = json!({"type": "tool_use", "id": call_id(&call.id), "name": call.name, "input": input});
    if let (Some(fields), Some(block)) = (shared_encoding::own_fields(call, provider), block.as_object_mut()) {
        block.extend(fields.clone());
    }
    block
}

fn tool_result(result: &ToolResult) -> Result<Value, LlmError> {
    let text = shared_encoding::result_text(&result.content);
    let content = match &result.image {
        None => Value::String(text),
        Some(image) if text.is_empty() => json!([image_block(image)?]),
        Some(image) => json!([{"type": "text", "text": text}, image_block(image)?]),
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": call_id(&result.tool_call_id), "content": content});
    if result.is_error {
        block["is_error"] = true.into();
    }
    Ok(block)
}

/// Reasoning is echoed unchanged, and only to its own provider: its signature is invalid elsewhere.
fn thinking_block(thinking: &ThinkingData, provider: &str) -> Option<Value> {
    if thinking.provider.as_deref() != Some(provider) {
        return None;
    }
    if let Some(block) = &thinking.provider_data {
        return Some(block.clone());
    }
    let signature = thinking.signature.as_deref()?;
    Some(json!({"type": "thinking", "thinking": thinking.text, "signature": signature}))
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named { tool_name } => json!({"type": "tool", "name": tool_name}),
    }
}

fn insert_sampling(body: &mut Map<String, Value>, request: &Request, info: Option<&ModelInfo>) {
    if info.is_none_or(|info| info.supports_sampling) {
        if let Some(temperature) = request.temperature {
            body.insert("temperature".into(), temperature.into());
        }
        if let Some(top_p) = request.top_p {
            body.insert("top_p".into(), top_p.into());
        }
    }
    if !request.stop_sequences.is_empty() {
        body.insert("stop_sequences".into(), request.stop_sequences.clone().into());
    }
}

/// Maps `reasoning_effort`. Models up to 4.5 take a budget of tokens, later models an effort.
fn insert_thinking(body: &mut Map<String, Value>, request: &Request, info: Option<&ModelInfo>, max_tokens: u64) {
    let Some(effort) = request.reasoning_effort.as_deref().filter(|effort| *effort != "none") else { return };
    // The API rejects thinking together with a forced tool call.
    let forced = matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Named { .. }));
    if forced || info.is_some_and(|info| !info.supports_reasoning) {
        return;
    }
    if info.is_none_or(|info| !info.efforts.is_empty()) {
        let effort = if effort == "minimal" { "low" } else { effort };
        let effort = info.and_then(|info| info.nearest_effort(effort)).unwrap_or(effort);
        body.insert("thinking".into(), json!({"type": "adaptive"}));
        body.insert("output_config".into(), json!({"effort": effort}));
        return;
    }
    let budget = match effort {
        "minimal" => THINKING_TOKENS_MIN,
        "low" => 4096,
        "medium" => 8192,
        "high" => 16_384,
        _ => 32_000,
    };
    let budget = budget.min(max_tokens.saturating_sub(1));
    if budget >= THINKING_TOKENS_MIN {
        // A thinking budget excludes a temperature.
        body.shift_remove("temperature");
        body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
    }
}

fn count_marks(blocks: &[Value]) -> usize {
    blocks.iter().filter(|block| block.get("cache_control").is_some()).count()
}

/// Sets up to `marks_max` cache marks, the most useful first, and returns the number of marks set.
fn set_marks(tools: &mut [Value], system: &mut [Value], merged: &mut [ApiMessage], marks_max: usize) -> usize {
    let mut left = marks_max;
    let mut mark = |set: &mut dyn FnMut() -> bool| left -= usize::from(left > 0 && set());
    let mut users = merged.iter_mut().rev().filter(|message| message.role == "user");
    let (last, before) = (users.next(), users.next());
    if let Some(message) = last {
        mark(&mut || message.mark());
    }
    mark(&mut || mark_last(system));
    if let Some(message) = before {
        mark(&mut || message.mark());
    }
    mark(&mut || mark_last(tools));
    marks_max - left
}

fn is_markable(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    block.is_object() && !matches!(kind, Some("thinking" | "redacted_thinking")) && block.get("cache_control").is_none()
}

fn mark_last(blocks: &mut [Value]) -> bool {
    let Some(block) = blocks.last_mut().filter(|block| is_markable(block)) else { return false };
    block["cache_control"] = json!({"type": "ephemeral"});
    true
}
