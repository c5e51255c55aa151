//! Assembles one response: decoded data becomes events at once and a [`Response`] at the end.
//!
//! This module knows the unified model only. The decoders know the wire formats.

use serde_json::{Map, Value};

use crate::model::{
    ContentPart, FinishKind, FinishReason, LOCAL_ID_PREFIX, Message, RateLimitInfo, Response, Role, StreamEvent,
    ThinkingData, ToolCall, Usage, Warning,
};

/// Index of a part of the response. Valid until [`ResponseBuilder::start`] begins another response.
pub(crate) type Slot = usize;

/// Removes and returns the field `key` of `value`. Returns null if there is none or `value` is not an object, where
/// mutable indexing would panic.
pub(crate) fn take(value: &mut Value, key: &str) -> Value {
    value.get_mut(key).map(Value::take).unwrap_or_default()
}

/// The events decoded so far, to which every step appends.
pub(crate) type Events = Vec<StreamEvent>;

pub(crate) struct ResponseBuilder {
    provider: String,
    id: String,
    model: String,
    started: bool,
    parts: Vec<PartSlot>,
    pub(crate) usage: Usage,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) rate_limit: Option<RateLimitInfo>,
    finished: bool,
}

struct PartSlot {
    content: PartContent,
    open: bool,
    /// Fields of a text that only its provider knows.
    annotation: Map<String, Value>,
}

enum PartContent {
    Text { id: String, text: String },
    Thinking(ThinkingData),
    Call { call: ToolCall, raw: String },
    Whole(ContentPart),
}

