//! Decodes a Responses response, streamed or whole, to unified events.
//!
//! Items are keyed by their position (`output_index`), because some providers change an item's id between its first and
//! last event. The final form of an item is that of `output_item.done`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::LlmError;
use crate::model::{ContentPart, FinishKind, FinishReason, RateLimitInfo, StreamEvent, Usage, Warning};
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::framing::Reader;
use crate::providers::shared::index_map::IndexMap;
use crate::providers::shared::response_builder::{Events, ResponseBuilder, Slot, take};

pub(super) struct ResponsesReader {
    errors: ErrorDecoder,
    response: ResponseBuilder,
    items: IndexMap<Item>,
    refused: bool,
    called: bool,
}

enum Item {
    /// A message, with the text part of each of its contents.
    Message(IndexMap<Slot>),
    /// A reasoning item, with the position of the summary or content that its text has reached.
    Reasoning(Slot, Option<u64>),
    Call(Slot),
    /// An item kept verbatim.
    Verbatim(Slot),
    Done,
}

/// The fields of a call that the unified model holds, or that are invalid after the response.
const CALL_FIELDS: [&str; 7] = ["id", "type", "status", "call_id", "name", "arguments", "input"];

impl ResponsesReader {
    pub(super) fn new(errors: ErrorDecoder, rate_limit: Option<RateLimitInfo>) -> Self {
        let mut response = ResponseBuilder::new(&errors.provider);
        response.rate_limit = rate_limit;
        Self { errors, response, items: IndexMap::default(), refused: false, called: false }
    }

    fn start(&mut self, response: &Value, events: &mut Events) {
        if self.response.start(text(response, "id"), text(response, "model"), events) {
            self.items = IndexMap::default();
            (self.refused, self.called) = (false, false);
        }
    }

    fn add_item(&mut self, index: u64, item: &Value, events: &mut Events) {
        let added = match text(item, "type") {
            "message" => Item::Message(IndexMap::default()),
            "reasoning" => Item::Reasoning(self.response.open_thinking(events), None),
            kind @ ("function_call" | "custom_tool_call") => {
                self.called = true;
                let custom = kind == "custom_tool_call";
                Item::Call(self.response.open_call(text(item, "call_id"), text(item, "name"), custom, events))
            }
            _ => Item::Verbatim(self.response.whole(self.verbatim(Value::Null))),
        };
        self.items.insert(index, added);
    }

    fn verbatim(&self, data: Value) -> ContentPart {
        ContentPart::Provider { provider: self.errors.provider.clone(), data }
    }

    /// Returns the text part of a message's content, and begins it if it is new.
    fn text_slot(&mut self, index: u64, content_index: u64, events: &mut Events) -> Option<Slot> {
        match self.items.get_or_insert_with(index, || Item::Message(IndexMap::default())) {
            Item::Message(slots) => Some(*slots.get_or_insert_with(content_index, || self.response.open_text(events))),
            _ => None,
        }
    }

    fn reasoning_delta(&mut self, index: u64, place: u64, delta: &str, events: &mut Events) {
        let Some(Item::Reasoning(slot, reached)) = self.items.get_mut(index) else { return };
        if reached.replace(place).is_some_and(|last| last != place) {
            self.response.delta(*slot, "\n\n", events);
        }
        self.response.delta(*slot, delta, events);
    }

    fn finish_item(&mut self, index: u64, item: Value, events: &mut Events) {
        if self.items.get(index).is_none() {
            self.add_item(index, &item, events);
        }
        match self.items.insert(index, Item::Done) {
            Some(Item::Message(slots)) => self.finish_message(&slots, item, events),
            Some(Item::Reasoning(slot, _)) => self.finish_reasoning(slot, item, events),
            Some(Item::Call(slot)) => self.finish_call(slot, item, events),
            Some(Item::Verbatim(slot)) => self.response.set_whole(slot, self.verbatim(item)),
            Some(Item::Done) | None => {}
        }
    }

