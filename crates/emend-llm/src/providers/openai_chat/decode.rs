//! Decodes a Chat Completions response, streamed or whole, to unified events.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::error::LlmError;
use crate::model::{ContentPart, FinishKind, FinishReason, RateLimitInfo, Usage, Warning};
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::framing::Reader;
use crate::providers::shared::index_map::IndexMap;
use crate::providers::shared::response_builder::{Events, ResponseBuilder, Slot};

pub(super) struct ChatReader {
    errors: ErrorDecoder,
    response: ResponseBuilder,
    started: bool,
    /// The text or reasoning that the next piece of its kind continues.
    current: Option<(Kind, Slot)>,
    /// The open tool calls, by the provider's index.
    calls: IndexMap<Slot>,
    usage: Option<Value>,
    finish_reason: Option<String>,
    refusal: String,
}

/// A kind of text, identified by its field: it is echoed in the same field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning(&'static str),
}

impl ChatReader {
    pub(super) fn new(errors: ErrorDecoder, rate_limit: Option<RateLimitInfo>) -> Self {
        let mut response = ResponseBuilder::new(&errors.provider);
        response.rate_limit = rate_limit;
        Self {
            errors,
            response,
            started: false,
            current: None,
            calls: IndexMap::default(),
            usage: None,
            finish_reason: None,
            refusal: String::new(),
        }
    }

