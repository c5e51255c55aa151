//! The wire formats by name, and one-off decoding of a recorded answer.

use serde_json::{Value, json};

use crate::error::LlmError;
use crate::model::{ContentPart, Message, Response, StreamEvent, ToolCall};
use crate::provider::Adapter;
use crate::providers::anthropic::Anthropic;
use crate::providers::gemini::Gemini;
use crate::providers::openai_chat::OpenAiChat;
use crate::providers::openai_responses::OpenAiResponses;
use crate::providers::shared::config::Config;
use crate::providers::shared::response_builder::is_made_up;
use crate::runtime::Shared;
use crate::transport::Headers;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Api {
    /// Anthropic's Messages.
    AnthropicMessages,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// OpenAI's Chat Completions, also spoken by local servers.
    OpenAiChat,
    /// Google's Gemini.
    Gemini,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AnthropicMessages, Self::OpenAiResponses, Self::OpenAiChat, Self::Gemini];

    /// Returns the name that people type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }

    /// Returns an adapter that speaks the format.
    #[must_use]
    pub fn adapter(self, config: Config) -> Shared<dyn Adapter> {
        match self {
            Self::AnthropicMessages => Shared::new(Anthropic::new(config)),
            Self::OpenAiResponses => Shared::new(OpenAiResponses::new(config)),
            Self::OpenAiChat => Shared::new(OpenAiChat::new(config)),
            Self::Gemini => Shared::new(Gemini::new(config)),
        }
    }

    /// Decodes a recorded answer, given in chunks, and returns the events and how it ended.
    pub fn decode<'a>(
        self,
        status: u16,
        headers: &Headers,
        chunks: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<StreamEvent>, Result<(), LlmError>) {
        let adapter = self.adapter(Config::default());
        let mut events = Vec::new();
        if !(200..300).contains(&status) {
            let body: Vec<u8> = chunks.into_iter().flatten().copied().collect();
            return (events, Err(adapter.decode_error(status, headers, &body)));
        }
        let mut decoder = adapter.decoder(headers);
        for chunk in chunks {
            if let Err(error) = decoder.push(chunk, &mut events) {
                return (events, Err(error));
            }
        }
        let outcome = decoder.finish(&mut events);
        (events, outcome)
    }

    /// Returns the summary of a decoded answer that `emend debug decode` prints. The usage is in the provider's own
    /// counting, as it was received.
    #[must_use]
    pub fn summary(self, events: &[StreamEvent], outcome: &Result<(), LlmError>) -> Value {
        match (outcome, events.last()) {
            (Ok(()), Some(StreamEvent::Finish { response })) => self.answer_summary(response),
            (Ok(()), _) => Value::Null,
            (Err(error), _) => error_summary(error, events),
        }
    }

    fn answer_summary(self, response: &Response) -> Value {
        let calls: Vec<Value> = response.message.tool_calls().into_iter().map(call_summary).collect();
        let refusal = response.warnings.iter().find(|warning| warning.code.as_deref() == Some("refusal"));
        let reasoning = self.reasoning(&response.message);
        json!({
            "text": response.message.text(),
            "tool_calls": calls,
            "reasoning": reasoning.as_ref().filter(|text| !text.is_empty()),
            // Reasoning may have come without readable text; Gemini tells by the tokens it counts.
            "reasoning_present": reasoning.is_some() || self == Self::Gemini && response.usage.reasoning_tokens > Some(0),
            "refusal": refusal.map(|warning| &warning.message),
            "finish_reason": response.finish_reason.reason,
            "raw_finish_reason": response.finish_reason.raw,
            "usage": self.raw_usage(response.usage.raw.as_ref().unwrap_or(&Value::Null)),
            "error": null,
        })
    }

    /// Returns the text of the reasoning. OpenAI's parts are summaries with a heading each, so they stand apart.
    fn reasoning(self, message: &Message) -> Option<String> {
        let parts: Vec<&str> = message
            .content
            .iter()
            .filter_map(|part| match part {
                ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => {
                    Some(thinking.text.as_str())
                }
                _ => None,
            })
            .collect();
        let separator = if self == Self::OpenAiResponses { "\n\n" } else { "" };
        (!parts.is_empty()).then(|| parts.join(separator))
    }

    fn raw_usage(self, raw: &Value) -> Value {
        let [input, output, cache_read, cache_write, reasoning] = match self {
            Self::AnthropicMessages => [
                "/input_tokens",
                "/output_tokens",
                "/cache_read_input_tokens",
                "/cache_creation_input_tokens",
                "/output_tokens_details/thinking_tokens",
            ],
            Self::OpenAiResponses => [
                "/input_tokens",
                "/output_tokens",
                "/input_tokens_details/cached_tokens",
                "/input_tokens_details/cache_write_tokens",
                "/output_tokens_details/reasoning_tokens",
            ],
            Self::OpenAiChat => [
                "/prompt_tokens",
                "/completion_tokens",
                "/prompt_tokens_details/cached_tokens",
                "/prompt_tokens_details/cache_write_tokens",
                "/completion_tokens_details/reasoning_tokens",
            ],
            Self::Gemini => {
                ["/promptTokenCount", "/candidatesTokenCount", "/cachedContentTokenCount", "", "/thoughtsTokenCount"]
            }
        };
        let count = |pointer: &str| raw.pointer(pointer).filter(|count| count.is_u64());
        json!({
            "input": count(input),
            "output": count(output),
            "cache_read": count(cache_read),
            "cache_write": count(cache_write),
            "reasoning": count(reasoning),
        })
    }
}

