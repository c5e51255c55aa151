//! Reads the records of a session document field by field.
//!
//! Derived code for this would be larger in a browser than the rest of the store. The reader accepts the output of the
//! derived writers of the data model; a test compares both.

use emend_llm::{ContentPart, MediaData, Message, Role, ThinkingData, ToolCall, ToolResult, Usage};
use serde_json::{Map, Value};

use super::{ForkedFrom, Header};
use crate::history::{HistoryEntry, HistoryEntryKind};

type Fields = Map<String, Value>;

/// Takes a required string field.
fn text(fields: &mut Fields, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Takes an optional string field; returns `None` for another type.
fn maybe_text(fields: &mut Fields, name: &str) -> Option<Option<String>> {
    match fields.remove(name) {
        Some(Value::String(text)) => Some(Some(text)),
        None | Some(Value::Null) => Some(None),
        Some(_) => None,
    }
}

fn number(fields: &Fields, name: &str) -> Option<u64> {
    fields.get(name)?.as_u64()
}

fn present(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_null())
}

fn object(value: Value) -> Option<Fields> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn list<T>(value: Option<Value>, read: impl Fn(Fields) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Some(Value::Array(items)) => items.into_iter().map(|item| read(object(item)?)).collect(),
        _ => None,
    }
}

/// Reads the header, after the version check.
pub(super) fn header(mut fields: Fields) -> Option<Header> {
    let forked_from = match present(fields.remove("forked_from")) {
        Some(value) => {
            let mut fields = object(value)?;
            let n_turns = usize::try_from(number(&fields, "n_turns")?).ok()?;
            Some(ForkedFrom { id: text(&mut fields, "id")?, n_turns })
        }
        None => None,
    };
    Some(Header {
        version: u32::try_from(number(&fields, "version")?).ok()?,
        id: text(&mut fields, "id")?,
        at_ms: number(&fields, "at_ms")?,
        provider: text(&mut fields, "provider")?,
        model: text(&mut fields, "model")?,
        forked_from,
    })
}

/// Reads a list of history entries.
pub(super) fn entries(value: Option<Value>) -> Option<Vec<HistoryEntry>> {
    list(value, entry)
}

/// Reads one history entry.
pub(super) fn entry(mut fields: Fields) -> Option<HistoryEntry> {
    let kind = match fields.get("kind")?.as_str()? {
        "user" => HistoryEntryKind::User,
        "assistant" => HistoryEntryKind::Assistant,
        "tool_results" => HistoryEntryKind::ToolResults,
        "system" => HistoryEntryKind::System,
        "steering" => HistoryEntryKind::Steering,
        "hidden" => HistoryEntryKind::Hidden,
        _ => return None,
    };
    let usage = match present(fields.remove("usage")) {
        Some(value) => Some(usage(object(value)?)),
        None => None,
    };
    Some(HistoryEntry {
        kind,
        at_ms: number(&fields, "at_ms")?,
        message: message(object(fields.remove("message")?)?)?,
        usage,
        response_id: maybe_text(&mut fields, "response_id")?,
    })
}

fn usage(mut fields: Fields) -> Usage {
    Usage {
        input_tokens: number(&fields, "input_tokens").unwrap_or_default(),
        output_tokens: number(&fields, "output_tokens").unwrap_or_default(),
        reasoning_tokens: number(&fields, "reasoning_tokens"),
        cache_read_tokens: number(&fields, "cache_read_tokens"),
        cache_write_tokens: number(&fields, "cache_write_tokens"),
        raw: present(fields.remove("raw")),
    }
}

/// Reads a message as JSON; `None` if a field is missing or has another type.
#[must_use]
pub fn read_message(value: Value) -> Option<Message> {
    message(object(value)?)
}

fn message(mut fields: Fields) -> Option<Message> {
    let role = match fields.get("role")?.as_str()? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        "developer" => Role::Developer,
        _ => return None,
    };
    let name = maybe_text(&mut fields, "name")?;
    Some(Message { role, content: list(fields.remove("content"), part)?.into(), name })
}

