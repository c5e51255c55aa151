//! Responses of each wire format, in parts that can be cut, and its error responses.

use emend_llm::Api;
use serde_json::{Value, json};

/// The text of every response.
pub(crate) const TEXT: &str = "Hello";

/// The events of one response.
pub(crate) struct Answer {
    /// The events before the text.
    pub(crate) start: String,
    /// The event with the text.
    pub(crate) content: String,
    /// The events after the text.
    pub(crate) end: String,
    /// The same response as one document.
    pub(crate) whole: String,
}

impl Answer {
    pub(crate) fn stream(&self) -> String {
        [&*self.start, &self.content, &self.end].concat()
    }
}

fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect()
}

pub(crate) fn answer(api: Api) -> Answer {
    match api {
        Api::AnthropicMessages => anthropic(),
        Api::OpenAiResponses => responses(),
        Api::OpenAiChat => chat(),
        Api::Gemini => gemini(),
    }
}

fn anthropic() -> Answer {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "c", "usage": usage});
    let mut whole = message.clone();
    whole["content"] = json!([{"type": "text", "text": TEXT}]);
    whole["stop_reason"] = "end_turn".into();
    Answer {
        start: events(&[json!({"type": "message_start", "message": message})]),
        content: events(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}}),
        ]),
        end: events(&[
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ]),
        whole: whole.to_string(),
    }
}

fn responses() -> Answer {
    let part = json!({"type": "output_text", "text": TEXT, "annotations": []});
    let item = json!({"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [part]});
    let response = |status: &str, output: Value| {
        json!({"id": "r", "object": "response", "model": "g", "status": status, "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
    };
    let whole = response("completed", json!([item]));
    let added = json!({"id": "i", "type": "message", "role": "assistant", "status": "in_progress", "content": []});
    Answer {
        start: events(&[json!({"type": "response.created", "response": response("in_progress", json!([]))})]),
        content: events(&[
            json!({"type": "response.output_item.added", "output_index": 0, "item": added}),
            json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0, "item_id": "i",
                "part": {"type": "output_text", "text": "", "annotations": []}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i",
                "delta": TEXT}),
        ]),
        end: events(&[
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": whole}),
        ]),
        whole: whole.to_string(),
    }
}

fn chat() -> Answer {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "model": "g",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let message = json!({"role": "assistant", "content": TEXT});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    Answer {
        start: events(&[chunk(json!({"role": "assistant", "content": ""}), Value::Null)]),
        content: events(&[chunk(json!({"content": TEXT}), Value::Null)]),
        end: events(&[chunk(json!({}), "stop".into())]) + "data: [DONE]\n\n",
        whole: json!({"id": "c", "object": "chat.completion", "model": "g", "choices": [choice]}).to_string(),
    }
}

fn gemini() -> Answer {
    let chunk = |parts: Value, finish: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}, "modelVersion": "g", "responseId": "r"})
    };
    let text = json!([{"text": TEXT}]);
    Answer {
        start: events(&[json!({"candidates": [], "modelVersion": "g", "responseId": "r"})]),
        content: events(&[chunk(text.clone(), Value::Null)]),
        end: events(&[chunk(json!([]), "STOP".into())]),
        whole: chunk(text, "STOP".into()).to_string(),
    }
}

/// Returns the body of an error response. Each provider has its own name and wrapping for it.
pub(crate) fn error_body(api: Api, status: u16, names: [&str; 3], message: &str) -> String {
    let [anthropic, openai, google] = names;
    match api {
        Api::AnthropicMessages => {
            json!({"type": "error", "error": {"type": anthropic, "message": message}, "request_id": null})
        }
        Api::OpenAiResponses | Api::OpenAiChat => {
            json!({"error": {"message": message, "type": openai, "param": null, "code": openai}})
        }
        Api::Gemini => json!([{"error": {"code": status, "message": message, "status": google}}]),
    }
    .to_string()
}
