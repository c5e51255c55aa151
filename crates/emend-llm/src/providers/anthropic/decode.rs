//! Decodes a Messages response, streamed or whole, to unified events.

use serde_json::{Map, Value, json};

use crate::error::LlmError;
use crate::model::{ContentPart, FinishKind, FinishReason, RateLimitInfo, StreamEvent, ThinkingData, Usage};
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::framing::Reader;
use crate::providers::shared::index_map::IndexMap;
use crate::providers::shared::response_builder::{Events, ResponseBuilder, Slot, take};

pub(super) struct MessagesReader {
    errors: ErrorDecoder,
    response: ResponseBuilder,
    /// The blocks that have begun and not ended, by the provider's index.
    open: IndexMap<Open>,
    /// The last value of each count that was not null: later events repeat and complete earlier ones.
    usage: Map<String, Value>,
    stop_reason: Option<String>,
}

enum Open {
    /// Text, reasoning or a tool call.
    Part(Slot),
    /// A tool call whose start event already had arguments. They count if no delta follows.
    Filled(Slot, Value),
    /// A block that is kept verbatim, with the pieces of its `input`.
    Verbatim { slot: Slot, block: Map<String, Value>, input: String },
}

impl MessagesReader {
    pub(super) fn new(errors: ErrorDecoder, rate_limit: Option<RateLimitInfo>) -> Self {
        let mut response = ResponseBuilder::new(&errors.provider);
        response.rate_limit = rate_limit;
        Self { errors, response, open: IndexMap::default(), usage: Map::new(), stop_reason: None }
    }

    fn start(&mut self, message: &Value, events: &mut Events) {
        let (id, model) = (text(message, "id"), text(message, "model"));
        if self.response.start(id, model, events) {
            self.open = IndexMap::default();
            self.usage.clear();
            self.stop_reason = None;
        }
        self.take_usage(&message["usage"]);
    }

    fn take_usage(&mut self, usage: &Value) {
        for (key, value) in usage.as_object().into_iter().flatten() {
            if !value.is_null() {
                self.usage.insert(key.clone(), value.clone());
            }
        }
    }

    /// Begins a block: empty in a stream, complete in a document.
    fn start_block(&mut self, block: Value, events: &mut Events) -> Open {
        match text(&block, "type") {
            "text" => {
                let slot = self.response.open_text(events);
                self.response.delta(slot, text(&block, "text"), events);
                for citation in block["citations"].as_array().into_iter().flatten() {
                    self.cite(slot, citation.clone());
                }
                Open::Part(slot)
            }
            "thinking" => {
                let slot = self.response.open_thinking(events);
                self.response.delta(slot, text(&block, "thinking"), events);
                self.sign(slot, text(&block, "signature"));
                Open::Part(slot)
            }
            "redacted_thinking" => {
                let thinking = ThinkingData {
                    text: String::new(),
                    signature: Some(text(&block, "data").to_owned()),
                    provider: Some(self.errors.provider.clone()),
                    provider_data: Some(block),
                };
                Open::Part(self.response.whole(ContentPart::RedactedThinking(thinking)))
            }
            "tool_use" => {
                let slot = self.response.open_call(text(&block, "id"), text(&block, "name"), false, events);
                if let (Some(caller), Some(call)) = (block.get("caller"), self.response.call(slot)) {
                    call.provider_data = Some(json!({ &self.errors.provider: {"caller": caller} }));
                }
                match &block["input"] {
                    Value::Object(input) if !input.is_empty() => Open::Filled(slot, block["input"].clone()),
                    _ => Open::Part(slot),
                }
            }
            _ => {
                let Value::Object(block) = block else { return Open::Part(Slot::MAX) };
                let part = ContentPart::Provider { provider: self.errors.provider.clone(), data: Value::Null };
                Open::Verbatim { slot: self.response.whole(part), block, input: String::new() }
            }
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, events: &mut Events) {
        match self.open.get_mut(index) {
            None => events.push(StreamEvent::ProviderEvent { raw: delta.clone() }),
            Some(Open::Verbatim { block, input, .. }) => match text(delta, "type") {
                "input_json_delta" => input.push_str(text(delta, "partial_json")),
                _ => grow(block, delta),
            },
            Some(open) => {
                let (Open::Part(slot) | Open::Filled(slot, _) | Open::Verbatim { slot, .. }) = *open;
                match text(delta, "type") {
                    "text_delta" => self.response.delta(slot, text(delta, "text"), events),
                    "thinking_delta" => self.response.delta(slot, text(delta, "thinking"), events),
                    "signature_delta" => self.sign(slot, text(delta, "signature")),
                    "citations_delta" => self.cite(slot, delta["citation"].clone()),
                    "input_json_delta" => self.response.delta(slot, text(delta, "partial_json"), events),
                    _ => events.push(StreamEvent::ProviderEvent { raw: delta.clone() }),
                }
            }
        }
    }

    fn sign(&mut self, slot: Slot, signature: &str) {
        if let (false, Some(thinking)) = (signature.is_empty(), self.response.thinking(slot)) {
            thinking.signature.get_or_insert_default().push_str(signature);
        }
    }

    fn cite(&mut self, slot: Slot, citation: Value) {
        let Some(fields) = self.response.annotation(slot) else { return };
        if let Value::Array(citations) = fields.entry("citations").or_insert_with(|| json!([])) {
            citations.push(citation);
        }
    }

    fn stop_block(&mut self, open: Open, events: &mut Events) {
        match open {
            Open::Part(slot) => self.response.close(slot, events),
            Open::Filled(slot, input) => {
                if self.response.collected(slot).is_empty() {
                    self.response.delta(slot, &input.to_string(), events);
                }
                self.response.close(slot, events);
            }
            Open::Verbatim { slot, mut block, input } => {
                if !input.is_empty() {
                    let parsed = serde_json::from_str(&input).unwrap_or(Value::String(input));
                    block.insert("input".into(), parsed);
                }
                let provider = self.errors.provider.clone();
                self.response.set_whole(slot, ContentPart::Provider { provider, data: Value::Object(block) });
            }
        }
    }

    fn finish(&mut self, events: &mut Events) {
        for open in self.open.take_all() {
            self.stop_block(open, events);
        }
        self.response.usage = usage(std::mem::take(&mut self.usage));
        let raw = self.stop_reason.take();
        let reason = match raw.as_deref() {
            Some("end_turn" | "stop_sequence") => FinishKind::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => FinishKind::Length,
            Some("tool_use") => FinishKind::ToolCalls,
            Some("refusal") => FinishKind::ContentFilter,
            Some("pause_turn") => FinishKind::Pause,
            _ => FinishKind::Other,
        };
        self.response.finish(FinishReason { reason, raw }, events);
    }
}

/// Returns index and text of a delta of text, reasoning or arguments, written as the service writes it: nearly every event
/// of a stream. The general parser reads all other forms.
///
/// A derived parser would be as fast. It would bring the error texts of a general parser into the browser's core, with
/// the formatting of floats: 20 kB.
fn usual_delta(data: &str) -> Option<(u64, String)> {
    // Prefixes only: a search for the next part takes longer than to read it.
    let rest = data.strip_prefix("{\"type\":\"content_block_delta\",\"index\":")?;
    let (index, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
    let rest = rest.strip_prefix(",\"delta\":{\"type\":\"")?;
    let fields = ["text_delta\",\"text\":", "thinking_delta\",\"thinking\":", "input_json_delta\",\"partial_json\":"];
    let text = fields.into_iter().find_map(|fields| rest.strip_prefix(fields))?;
    let close = |text: &'_ str| text.trim_end().strip_suffix('}').map(str::len);
    let text = &text[..close(text)?];
    let text = &text[..close(text)?];
    let is_number = !index.is_empty() && (index.len() == 1 || !index.starts_with('0'));
    match serde_json::from_str(text) {
        Ok(Value::String(text)) if is_number => Some((index.parse().ok()?, text)),
        _ => None,
    }
}

impl Reader for MessagesReader {
    fn decode_delta_fast(&mut self, data: &str, events: &mut Events) -> bool {
        let Some((index, text)) = usual_delta(data) else { return false };
        let Some(Open::Part(slot) | Open::Filled(slot, _)) = self.open.get(index) else { return false };
        self.response.delta_owned(*slot, text, events);
        true
    }

