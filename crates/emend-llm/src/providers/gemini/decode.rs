//! Decodes a Gemini response, streamed or whole, to unified events.
//!
//! A signature stays on exactly the part it came with: text with a signature is never joined with text without one.

use serde_json::{Value, json};

use super::partial_args::PartialArgs;
use crate::error::{ErrorKind, LlmError};
use crate::model::{ContentPart, FinishKind, FinishReason, RateLimitInfo, Usage, Warning};
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::framing::Reader;
use crate::providers::shared::response_builder::{Events, ResponseBuilder, Slot, take};

pub(super) struct GeminiReader {
    errors: ErrorDecoder,
    response: ResponseBuilder,
    started: bool,
    /// The text (false) or thought (true) that the next part of its kind continues.
    current: Option<(bool, Slot)>,
    /// The call whose arguments arrive in pieces.
    partial: Option<(Slot, PartialArgs)>,
    called: bool,
    usage: Option<Value>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

impl GeminiReader {
    pub(super) fn new(errors: ErrorDecoder, rate_limit: Option<RateLimitInfo>) -> Self {
        let mut response = ResponseBuilder::new(&errors.provider);
        response.rate_limit = rate_limit;
        Self {
            errors,
            response,
            started: false,
            current: None,
            partial: None,
            called: false,
            usage: None,
            finish_reason: None,
            finish_message: None,
        }
    }

    fn chunk(&mut self, mut chunk: Value, events: &mut Events) -> Result<(), LlmError> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.errors.in_stream(&chunk));
        }
        if !self.started {
            self.started = true;
            self.response.start(text(&chunk, "responseId"), text(&chunk, "modelVersion"), events);
        }
        if chunk["usageMetadata"].is_object() {
            self.usage = Some(take(&mut chunk, "usageMetadata"));
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            let provider = &self.errors.provider;
            let message = format!("a content filter of {provider} blocked the request ({reason}): change the prompt");
            let error = LlmError::new(ErrorKind::ContentFilter, message);
            return Err(LlmError { provider: Some(provider.clone()), error_code: Some(reason.to_owned()), ..error });
        }
        let mut candidate = chunk.pointer_mut("/candidates/0").map(Value::take).unwrap_or_default();
        if let Value::Array(parts) = take(&mut take(&mut candidate, "content"), "parts") {
            for part in parts {
                self.part(part, events);
            }
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish_reason = Some(reason.to_owned());
        }
        if let Some(message) = candidate["finishMessage"].as_str() {
            self.finish_message = Some(message.to_owned());
        }
        Ok(())
    }

    fn part(&mut self, mut part: Value, events: &mut Events) {
        let signature = part["thoughtSignature"].as_str().map(str::to_owned);
        if part["functionCall"].is_object() {
            self.end_current(events);
            let call = take(&mut part, "functionCall");
            self.call(&call, signature, events);
        } else if let Value::String(said) = take(&mut part, "text") {
            if part["thought"] == true {
                self.thought(&said, signature, events);
            } else {
                self.said(&said, signature, events);
            }
        } else {
            self.end_current(events);
            if let Value::Object(fields) = &mut part {
                fields.retain(|_, value| !value.is_null());
            }
            self.response.whole(ContentPart::Provider { provider: self.errors.provider.clone(), data: part });
        }
    }

    fn said(&mut self, text: &str, signature: Option<String>, events: &mut Events) {
        let Some(signature) = signature else {
            if !text.is_empty() {
                let slot = self.running(false, events);
                self.response.delta(slot, text, events);
            }
            return;
        };
        self.end_current(events);
        if text.is_empty() {
            // Usually the last part of a stream: it has no text, but it must be echoed.
            let data = json!({"text": "", "thoughtSignature": signature});
            self.response.whole(ContentPart::Provider { provider: self.errors.provider.clone(), data });
            return;
        }
        let slot = self.response.open_text(events);
        self.response.delta(slot, text, events);
        if let Some(fields) = self.response.annotation(slot) {
            fields.insert("thoughtSignature".into(), signature.into());
        }
        self.response.close(slot, events);
    }

    fn thought(&mut self, text: &str, signature: Option<String>, events: &mut Events) {
        let slot = self.running(true, events);
        self.response.delta(slot, text, events);
        if let (Some(signature), Some(thinking)) = (signature, self.response.thinking(slot)) {
            thinking.signature = Some(signature);
            self.end_current(events);
        }
    }

    fn running(&mut self, thought: bool, events: &mut Events) -> Slot {
        match self.current {
            Some((current, slot)) if current == thought => return slot,
            Some((_, slot)) => self.response.close(slot, events),
            None => {}
        }
        let slot = if thought { self.response.open_thinking(events) } else { self.response.open_text(events) };
        self.current = Some((thought, slot));
        slot
    }

    fn end_current(&mut self, events: &mut Events) {
        if let Some((_, slot)) = self.current.take() {
            self.response.close(slot, events);
        }
    }

    /// Reads a call. A call arrives whole, or as a name, then pieces of arguments, then an empty object.
    fn call(&mut self, call: &Value, signature: Option<String>, events: &mut Events) {
        let name = text(call, "name");
        if !name.is_empty() {
            self.end_partial(events);
            self.called = true;
            let slot = self.response.open_call(text(call, "id"), name, false, events);
            if let (Some(signature), Some(call)) = (signature, self.response.call(slot)) {
                call.provider_data = Some(json!({ &self.errors.provider: {"thoughtSignature": signature} }));
            }
            if call["willContinue"] == true {
                self.partial = Some((slot, PartialArgs::default()));
            } else {
                let args = call.get("args").filter(|args| args.is_object());
                let args = args.map_or_else(|| "{}".to_owned(), Value::to_string);
                self.response.delta(slot, &args, events);
                self.response.close(slot, events);
                return;
            }
        }
        if let Some((_, args)) = &mut self.partial {
            for piece in call["partialArgs"].as_array().into_iter().flatten() {
                args.add(piece);
            }
        }
        if call["willContinue"] != true {
            self.end_partial(events);
        }
    }

    /// Ends the call whose arguments arrived in pieces; its end marker may be missing.
    fn end_partial(&mut self, events: &mut Events) {
        if let Some((slot, args)) = self.partial.take() {
            self.response.delta(slot, &args.into_value().to_string(), events);
            self.response.close(slot, events);
        }
    }

    fn finish(&mut self, events: &mut Events) {
        self.end_partial(events);
        let raw = self.finish_reason.take();
        let reason = match raw.as_deref() {
            // Google ends a call with STOP; servers that copy the API send FUNCTION_CALL.
            Some("STOP" | "FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") if self.called => {
                FinishKind::ToolCalls
            }
            Some("STOP") => FinishKind::Stop,
            Some("MAX_TOKENS") => FinishKind::Length,
            Some(
                "SAFETY"
                | "RECITATION"
                | "BLOCKLIST"
                | "PROHIBITED_CONTENT"
                | "SPII"
                | "LANGUAGE"
                | "IMAGE_SAFETY"
                | "IMAGE_PROHIBITED_CONTENT"
                | "IMAGE_RECITATION"
                | "MODEL_ARMOR",
            ) => FinishKind::ContentFilter,
            Some(
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MISSING_THOUGHT_SIGNATURE" | "MALFORMED_RESPONSE",
            ) => FinishKind::Error,
            _ => FinishKind::Other,
        };
        if let Some(message) = self.finish_message.take() {
            self.response.warnings.push(Warning { message, code: raw.clone() });
        }
        self.response.usage = self.usage.take().map(usage).unwrap_or_default();
        self.response.finish(FinishReason { reason, raw }, events);
    }
}