/// Shows the arguments as they were received, parsed; nothing at all is an empty object. What is no JSON, because it
/// was cut off or is free text, shows as null beside the raw text.
fn call_summary(call: &ToolCall) -> Value {
    let raw = call.raw_arguments.as_deref().unwrap_or_default();
    let parsed = match raw.trim() {
        _ if call.custom => None,
        "" => Some(json!({})),
        raw => serde_json::from_str(raw).ok(),
    };
    let mut summary = json!({
        "id": Some(&call.id).filter(|id| !is_made_up(id)),
        "name": call.name,
        "arguments": parsed,
    });
    if parsed.is_none() {
        summary["arguments_raw"] = raw.into();
        summary[if call.custom { "custom" } else { "truncated" }] = true.into();
    }
    summary
}

fn error_summary(error: &LlmError, events: &[StreamEvent]) -> Value {
    let partial: String = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    json!({
        "text": null,
        "tool_calls": [],
        "reasoning": null,
        "finish_reason": null,
        "raw_finish_reason": null,
        "usage": {"input": null, "output": null, "cache_read": null, "cache_write": null, "reasoning": null},
        "error": {
            "code": error.kind.code(),
            "message": error.message,
            "status": error.status_code,
            "provider_code": error.error_code,
            "retryable": error.retryable,
            "retry_after_ms": error.retry_after_ms,
        },
        "partial_text": partial,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MediaData, Request, Role, ToolResult};
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn conversation() -> Vec<Message> {
        let call = |id: &str, custom: bool| {
            let arguments = if custom { json!("text") } else { json!({"path": id}) };
            let (name, id) = ("read".to_owned(), id.to_owned());
            ContentPart::ToolCall(ToolCall { id, name, arguments, raw_arguments: None, custom, provider_data: None })
        };
        let result = |id: &str, image: bool| ToolResult {
            tool_call_id: id.to_owned(),
            name: String::new(),
            content: json!("found"),
            is_error: image,
            image: image.then(|| MediaData { data: Some("aGk=".into()), ..MediaData::default() }),
        };
        let assistant =
            |content: Vec<ContentPart>| Message { role: Role::Assistant, content: content.into(), name: None };
        vec![
            Message::system("s"),
            Message::user("a"),
            assistant(vec![ContentPart::Text { text: "t".into() }, call("1", false), call("2", true)]),
            Message::tool_results(vec![result("1", false), result("2", true)]),
            Message::user("steer"),
            Message::text_of(Role::Developer, "d"),
            assistant(vec![call("1", true)]),
            Message::user("early"),
            Message::tool_results(vec![result("1", false)]),
        ]
    }

    #[test]
    fn where_a_byte_order_mark_is_cut_makes_no_difference() {
        covers("stream.incomplete");
        // The controls: without a mark, the same is found.
        for body in [
            "7",
            "{\"error\":{\"message\":\"busy\"}}",
            "data: {\"error\":{\"message\":\"busy\"}}\n\n",
            "\u{ff08}no\u{ff09}",
        ] {
            for start in ["", "\u{feff}", " \r\n\u{feff} ", "\n"] {
                let text = format!("{start}{body}");
                for api in Api::ALL {
                    let summary = |chunks: &mut dyn Iterator<Item = &[u8]>| {
                        let (events, outcome) = api.decode(200, &Headers::default(), chunks);
                        api.summary(&events, &outcome)
                    };
                    let expected = summary(&mut std::iter::once(body.as_bytes()));
                    for size in 1..=text.len() {
                        assert_eq!(
                            summary(&mut text.as_bytes().chunks(size)),
                            expected,
                            "{text:?} by {size} {}",
                            api.name()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_an_adapter_remembers_does_not_show() {
        covers("encode.incremental");
        let config = || Config { api_key: "k".into(), ..Config::default() };
        let all = conversation();
        let request = |messages: &[Message]| Request { messages: messages.to_vec(), ..Request::default() };
        for api in Api::ALL {
            let used = api.adapter(config());
            for end in (0..=all.len()).chain([3, 5, all.len()]) {
                let request = request(&all[..end]);
                let fresh = api.adapter(config()).encode(&request, true).unwrap();
                assert_eq!(used.encode(&request, true), Ok(fresh), "{} to {end}", api.name());
            }
        }
    }
}