    fn event(&mut self, mut event: Value, events: &mut Events) -> Result<(), LlmError> {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.start(&event["message"], events),
            "content_block_start" => {
                let open = self.start_block(take(&mut event, "content_block"), events);
                if let Some(unfinished) = self.open.insert(index, open) {
                    self.stop_block(unfinished, events);
                }
            }
            "content_block_delta" => self.delta(index, &event["delta"], events),
            "content_block_stop" => {
                if let Some(open) = self.open.remove(index) {
                    self.stop_block(open, events);
                }
            }
            "message_delta" => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.take_usage(&event["usage"]);
            }
            "message_stop" => self.finish(events),
            "ping" => {}
            "error" => return Err(self.errors.in_stream(&event)),
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(self.errors.in_stream(&event));
            }
            _ => events.push(StreamEvent::ProviderEvent { raw: event }),
        }
        Ok(())
    }

    fn whole(&mut self, mut body: Value, events: &mut Events) -> Result<(), LlmError> {
        if body["type"] == "error" || body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.errors.in_stream(&body));
        }
        let Value::Array(blocks) = take(&mut body, "content") else {
            let provider = &self.errors.provider;
            return Err(self.errors.unreadable(format!("the response of {provider} is malformed: it has no content")));
        };
        self.start(&body, events);
        for block in blocks {
            let open = self.start_block(block, events);
            self.stop_block(open, events);
        }
        self.stop_reason = body["stop_reason"].as_str().map(str::to_owned);
        self.finish(events);
        Ok(())
    }

    fn end(&mut self, _events: &mut Events) -> Result<(), LlmError> {
        let provider = &self.errors.provider;
        Err(self.errors.unreadable(format!("the response of {provider} ended early (no message_stop)")))
    }

    fn is_finished(&self) -> bool {
        self.response.is_finished()
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Adds a delta to a block of an unknown kind: texts grow, other fields are replaced.
fn grow(block: &mut Map<String, Value>, delta: &Value) {
    for (key, value) in delta.as_object().into_iter().flatten().filter(|(key, _)| *key != "type") {
        match (block.get_mut(key), value) {
            (Some(Value::String(old)), Value::String(new)) => old.push_str(new),
            _ => {
                block.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The API does not count cached tokens in `input_tokens`; the unified count includes them.
fn usage(raw: Map<String, Value>) -> Usage {
    let count = |key: &str| raw.get(key).and_then(Value::as_u64);
    let (read, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let reasoning = raw.get("output_tokens_details").and_then(|details| details["thinking_tokens"].as_u64());
    Usage {
        input_tokens: count("input_tokens").unwrap_or(0) + read.unwrap_or(0) + written.unwrap_or(0),
        output_tokens: count("output_tokens").unwrap_or(0),
        reasoning_tokens: reasoning,
        cache_read_tokens: read,
        cache_write_tokens: written,
        raw: (!raw.is_empty()).then_some(Value::Object(raw)),
    }
}