    fn finish_message(&mut self, slots: &IndexMap<Slot>, mut item: Value, events: &mut Events) {
        let phase = item.get("phase").cloned().filter(|phase| !phase.is_null());
        let Value::Array(contents) = take(&mut item, "content") else { return };
        for (place, content) in contents.into_iter().enumerate() {
            match text(&content, "type") {
                "output_text" => {
                    let known = slots.get(place as u64).copied();
                    let slot = known.unwrap_or_else(|| self.response.open_text(events));
                    if self.response.collected(slot).is_empty() {
                        self.response.delta(slot, text(&content, "text"), events);
                    }
                    if let Some(fields) = self.response.annotation(slot) {
                        fields.extend(phase.clone().map(|phase| ("phase".to_owned(), phase)));
                        let annotations = content.get("annotations").and_then(Value::as_array);
                        if let Some(annotations) = annotations.filter(|annotations| !annotations.is_empty()) {
                            fields.insert("annotations".into(), annotations.clone().into());
                        }
                    }
                    self.response.close(slot, events);
                }
                "refusal" => {
                    self.refused = true;
                    let message = text(&content, "refusal").to_owned();
                    self.response.warnings.push(Warning { message, code: Some("refusal".into()) });
                    let message = json!({"type": "message", "role": "assistant", "content": [content]});
                    self.response.whole(self.verbatim(message));
                }
                _ => {}
            }
        }
    }

    fn finish_reasoning(&mut self, slot: Slot, item: Value, events: &mut Events) {
        if self.response.collected(slot).is_empty() {
            let texts = |key: &str| -> Vec<String> {
                let parts = item[key].as_array().into_iter().flatten();
                parts.map(|part| text(part, "text").to_owned()).filter(|text| !text.is_empty()).collect()
            };
            let summary = texts("summary");
            let said = if summary.is_empty() { texts("content") } else { summary };
            self.response.delta(slot, &said.join("\n\n"), events);
        }
        if let Some(thinking) = self.response.thinking(slot) {
            thinking.signature = item["encrypted_content"].as_str().map(str::to_owned);
            thinking.provider_data = Some(item);
        }
        self.response.close(slot, events);
    }

    fn finish_call(&mut self, slot: Slot, item: Value, events: &mut Events) {
        let whole = item["arguments"].as_str().or_else(|| item["input"].as_str()).unwrap_or_default();
        let known = self.response.collected(slot).len();
        // The pieces are a prefix of the whole text, and usually all of it.
        if let Some(rest) = whole.get(known..).filter(|_| whole.starts_with(self.response.collected(slot))) {
            self.response.delta(slot, rest, events);
        }
        let Value::Object(fields) = item else { return };
        let extra: Map<String, Value> = fields
            .into_iter()
            .filter(|(key, value)| !CALL_FIELDS.contains(&key.as_str()) && !value.is_null())
            .collect();
        if let (false, Some(call)) = (extra.is_empty(), self.response.call(slot)) {
            call.provider_data = Some(json!({ &self.errors.provider: extra }));
        }
        self.response.close(slot, events);
    }

    /// Ends the response with the status that the provider reports.
    fn finish(&mut self, mut response: Value, events: &mut Events) -> Result<(), LlmError> {
        if response["status"] == "failed" || response.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.errors.in_stream(&response));
        }
        self.start_if_new(&response, events);
        // Items that arrived one by one take precedence; the list at the end may be empty.
        if let (true, Value::Array(output)) = (self.items.is_empty(), take(&mut response, "output")) {
            for (index, item) in output.into_iter().enumerate() {
                self.finish_item(index as u64, item, events);
            }
        }
        let raw = response["status"].as_str().map(str::to_owned);
        let reason = match (raw.as_deref(), response["incomplete_details"]["reason"].as_str()) {
            (Some("incomplete"), Some("max_output_tokens")) => FinishKind::Length,
            (Some("incomplete"), Some("content_filter")) => FinishKind::ContentFilter,
            (Some("completed"), _) if self.called => FinishKind::ToolCalls,
            (Some("completed"), _) if self.refused => FinishKind::ContentFilter,
            (Some("completed"), _) => FinishKind::Stop,
            (Some("cancelled"), _) => FinishKind::Error,
            _ => FinishKind::Other,
        };
        let raw_usage = take(&mut response, "usage");
        self.response.usage = if raw_usage.is_object() { usage(raw_usage) } else { Usage::default() };
        self.response.finish(FinishReason { reason, raw }, events);
        Ok(())
    }

    fn start_if_new(&mut self, response: &Value, events: &mut Events) {
        if !self.response.is_started() {
            self.start(response, events);
        }
    }
}