impl Reader for GeminiReader {
    fn event(&mut self, event: Value, events: &mut Events) -> Result<(), LlmError> {
        self.chunk(event, events)
    }

    fn whole(&mut self, body: Value, events: &mut Events) -> Result<(), LlmError> {
        // Without `alt=sse` a stream is one array of chunks.
        let chunks = match body {
            Value::Array(chunks) => chunks,
            chunk => vec![chunk],
        };
        for chunk in chunks {
            self.chunk(chunk, events)?;
        }
        self.end(events)
    }

    fn end(&mut self, events: &mut Events) -> Result<(), LlmError> {
        if self.finish_reason.is_none() {
            let provider = &self.errors.provider;
            let message = format!("the response of {provider} ended early (no finishReason)");
            return Err(self.errors.unreadable(message));
        }
        self.finish(events);
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.response.is_finished()
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The API counts thoughts separately from the output, and results of its own tools separately from the prompt. The
/// unified counts include them.
fn usage(raw: Value) -> Usage {
    let count = |key: &str| raw.get(key).and_then(Value::as_u64);
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount").unwrap_or(0) + count("toolUsePromptTokenCount").unwrap_or(0),
        output_tokens: count("candidatesTokenCount").unwrap_or(0) + thoughts.unwrap_or(0),
        reasoning_tokens: thoughts,
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: None,
        raw: Some(raw),
    }
}