fn part(mut fields: Fields) -> Option<ContentPart> {
    let kind = text(&mut fields, "kind")?;
    Some(match kind.as_str() {
        "text" => ContentPart::Text { text: text(&mut fields, "text")? },
        "image" => ContentPart::Image(media(fields)?),
        "audio" => ContentPart::Audio(media(fields)?),
        "document" => ContentPart::Document(media(fields)?),
        "tool_call" => ContentPart::ToolCall(ToolCall {
            id: text(&mut fields, "id")?,
            name: text(&mut fields, "name")?,
            arguments: fields.remove("arguments")?,
            raw_arguments: maybe_text(&mut fields, "raw_arguments")?,
            custom: fields.get("custom").is_some_and(|custom| *custom == true),
            provider_data: present(fields.remove("provider_data")),
        }),
        "tool_result" => ContentPart::ToolResult(ToolResult {
            tool_call_id: text(&mut fields, "tool_call_id")?,
            name: text(&mut fields, "name")?,
            content: fields.remove("content")?,
            is_error: fields.get("is_error")?.as_bool()?,
            image: match present(fields.remove("image")) {
                Some(value) => Some(media(object(value)?)?),
                None => None,
            },
        }),
        "thinking" => ContentPart::Thinking(thinking(fields)?),
        "redacted_thinking" => ContentPart::RedactedThinking(thinking(fields)?),
        "provider" => ContentPart::Provider { provider: text(&mut fields, "provider")?, data: fields.remove("data")? },
        _ => return None,
    })
}

fn media(mut fields: Fields) -> Option<MediaData> {
    Some(MediaData {
        url: maybe_text(&mut fields, "url")?,
        data: maybe_text(&mut fields, "data")?,
        media_type: maybe_text(&mut fields, "media_type")?,
        detail: maybe_text(&mut fields, "detail")?,
        file_name: maybe_text(&mut fields, "file_name")?,
    })
}

fn thinking(mut fields: Fields) -> Option<ThinkingData> {
    Some(ThinkingData {
        text: text(&mut fields, "text")?,
        signature: maybe_text(&mut fields, "signature")?,
        provider: maybe_text(&mut fields, "provider")?,
        provider_data: present(fields.remove("provider_data")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Compares the result of this reader with that of the derived reader.
    #[track_caller]
    fn check(value: &Value) {
        let derived = serde_json::from_value::<HistoryEntry>(value.clone()).ok();
        assert_eq!(entry(object(value.clone()).unwrap()), derived, "{value}");
    }

    #[test]
    fn entries_are_read_as_the_derived_reader_reads_them() {
        let media = json!({ "url": "u", "data": "d", "media_type": "image/png", "detail": "low", "file_name": "f" });
        let with = |kind: &str, mut fields: Value| {
            fields["kind"] = json!(kind);
            fields
        };
        let call = json!({ "id": "1", "name": "n", "arguments": { "a": [1, null] } });
        let result = json!({ "tool_call_id": "1", "name": "n", "content": "text", "is_error": true });
        let thought = json!({ "text": "hm", "signature": "s", "provider": "p", "provider_data": { "x": 1 } });
        let parts = [
            with("text", json!({ "text": "ä\n" })),
            with("image", media.clone()),
            with("audio", media.clone()),
            with("document", json!({})),
            with("tool_call", call.clone()),
            with(
                "tool_call",
                json!({ "id": "1", "name": "n", "arguments": "raw", "raw_arguments": "raw", "custom": true,
                "provider_data": [2] }),
            ),
            with("tool_result", result.clone()),
            with(
                "tool_result",
                json!({ "tool_call_id": "1", "name": "n", "content": {}, "is_error": false, "image": media }),
            ),
            with("thinking", thought.clone()),
            with("redacted_thinking", json!({ "text": "" })),
            with("provider", json!({ "provider": "p", "data": null })),
            // Not a message part.
            with("tool_call", json!({ "id": "1", "name": "n" })),
            with("tool_result", json!({ "tool_call_id": "1", "name": "n", "content": "text" })),
            with("text", json!({ "text": 3 })),
            with("text", json!({})),
            with("hologram", json!({})),
            json!({ "text": "x" }),
        ];
        for part in parts {
            let message = json!({ "role": "assistant", "content": [part.clone(), part] });
            check(&json!({ "kind": "assistant", "at_ms": 7, "message": message }));
        }
        for kind in ["user", "assistant", "tool_results", "system", "steering", "other"] {
            for role in ["system", "user", "assistant", "tool", "developer", "other"] {
                check(&json!({ "kind": kind, "at_ms": 7, "message": { "role": role, "content": [], "name": "x" } }));
            }
        }
        let usage = json!({ "input_tokens": 1, "output_tokens": 2, "reasoning_tokens": 3, "cache_read_tokens": 4,
            "cache_write_tokens": 5, "raw": { "a": 1 } });
        let message = json!({ "role": "user", "content": [] });
        check(&json!({ "kind": "user", "at_ms": 7, "message": message, "usage": usage, "response_id": "r" }));
        check(&json!({ "kind": "user", "at_ms": 7, "message": message, "usage": {}, "response_id": null }));
        check(&json!({ "kind": "user", "at_ms": -7, "message": message }));
        check(&json!({ "kind": "user", "message": message }));
        check(&json!({ "kind": "user", "at_ms": 7 }));
        check(&json!({ "kind": "user", "at_ms": 7, "message": message, "later": true }));
    }
}