/// A delta of text or arguments: nearly every event of a stream.
#[derive(Deserialize)]
struct DeltaEvent {
    output_index: u64,
    #[serde(default)]
    content_index: u64,
    delta: String,
}

impl Reader for ResponsesReader {
    fn decode_delta_fast(&mut self, data: &str, events: &mut Events) -> bool {
        let is = |kind: &str| {
            let rest = data.strip_prefix("{\"type\":\"response.").and_then(|rest| rest.strip_prefix(kind));
            rest.is_some_and(|rest| rest.starts_with(".delta\""))
        };
        let (text, arguments) = (is("output_text"), is("function_call_arguments"));
        if !text && !arguments {
            return false;
        }
        let Ok(DeltaEvent { output_index, content_index, delta }) = serde_json::from_str(data) else { return false };
        let slot = match self.items.get(output_index) {
            Some(Item::Message(slots)) if text => slots.get(content_index),
            Some(Item::Call(slot)) if arguments => Some(slot),
            _ => None,
        };
        let Some(slot) = slot.copied() else { return false };
        self.response.delta_owned(slot, delta, events);
        true
    }

    fn event(&mut self, mut event: Value, events: &mut Events) -> Result<(), LlmError> {
        let index = event["output_index"].as_u64().unwrap_or_default();
        let place = |key: &str| event[key].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "response.created" => self.start(&event["response"], events),
            "response.output_item.added" => self.add_item(index, &event["item"], events),
            "response.output_item.done" => self.finish_item(index, take(&mut event, "item"), events),
            "response.output_text.delta" => {
                if let Some(slot) = self.text_slot(index, place("content_index"), events) {
                    self.response.delta(slot, text(&event, "delta"), events);
                }
            }
            "response.reasoning_summary_text.delta" => {
                self.reasoning_delta(index, place("summary_index"), text(&event, "delta"), events);
            }
            "response.reasoning_text.delta" => {
                self.reasoning_delta(index, place("content_index"), text(&event, "delta"), events);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                if let Some(Item::Call(slot)) = self.items.get(index) {
                    self.response.delta(*slot, text(&event, "delta"), events);
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.finish(take(&mut event, "response"), events)?;
            }
            "error" => return Err(self.errors.in_stream(&event)),
            // These events repeat the contents of others.
            "response.queued"
            | "response.in_progress"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.output_text.annotation.added"
            | "response.refusal.delta"
            | "response.refusal.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done"
            | "response.function_call_arguments.done"
            | "response.custom_tool_call_input.done" => {}
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(self.errors.in_stream(&event));
            }
            _ => events.push(StreamEvent::ProviderEvent { raw: event }),
        }
        Ok(())
    }

    fn whole(&mut self, body: Value, events: &mut Events) -> Result<(), LlmError> {
        if !body["output"].is_array() && body["error"].is_null() {
            let provider = &self.errors.provider;
            return Err(self.errors.unreadable(format!("the response of {provider} is malformed: it has no output")));
        }
        self.finish(body, events)
    }

    fn end(&mut self, _events: &mut Events) -> Result<(), LlmError> {
        let provider = &self.errors.provider;
        let message = format!("the response of {provider} ended early (no response.completed)");
        Err(self.errors.unreadable(message))
    }

    fn is_finished(&self) -> bool {
        self.response.is_finished()
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn usage(raw: Value) -> Usage {
    let count = |pointer: &str| raw.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/input_tokens").unwrap_or(0),
        output_tokens: count("/output_tokens").unwrap_or(0),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        cache_read_tokens: count("/input_tokens_details/cached_tokens"),
        cache_write_tokens: count("/input_tokens_details/cache_write_tokens"),
        raw: Some(raw),
    }
}