    /// Reads one chunk, or a whole response, which differs only in the name of the field with the message.
    fn chunk(&mut self, chunk: &Value, events: &mut Events) -> Result<(), LlmError> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.errors.in_stream(chunk));
        }
        let id = chunk["id"].as_str().unwrap_or_default();
        let choices = chunk["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        // Azure sends the verdict of its prompt filter first, in a chunk without id and choices.
        let empty = id.is_empty() && choices.is_empty();
        if !self.started && !empty {
            self.started = true;
            self.response.start(id, chunk["model"].as_str().unwrap_or_default(), events);
        }
        for choice in choices {
            if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
                return Err(self.errors.in_stream(&json!({"error": error})));
            }
            let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
            self.delta(delta, events);
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish_reason = Some(reason.to_owned());
            }
        }
        let usage = chunk.get("usage").filter(|usage| usage.is_object()).or_else(|| chunk.pointer("/x_groq/usage"));
        if let Some(usage) = usage {
            self.usage = Some(usage.clone());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, events: &mut Events) {
        self.reasoning(delta, events);
        match &delta["content"] {
            Value::String(text) => self.running(Kind::Text, text, events),
            // Mistral mixes reasoning and text in one list.
            Value::Array(parts) => {
                for part in parts {
                    if part["type"] == "thinking" {
                        for piece in part["thinking"].as_array().into_iter().flatten() {
                            self.running(
                                Kind::Reasoning("content"),
                                piece["text"].as_str().unwrap_or_default(),
                                events,
                            );
                        }
                    } else {
                        self.running(Kind::Text, part["text"].as_str().unwrap_or_default(), events);
                    }
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta["refusal"].as_str() {
            self.refusal.push_str(refusal);
        }
        let calls = delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (position, call) in calls.iter().enumerate() {
            self.call_delta(position as u64, call, events);
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.call_delta(0, &json!({"index": 0, "function": function}), events);
        }
    }

    fn reasoning(&mut self, delta: &Value, events: &mut Events) {
        for field in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta[field].as_str() {
                self.running(Kind::Reasoning(field), text, events);
            }
        }
        let Some(details) = delta["reasoning_details"].as_array().filter(|details| !details.is_empty()) else { return };
        let plain = delta["reasoning"].is_string();
        for detail in details {
            let text = detail["text"].as_str().or_else(|| detail["summary"].as_str()).unwrap_or_default();
            let slot = self.slot(Kind::Reasoning("reasoning"), events);
            if !plain {
                self.response.delta(slot, text, events);
            }
            let Some(thinking) = self.response.thinking(slot) else { continue };
            let data = thinking.provider_data.get_or_insert_with(|| json!({"field": "reasoning"}));
            match &mut data["reasoning_details"] {
                Value::Array(kept) => add_detail(kept, detail),
                none => *none = json!([detail]),
            }
        }
    }

    /// Returns the part that text of this kind continues, a new part if the last text was of another kind.
    fn slot(&mut self, kind: Kind, events: &mut Events) -> Slot {
        match self.current {
            Some((current, slot)) if current == kind => return slot,
            Some((_, slot)) => self.response.close(slot, events),
            None => {}
        }
        let slot = match kind {
            Kind::Text => self.response.open_text(events),
            Kind::Reasoning(field) => {
                let slot = self.response.open_thinking(events);
                if let Some(thinking) = self.response.thinking(slot) {
                    thinking.provider_data = Some(json!({"field": field}));
                }
                slot
            }
        };
        self.current = Some((kind, slot));
        slot
    }

    fn running(&mut self, kind: Kind, text: &str, events: &mut Events) {
        if !text.is_empty() {
            let slot = self.slot(kind, events);
            self.response.delta(slot, text, events);
        }
    }

    fn call_delta(&mut self, position: u64, delta: &Value, events: &mut Events) {
        let index = delta["index"].as_u64().unwrap_or(position);
        let custom = delta.get("custom").filter(|custom| custom.is_object());
        let function = custom.unwrap_or(&delta["function"]);
        let id = delta["id"].as_str().unwrap_or_default();
        let name = function["name"].as_str().unwrap_or_default();
        let known = self.calls.get(index).copied().filter(|slot| {
            // Some servers number every call 0: another id and a name begin another call.
            let other = self.response.call(*slot).is_some_and(|call| !id.is_empty() && call.id != id);
            !other || name.is_empty()
        });
        let slot = known.unwrap_or_else(|| {
            if let Some((_, slot)) = self.current.take() {
                self.response.close(slot, events);
            }
            let slot = self.response.open_call(id, name, custom.is_some(), events);
            self.calls.insert(index, slot);
            slot
        });
        if let (false, Some(call)) = (name.is_empty(), self.response.call(slot))
            && call.name.is_empty()
        {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments").or_else(|| function.get("input")) {
            Some(Value::String(piece)) => self.response.delta(slot, piece, events),
            Some(Value::Null) | None => {}
            Some(whole) => self.response.delta(slot, &whole.to_string(), events),
        }
    }

    fn finish(&mut self, events: &mut Events) {
        let raw = self.finish_reason.take();
        let reason = match raw.as_deref() {
            _ if !self.refusal.is_empty() => FinishKind::ContentFilter,
            // Some servers send `stop` although they call tools, and some send only `[DONE]`.
            Some("stop" | "tool_calls" | "function_call") | None if !self.calls.is_empty() => FinishKind::ToolCalls,
            Some("stop") | None => FinishKind::Stop,
            Some("length" | "model_length") => FinishKind::Length,
            Some("tool_calls" | "function_call") => FinishKind::ToolCalls,
            Some("content_filter") => FinishKind::ContentFilter,
            Some("error") => FinishKind::Error,
            Some(_) => FinishKind::Other,
        };
        if !self.refusal.is_empty() {
            let refusal = std::mem::take(&mut self.refusal);
            self.response.warnings.push(Warning { message: refusal.clone(), code: Some("refusal".into()) });
            let provider = self.errors.provider.clone();
            let data = json!({"type": "refusal", "refusal": refusal});
            self.response.whole(ContentPart::Provider { provider, data });
        }
        self.response.usage = self.usage.take().map(usage).unwrap_or_default();
        self.response.finish(FinishReason { reason, raw }, events);
    }
}

/// A chunk with a piece of text or of arguments and no other relevant field: nearly every chunk of a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickChunk {
    #[serde(rename = "id")]
    _id: IgnoredAny,
    #[serde(rename = "object")]
    _object: IgnoredAny,
    #[serde(rename = "created")]
    _created: IgnoredAny,
    #[serde(rename = "model")]
    _model: IgnoredAny,
    #[serde(rename = "system_fingerprint", default)]
    _system_fingerprint: IgnoredAny,
    #[serde(rename = "service_tier", default)]
    _service_tier: IgnoredAny,
    #[serde(rename = "obfuscation", default)]
    _obfuscation: IgnoredAny,
    #[serde(rename = "usage", default)]
    _usage: (),
    choices: [QuickChoice; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickChoice {
    #[serde(rename = "index")]
    _index: IgnoredAny,
    delta: DeltaText,
    #[serde(rename = "finish_reason", default)]
    _finish_reason: (),
    #[serde(rename = "logprobs", default)]
    _logprobs: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaText {
    #[serde(rename = "role", default)]
    _role: IgnoredAny,
    content: Option<String>,
    tool_calls: Option<[QuickCall; 1]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickCall {
    index: u64,
    function: QuickFunction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickFunction {
    arguments: String,
}

impl Reader for ChatReader {
    fn decode_delta_fast(&mut self, data: &str, events: &mut Events) -> bool {
        // Parsing twice costs more than it saves, so the chunk must look right first.
        if !self.started || !data.starts_with("{\"id\"") {
            return false;
        }
        let Ok(QuickChunk { choices: [QuickChoice { delta, .. }], .. }) = serde_json::from_str(data) else {
            return false;
        };
        match (delta, self.current) {
            (DeltaText { content: Some(text), tool_calls: None, .. }, Some((Kind::Text, slot))) => {
                self.response.delta_owned(slot, text, events);
                true
            }
            (DeltaText { content: None, tool_calls: Some([QuickCall { index, function }]), .. }, _) => {
                let Some(slot) = self.calls.get(index).copied() else { return false };
                self.response.delta_owned(slot, function.arguments, events);
                true
            }
            _ => false,
        }
    }

    fn event(&mut self, event: Value, events: &mut Events) -> Result<(), LlmError> {
        self.chunk(&event, events)
    }

    fn whole(&mut self, body: Value, events: &mut Events) -> Result<(), LlmError> {
        self.chunk(&body, events)?;
        if !body["choices"].is_array() {
            let provider = &self.errors.provider;
            return Err(self.errors.unreadable(format!("the response of {provider} is malformed: it has no choices")));
        }
        self.finish(events);
        Ok(())
    }

    fn done(&mut self, events: &mut Events) -> Result<(), LlmError> {
        if !self.started {
            let provider = &self.errors.provider;
            return Err(self.errors.unreadable(format!("the response of {provider} ended before its first chunk")));
        }
        self.finish(events);
        Ok(())
    }

    fn end(&mut self, events: &mut Events) -> Result<(), LlmError> {
        if self.finish_reason.is_none() {
            let provider = &self.errors.provider;
            let message = format!("the response of {provider} ended early (no finish_reason)");
            return Err(self.errors.unreadable(message));
        }
        self.finish(events);
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.response.is_finished()
    }
}

/// Adds a piece of signed reasoning. Pieces with the same index and type form one block.
fn add_detail(kept: &mut Vec<Value>, detail: &Value) {
    let continues = |last: &&mut Value| last["type"] == detail["type"] && last["index"] == detail["index"];
    let (Some(last), Some(fields)) = (kept.last_mut().filter(continues), detail.as_object()) else {
        kept.push(detail.clone());
        return;
    };
    for (key, value) in fields {
        match (&mut last[key], value) {
            (Value::String(old), Value::String(new)) if matches!(key.as_str(), "text" | "summary" | "data") => {
                old.push_str(new);
            }
            (_, Value::Null) => {}
            (old, value) => *old = value.clone(),
        }
    }
}

fn usage(raw: Value) -> Usage {
    let count = |pointer: &str| raw.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/prompt_tokens").unwrap_or(0),
        output_tokens: count("/completion_tokens").unwrap_or(0),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
        cache_read_tokens: count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens")),
        cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens"),
        raw: Some(raw),
    }
}
