//! Collects the events of a stream into the response, at any point of the stream.

use futures::StreamExt;

use crate::error::{ErrorKind, LlmError};
use crate::model::{
    ContentPart, FinishKind, FinishReason, Message, Response, Role, StreamEvent, ThinkingData, ToolCall, Usage,
};
use crate::provider::EventStream;

/// Collects stream events. Each event is cheap: texts grow in place.
#[derive(Clone, Debug, Default)]
pub struct StreamAccumulator {
    id: String,
    model: String,
    parts: Vec<OpenPart>,
    response: Option<Response>,
}

#[derive(Clone, Debug)]
enum OpenPart {
    Text { id: String, text: String },
    Thinking { text: String, open: bool },
    Call(ToolCall),
}

impl StreamAccumulator {
    /// Returns an empty accumulator.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next event.
    pub fn process(&mut self, event: &StreamEvent) {
        match event {
            // A stream that restarts replaces its earlier events.
            StreamEvent::StreamStart { id, model } => {
                *self = Self { id: id.clone(), model: model.clone(), ..Self::default() };
            }
            StreamEvent::TextStart { text_id } => {
                self.parts.push(OpenPart::Text { id: text_id.clone(), text: String::new() });
            }
            StreamEvent::TextDelta { text_id, delta } => {
                let text = self.parts.iter_mut().rev().find_map(|part| match part {
                    OpenPart::Text { id, text } if id == text_id => Some(text),
                    _ => None,
                });
                if let Some(text) = text {
                    text.push_str(delta);
                }
            }
            StreamEvent::ReasoningStart => self.parts.push(OpenPart::Thinking { text: String::new(), open: true }),
            StreamEvent::ReasoningDelta { delta } => {
                if let Some((text, _)) = self.open_thinking() {
                    text.push_str(delta);
                }
            }
            StreamEvent::ReasoningEnd => {
                if let Some((_, open)) = self.open_thinking() {
                    *open = false;
                }
            }
            StreamEvent::ToolCallStart { id, name } => self.parts.push(OpenPart::Call(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new().into(),
                raw_arguments: Some(String::new()),
                custom: false,
                provider_data: None,
            })),
            StreamEvent::ToolCallDelta { id, delta } => {
                if let Some(raw) = self.call(id).and_then(|call| call.raw_arguments.as_mut()) {
                    raw.push_str(delta);
                }
            }
            StreamEvent::ToolCallEnd { tool_call } => {
                if let Some(call) = self.call(&tool_call.id) {
                    call.clone_from(tool_call);
                }
            }
            StreamEvent::Finish { response } => self.response = Some(response.clone()),
            StreamEvent::TextEnd { .. } | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    fn open_thinking(&mut self) -> Option<(&mut String, &mut bool)> {
        self.parts.iter_mut().rev().find_map(|part| match part {
            OpenPart::Thinking { text, open } if *open => Some((text, open)),
            _ => None,
        })
    }

    fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        self.parts.iter_mut().rev().find_map(|part| match part {
            OpenPart::Call(call) if call.id == id => Some(call),
            _ => None,
        })
    }

    /// Returns the whole response once the stream has finished.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    /// Returns the response so far. Before the end its finish reason is `error`, and calls with incomplete arguments
    /// hold them as text.
    #[must_use]
    pub fn partial_response(&self) -> Response {
        if let Some(response) = &self.response {
            return response.clone();
        }
        let content = self.parts.iter().map(|part| match part {
            OpenPart::Text { text, .. } => ContentPart::Text { text: text.clone() },
            OpenPart::Thinking { text, .. } => {
                ContentPart::Thinking(ThinkingData { text: text.clone(), ..ThinkingData::default() })
            }
            OpenPart::Call(call) => {
                let mut call = call.clone();
                if call.arguments.is_string()
                    && let Some(raw) = &call.raw_arguments
                {
                    call.arguments = raw.clone().into();
                }
                ContentPart::ToolCall(call)
            }
        });
        Response {
            id: self.id.clone(),
            model: self.model.clone(),
            provider: String::new(),
            message: Message { role: Role::Assistant, content: content.collect(), name: None },
            finish_reason: FinishReason { reason: FinishKind::Error, raw: None },
            usage: Usage::default(),
            warnings: Vec::new(),
            rate_limit: None,
        }
    }
}