impl ResponseBuilder {
    pub(crate) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: String::new(),
            model: String::new(),
            started: false,
            parts: Vec::new(),
            usage: Usage::default(),
            warnings: Vec::new(),
            rate_limit: None,
            finished: false,
        }
    }

    /// Returns whether [`finish`](Self::finish) was called.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns whether [`start`](Self::start) was called.
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Begins the response `id` and returns whether it is new. A response with another id replaces the parts so far,
    /// because a proxy that reconnects in the middle starts from the beginning.
    pub(crate) fn start(&mut self, id: &str, model: &str, events: &mut Events) -> bool {
        if self.started && self.id == id {
            return false;
        }
        self.started = true;
        id.clone_into(&mut self.id);
        model.clone_into(&mut self.model);
        self.parts.clear();
        events.push(StreamEvent::StreamStart { id: id.to_owned(), model: model.to_owned() });
        true
    }

    fn push(&mut self, content: PartContent, open: bool) -> Slot {
        self.parts.push(PartSlot { content, open, annotation: Map::new() });
        self.parts.len() - 1
    }

    pub(crate) fn open_text(&mut self, events: &mut Events) -> Slot {
        let id = format!("text_{}", self.parts.len());
        events.push(StreamEvent::TextStart { text_id: id.clone() });
        self.push(PartContent::Text { id, text: String::new() }, true)
    }

    pub(crate) fn open_thinking(&mut self, events: &mut Events) -> Slot {
        events.push(StreamEvent::ReasoningStart);
        let provider = Some(self.provider.clone());
        self.push(PartContent::Thinking(ThinkingData { provider, ..ThinkingData::default() }), true)
    }

    /// Opens a tool call. An empty `id` is replaced by a local one, made from the response's id and the call's
    /// position.
    pub(crate) fn open_call(&mut self, id: &str, name: &str, custom: bool, events: &mut Events) -> Slot {
        let id = if id.is_empty() { local_call_id(&self.id, self.parts.len()) } else { id.to_owned() };
        events.push(StreamEvent::ToolCallStart { id: id.clone(), name: name.to_owned() });
        let call = ToolCall {
            id,
            name: name.to_owned(),
            arguments: Value::Null,
            raw_arguments: None,
            custom,
            provider_data: None,
        };
        self.push(PartContent::Call { call, raw: String::new() }, true)
    }

    /// Adds a part that is already complete.
    pub(crate) fn whole(&mut self, part: ContentPart) -> Slot {
        self.push(PartContent::Whole(part), false)
    }

    /// Adds text, reasoning or argument text to the part in `slot`, according to its kind.
    pub(crate) fn delta(&mut self, slot: Slot, delta: &str, events: &mut Events) {
        self.delta_owned(slot, delta.to_owned(), events);
    }

    /// As [`delta`](Self::delta), but takes the text without a copy.
    pub(crate) fn delta_owned(&mut self, slot: Slot, delta: String, events: &mut Events) {
        if delta.is_empty() {
            return;
        }
        let Some(part) = self.parts.get_mut(slot) else { return };
        match &mut part.content {
            PartContent::Text { id, text } => {
                text.push_str(&delta);
                events.push(StreamEvent::TextDelta { text_id: id.clone(), delta });
            }
            PartContent::Thinking(thinking) => {
                thinking.text.push_str(&delta);
                events.push(StreamEvent::ReasoningDelta { delta });
            }
            PartContent::Call { call, raw } => {
                raw.push_str(&delta);
                events.push(StreamEvent::ToolCallDelta { id: call.id.clone(), delta });
            }
            PartContent::Whole(_) => {}
        }
    }

    /// Returns the reasoning in `slot`.
    pub(crate) fn thinking(&mut self, slot: Slot) -> Option<&mut ThinkingData> {
        match self.parts.get_mut(slot).map(|part| &mut part.content) {
            Some(PartContent::Thinking(thinking)) => Some(thinking),
            _ => None,
        }
    }

    /// Returns the tool call in `slot`.
    pub(crate) fn call(&mut self, slot: Slot) -> Option<&mut ToolCall> {
        match self.parts.get_mut(slot).map(|part| &mut part.content) {
            Some(PartContent::Call { call, .. }) => Some(call),
            _ => None,
        }
    }

    /// Returns the text collected in `slot` so far: text, reasoning or the raw arguments of a call.
    pub(crate) fn collected(&self, slot: Slot) -> &str {
        match self.parts.get(slot).map(|part| &part.content) {
            Some(PartContent::Text { text, .. }) => text,
            Some(PartContent::Thinking(thinking)) => &thinking.text,
            Some(PartContent::Call { raw, .. }) => raw,
            _ => "",
        }
    }

    /// Replaces the complete part in `slot`.
    pub(crate) fn set_whole(&mut self, slot: Slot, part: ContentPart) {
        if let Some(PartContent::Whole(whole)) = self.parts.get_mut(slot).map(|part| &mut part.content) {
            *whole = part;
        }
    }

    /// Returns the fields of the text in `slot` that only its provider knows.
    pub(crate) fn annotation(&mut self, slot: Slot) -> Option<&mut Map<String, Value>> {
        self.parts.get_mut(slot).map(|part| &mut part.annotation)
    }

    /// Ends the part in `slot`. A second call has no effect.
    pub(crate) fn close(&mut self, slot: Slot, events: &mut Events) {
        let Some(part) = self.parts.get_mut(slot) else { return };
        if !std::mem::take(&mut part.open) {
            return;
        }
        match &mut part.content {
            PartContent::Text { id, .. } => events.push(StreamEvent::TextEnd { text_id: id.clone() }),
            PartContent::Thinking(_) => events.push(StreamEvent::ReasoningEnd),
            PartContent::Call { call, raw } => {
                let raw = std::mem::take(raw);
                call.arguments = read_arguments(&raw, call.custom);
                call.raw_arguments = Some(raw);
                events.push(StreamEvent::ToolCallEnd { tool_call: call.clone() });
            }
            PartContent::Whole(_) => {}
        }
    }

    /// Ends the response: closes all open parts and emits the finish event.
    pub(crate) fn finish(&mut self, finish_reason: FinishReason, events: &mut Events) {
        self.finished = true;
        for slot in 0..self.parts.len() {
            self.close(slot, events);
        }
        let mut content = Vec::with_capacity(self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            content.push(match part.content {
                PartContent::Text { text, .. } => ContentPart::Text { text },
                PartContent::Thinking(thinking) => ContentPart::Thinking(thinking),
                PartContent::Call { mut call, .. } => {
                    // Truncated before its first argument, which differs from a call without arguments.
                    if finish_reason.reason == FinishKind::Length && call.raw_arguments.as_deref() == Some("") {
                        call.arguments = Value::String(String::new());
                    }
                    ContentPart::ToolCall(call)
                }
                PartContent::Whole(part) => part,
            });
            if !part.annotation.is_empty() {
                content.push(ContentPart::annotation(&self.provider, part.annotation));
            }
        }
        events.push(StreamEvent::Finish {
            response: Response {
                id: std::mem::take(&mut self.id),
                model: std::mem::take(&mut self.model),
                provider: self.provider.clone(),
                message: Message { role: Role::Assistant, content: content.into(), name: None },
                finish_reason,
                usage: std::mem::take(&mut self.usage),
                warnings: std::mem::take(&mut self.warnings),
                rate_limit: self.rate_limit.take(),
            },
        });
    }
}

/// Returns a local id for the call at `place` in the response `response_id`: letters, digits, `_` and `-`, at most 64
/// characters, as every provider accepts.
pub(crate) fn local_call_id(response_id: &str, place: usize) -> String {
    let valid: String =
        response_id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(40).collect();
    format!("{LOCAL_ID_PREFIX}{valid}_{place}")
}

/// Parses the arguments of a call. An empty text and `null` mean no arguments; text that is not JSON stays text.
fn read_arguments(raw: &str, custom: bool) -> Value {
    if custom {
        return Value::String(raw.to_owned());
    }
    let trimmed = raw.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Value::Object(Map::new());
    }
    serde_json::from_str(trimmed).unwrap_or_else(|_| Value::String(raw.to_owned()))
}
