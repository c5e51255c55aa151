//! The summary of a decoded response that `emend debug decode` prints.

use emend_llm::{Api, ContentPart, LlmError, Message, Response, StreamEvent, ToolCall};
use serde_json::{Value, json};

/// Returns the summary of a decoded response. The token counts are the provider's own, as received.
pub(crate) fn summary(api: Api, events: &[StreamEvent], outcome: &Result<(), LlmError>) -> Value {
    match (outcome, events.last()) {
        (Ok(()), Some(StreamEvent::Finish { response })) => response_summary(api, response),
        (Ok(()), _) => Value::Null,
        (Err(error), _) => error_summary(error, events),
    }
}

fn response_summary(api: Api, response: &Response) -> Value {
    let calls: Vec<Value> = response.message.tool_calls().into_iter().map(call_summary).collect();
    let refusal = response.warnings.iter().find(|warning| warning.code.as_deref() == Some("refusal"));
    let reasoning = reasoning_text(api, &response.message);
    json!({
        "text": response.message.text(),
        "tool_calls": calls,
        "reasoning": reasoning.as_ref().filter(|text| !text.is_empty()),
        // Reasoning may come without readable text. Gemini shows it in the token counts only.
        "reasoning_present": reasoning.is_some() || api == Api::Gemini && response.usage.reasoning_tokens > Some(0),
        "refusal": refusal.map(|warning| &warning.message),
        "finish_reason": response.finish_reason.reason,
        "raw_finish_reason": response.finish_reason.raw,
        "usage": raw_usage(api, response.usage.raw.as_ref().unwrap_or(&Value::Null)),
        "error": null,
    })
}

/// Returns the text of the reasoning.
///
/// The parts of the Responses API are summaries with a heading each, so a blank line separates them.
fn reasoning_text(api: Api, message: &Message) -> Option<String> {
    let parts: Vec<&str> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => Some(thinking.text.as_str()),
            _ => None,
        })
        .collect();
    let separator = if api == Api::OpenAiResponses { "\n\n" } else { "" };
    (!parts.is_empty()).then(|| parts.join(separator))
}

/// Returns the token counts as the provider sent them.
fn raw_usage(api: Api, raw: &Value) -> Value {
    let [input, output, cache_read, cache_write, reasoning] = match api {
        Api::AnthropicMessages => [
            "/input_tokens",
            "/output_tokens",
            "/cache_read_input_tokens",
            "/cache_creation_input_tokens",
            "/output_tokens_details/thinking_tokens",
        ],
        Api::OpenAiResponses => [
            "/input_tokens",
            "/output_tokens",
            "/input_tokens_details/cached_tokens",
            "/input_tokens_details/cache_write_tokens",
            "/output_tokens_details/reasoning_tokens",
        ],
        Api::OpenAiChat => [
            "/prompt_tokens",
            "/completion_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/prompt_tokens_details/cache_write_tokens",
            "/completion_tokens_details/reasoning_tokens",
        ],
        Api::Gemini => {
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

/// Returns the call with its arguments as they were received, parsed. No arguments are an empty object. Arguments that
/// are not JSON, because they were truncated or are free text, are null beside the raw text.
fn call_summary(call: &ToolCall) -> Value {
    let raw = call.raw_arguments.as_deref().unwrap_or_default();
    let parsed = match raw.trim() {
        _ if call.custom => None,
        "" => Some(json!({})),
        raw => serde_json::from_str(raw).ok(),
    };
    let mut summary = json!({
        "id": Some(&call.id).filter(|_| !call.has_local_id()),
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