/// Reads a stream to its end and returns the whole response.
///
/// # Errors
///
/// The error of the stream, or [`ErrorKind::Stream`] if it ends without its finish event.
pub async fn collect(mut stream: EventStream) -> Result<Response, LlmError> {
    while let Some(event) = stream.next().await {
        if let StreamEvent::Finish { response } = event? {
            return Ok(response);
        }
    }
    Err(LlmError::new(ErrorKind::Stream, "the response ended without its end event"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::anthropic::{Anthropic, Config};
    use crate::testing::{covers, decode, sse};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn events() -> Vec<StreamEvent> {
        let delta = |index: u64, delta: serde_json::Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let start = |index: u64, block: serde_json::Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let body = sse(&[
            json!({"type": "message_start", "message": {"id": "m1", "model": "c"}}),
            start(0, json!({"type": "thinking", "thinking": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            json!({"type": "content_block_stop", "index": 0}),
            start(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "He"})),
            delta(1, json!({"type": "text_delta", "text": "y"})),
            json!({"type": "content_block_stop", "index": 1}),
            start(2, json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "1}"})),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]);
        decode(&Anthropic::new(Config::default()), &body).0
    }

    #[test]
    fn the_accumulated_response_equals_the_finished_one() {
        covers("generate.partial_response");
        let mut accumulator = StreamAccumulator::new();
        let events = events();
        events.iter().for_each(|event| accumulator.process(event));
        let response = accumulator.response().cloned().unwrap();
        assert_eq!(events.last(), Some(&StreamEvent::Finish { response: response.clone() }));
        assert_eq!(accumulator.partial_response(), response);
    }

    #[test]
    fn a_partial_response_is_available_before_the_end() {
        covers("generate.partial_response");
        let mut accumulator = StreamAccumulator::new();
        let mut seen = Vec::new();
        for event in &events()[..events().len() - 1] {
            accumulator.process(event);
            let response = accumulator.partial_response();
            let calls = response.message.tool_calls();
            let arguments = calls.first().map(|call| call.arguments.to_string()).unwrap_or_default();
            seen.push(format!(
                "{}|{}|{arguments}",
                response.message.reasoning().unwrap_or_default(),
                response.message.text()
            ));
        }
        seen.dedup();
        let call = |arguments: &str| format!("hm|Hey|{arguments}");
        assert_eq!(
            seen,
            [
                "||",
                "hm||",
                "hm|He|",
                "hm|Hey|",
                &call("\"\""),
                &call("\"{\\\"a\\\":\""),
                &call("\"{\\\"a\\\":1}\""),
                &call("{\"a\":1}")
            ]
        );
    }

    #[test]
    fn a_second_start_replaces_the_first() {
        let mut accumulator = StreamAccumulator::new();
        accumulator.process(&StreamEvent::TextStart { text_id: "a".into() });
        accumulator.process(&StreamEvent::StreamStart { id: "2".into(), model: "m".into() });
        assert_eq!(accumulator.partial_response().message.content, []);
    }

    #[test]
    fn a_stream_without_its_end_does_not_collect() {
        let all: Vec<_> = events().into_iter().map(Ok).collect();
        let cut = all[..all.len() - 1].to_vec();
        let collect = |events: Vec<Result<StreamEvent, LlmError>>| {
            futures::executor::block_on(collect(Box::pin(futures::stream::iter(events))))
        };
        assert_eq!(collect(all).unwrap().message.text(), "Hey");
        assert_eq!(collect(cut).unwrap_err().kind, ErrorKind::Stream);
    }
}
