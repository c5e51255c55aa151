//! Turns a provider's error response into an [`LlmError`]: its class, whether and when to retry, and the next step.
//!
//! Statuses alone mislead: a wrong key is 400 at Gemini and xAI, an unsupported feature 500 at llama.cpp. So the
//! provider's own codes and, last, its wording count too. This module neither sends nor waits.

use serde_json::Value;

use crate::error::{ErrorKind, LlmError};
use crate::providers::shared::config::Config;
use crate::providers::shared::retry_after;
use crate::secrets::Secrets;
use crate::transport::Headers;

/// The facts about an adapter that its errors need.
#[derive(Clone, Debug)]
pub(crate) struct ErrorDecoder {
    pub(crate) provider: String,
    /// Environment variable of the key.
    pub(crate) key_variable: String,
    pub(crate) secrets: Secrets,
}

/// The longest quotation of a provider's message, in characters.
const QUOTE_CHARS_MAX: usize = 2000;

/// The fields of an error body, wherever the provider puts them.
#[derive(Default)]
struct Fields {
    message: String,
    /// The provider's names of the error in lower case: type, code, status, reasons.
    names: Vec<String>,
    error_code: Option<String>,
}

impl ErrorDecoder {
    /// Returns the decoder of an adapter with these settings. `provider` and `key_variable` are its defaults.
    pub(crate) fn new(config: &Config, provider: &str, key_variable: &str) -> Self {
        Self {
            provider: config.name.clone().unwrap_or_else(|| provider.to_owned()),
            key_variable: config.key_variable.clone().unwrap_or_else(|| key_variable.to_owned()),
            secrets: config.secrets(),
        }
    }

    /// Returns the error for a missing key, before anything is sent.
    pub(crate) fn missing_key(&self) -> LlmError {
        let message = format!("no key for {}: set {}", self.provider, self.key_variable);
        LlmError { provider: Some(self.provider.clone()), ..LlmError::new(ErrorKind::Configuration, message) }
    }

    /// Returns the error for a response whose status is not 2xx.
    pub(crate) fn response(&self, status: u16, headers: &Headers, body: &[u8]) -> LlmError {
        let raw = serde_json::from_slice::<Value>(body).ok();
        let mut fields = raw.as_ref().map(read_fields).unwrap_or_default();
        if fields.message.is_empty() && raw.is_none() {
            fields.message = String::from_utf8_lossy(body).trim().to_owned();
        }
        self.build(Some(status), headers, &fields, raw)
    }

    /// Returns the error for an error object inside a successful response.
    pub(crate) fn in_stream(&self, value: &Value) -> LlmError {
        self.build(None, &Headers::default(), &read_fields(value), Some(value.clone()))
    }

    /// Returns the error for an unreadable response.
    pub(crate) fn unreadable(&self, reason: impl Into<String>) -> LlmError {
        let reason = self.secrets.redact(&reason.into());
        LlmError { provider: Some(self.provider.clone()), ..LlmError::new(ErrorKind::Stream, reason) }
    }

    fn build(&self, status: Option<u16>, headers: &Headers, fields: &Fields, raw: Option<Value>) -> LlmError {
        let (kind, hopeless) = classify(status, fields);
        let mut error = LlmError::new(kind, String::new());
        error.provider = Some(self.provider.clone());
        error.status_code = status;
        error.error_code = fields.error_code.as_deref().map(|code| self.secrets.redact(code));
        if matches!(status, Some(408 | 409)) {
            error.retryable = true;
        }
        if hopeless {
            error.retryable = false;
        }
        match headers.get("x-should-retry") {
            Some("true") if !hopeless => error.retryable = true,
            Some("false") => error.retryable = false,
            _ => {}
        }
        if error.retryable {
            error.retry_after_ms = retry_after::of_answer(headers, raw.as_ref(), &fields.message);
        }
        let message = self.secrets.redact(&fields.message);
        error.message = self.message(&error, &message);
        error.raw = raw.map(|raw| self.secrets.redact_value(raw));
        error
    }

    /// Returns the text of an error: the problem, the next step, and a quotation of the provider.
    fn message(&self, error: &LlmError, quoted: &str) -> String {
        let provider = &self.provider;
        let advice = match error.kind {
            ErrorKind::Authentication if quoted.contains("anthropic-dangerous-direct-browser-access") => {
                format!("{provider} rejects requests from web pages: set `browser` in its settings")
            }
            ErrorKind::Authentication => {
                format!("{provider} rejected the key: set {} to a valid key", self.key_variable)
            }
            ErrorKind::AccessDenied => {
                format!("the key lacks permission at {provider}: use a key with access to the model, or another model")
            }
            ErrorKind::NotFound => {
                format!("{provider} has no such model or URL: check the model's name and the base URL")
            }
            ErrorKind::InvalidRequest => format!("{provider} rejected the request"),
            ErrorKind::RateLimit if error.retryable => {
                format!("the rate limit of {provider} is exceeded: try again later")
            }
            ErrorKind::RateLimit => {
                format!(
                    "this request is too large for the rate limit of the account at {provider}: send less or raise it"
                )
            }
            ErrorKind::QuotaExceeded => {
                format!(
                    "the account at {provider} has no budget left: check its plan and billing, or use another provider"
                )
            }
            ErrorKind::ContentFilter => format!("a content filter of {provider} blocked the request"),
            ErrorKind::ContextLength => {
                "the conversation exceeds the model's context window: shorten it or use a model with a larger one"
                    .into()
            }
            ErrorKind::RequestTimeout => format!("{provider} timed out: try again"),
            ErrorKind::Configuration => {
                format!("{provider} responded with a redirect, which is not followed: set the base URL to its target")
            }
            _ => format!("{provider} failed: try again later"),
        };
        let status = error.status_code.map(|status| format!(" ({status})")).unwrap_or_default();
        if quoted.is_empty() {
            return format!("{advice}{status}");
        }
        let cut: String = quoted.chars().take(QUOTE_CHARS_MAX).collect();
        format!("{advice}{status}. It says: {cut}")
    }
}

/// Reads the shapes of all providers: `{"error": {..}}`, `[{"error": ..}]`, `{"error": "text"}`, `{"detail": ..}`,
/// `{"message": ..}` and `{"response": {"error": ..}}`.
fn read_fields(body: &Value) -> Fields {
    let body = body.get(0).unwrap_or(body);
    let nested = body.get("error").or_else(|| body.pointer("/response/error")).filter(|error| !error.is_null());
    let error = nested.unwrap_or(body);
    let mut fields = Fields::default();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let said = ["message", "detail", "error"].iter().find_map(|key| error.get(key).or_else(|| body.get(key)));
    fields.message = if error.is_string() { text(error) } else { said.map(text).unwrap_or_default() };
    for key in ["code", "type", "status"] {
        let Some(value) = error.get(key).or_else(|| if nested.is_some() { body.get(key) } else { None }) else {
            continue;
        };
        let name = text(value);
        if name.is_empty() || name == "error" {
            continue;
        }
        fields.names.push(name.to_ascii_lowercase());
        fields.error_code.get_or_insert(name);
    }
    for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
        fields.names.extend(detail.get("reason").and_then(Value::as_str).map(str::to_ascii_lowercase));
        for violation in detail.get("violations").and_then(Value::as_array).into_iter().flatten() {
            fields.names.extend(violation.get("quotaId").and_then(Value::as_str).map(str::to_ascii_lowercase));
        }
    }
    fields
}

/// Wordings of an exceeded context window, lower case, from recorded responses.
const CONTEXT_WORDS: [&str; 9] = [
    "prompt is too long",
    "exceed context limit",
    "exceeds the context window",
    "maximum context length",
    "exceeds the maximum number of tokens",
    "exceeds the available context size",
    "context length exceeded",
    "too many tokens",
    "context_length_exceeded",
];

/// Wordings of a wrong key, for providers that send another status than 401.
const KEY_WORDS: [&str; 4] = ["api key not valid", "incorrect api key", "invalid api key", "api key expired"];

/// Returns the class of an error, and whether a retry is useless although the class suggests one.
fn classify(status: Option<u16>, fields: &Fields) -> (ErrorKind, bool) {
    let message = fields.message.to_ascii_lowercase();
    let named = |names: &[&str]| fields.names.iter().any(|name| names.contains(&name.as_str()));
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let client_error = status.is_none_or(|status| matches!(status, 400 | 413 | 422 | 429 | 500));

    if named(&["context_length_exceeded", "exceed_context_size_error"]) || client_error && says(&CONTEXT_WORDS) {
        return (ErrorKind::ContextLength, true);
    }
    if named(&["insufficient_quota", "billing_error", "billing_hard_limit_reached"])
        || fields.names.iter().any(|name| name.contains("perday"))
    {
        return (ErrorKind::QuotaExceeded, true);
    }
    if named(&["authentication_error", "invalid_api_key", "api_key_invalid", "unauthenticated"])
        || status == Some(400) && says(&KEY_WORDS)
    {
        return (ErrorKind::Authentication, true);
    }
    if named(&["content_filter", "content_policy_violation", "responsibleaipolicyviolation"])
        || status == Some(400) && says(&["content filter", "content management policy", "safety"])
    {
        return (ErrorKind::ContentFilter, true);
    }
    if named(&["model_not_found", "not_found_error"])
        || status == Some(400) && says(&["model"]) && says(&["does not exist", "not found", "not a valid model"])
    {
        return (ErrorKind::NotFound, true);
    }
    // An account limit that waiting does not lift.
    let too_large = says(&["request too large", "extra usage is required"]);
    // Features that the server was started without. llama.cpp reports them as an internal error.
    if status == Some(500) && says(&["requires --jinja flag", "input is not supported"]) {
        return (ErrorKind::InvalidRequest, true);
    }
    let kind = match status {
        Some(status) => kind_of_status(status),
        None => kind_of_names(&named),
    };
    (kind, too_large)
}

fn kind_of_status(status: u16) -> ErrorKind {
    match status {
        401 => ErrorKind::Authentication,
        402 => ErrorKind::QuotaExceeded,
        403 => ErrorKind::AccessDenied,
        404 => ErrorKind::NotFound,
        408 => ErrorKind::RequestTimeout,
        413 => ErrorKind::ContextLength,
        429 => ErrorKind::RateLimit,
        300..400 => ErrorKind::Configuration,
        400..500 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Server,
    }
}

/// Returns the class of an error inside a successful response, which has no error status. An unknown error counts as
/// retryable: a needless retry costs less than giving up.
fn kind_of_names(named: &dyn Fn(&[&str]) -> bool) -> ErrorKind {
    if named(&["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "429"]) {
        ErrorKind::RateLimit
    } else if named(&["permission_error", "permission_denied", "403"]) {
        ErrorKind::AccessDenied
    } else if named(&["not_found", "404"]) {
        ErrorKind::NotFound
    } else if named(&["401"]) {
        ErrorKind::Authentication
    } else if named(&["invalid_request_error", "invalid_prompt", "invalid_argument", "400"]) {
        ErrorKind::InvalidRequest
    } else {
        ErrorKind::Server
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn error_decoder() -> ErrorDecoder {
        ErrorDecoder::new(&Config::default(), "acme", "ACME_KEY")
    }

    #[track_caller]
    fn check(status: u16, body: &str, kind: ErrorKind, retryable: bool) {
        let error = error_decoder().response(status, &Headers::default(), body.as_bytes());
        assert_eq!((error.kind, error.retryable), (kind, retryable), "{status} {body}: {error}");
        assert_eq!((error.status_code, error.provider.as_deref()), (Some(status), Some("acme")));
    }

    #[test]
    fn statuses_have_their_classes() {
        covers("adapter.error_class retry.classes retry.retryable");
        check(302, "", ErrorKind::Configuration, false);
        check(400, "", ErrorKind::InvalidRequest, false);
        check(401, "", ErrorKind::Authentication, false);
        check(402, "", ErrorKind::QuotaExceeded, false);
        check(403, "", ErrorKind::AccessDenied, false);
        check(404, "", ErrorKind::NotFound, false);
        check(408, "", ErrorKind::RequestTimeout, true);
        check(409, "", ErrorKind::InvalidRequest, true);
        check(413, "", ErrorKind::ContextLength, false);
        check(422, "", ErrorKind::InvalidRequest, false);
        check(429, "", ErrorKind::RateLimit, true);
        for status in [500, 501, 502, 503, 504, 529, 599] {
            check(status, "<html>gateway</html>", ErrorKind::Server, true);
        }
    }

    #[test]
    fn codes_and_wordings_in_bodies_refine_statuses() {
        covers("adapter.error_class");
        check(400, r#"{"error":"Incorrect API key provided"}"#, ErrorKind::Authentication, false);
        check(400, r#"{"code":"x","error":"Incorrect API key provided: x"}"#, ErrorKind::Authentication, false);
        check(400, r#"{"error":{"code":"model_not_found","message":"no"}}"#, ErrorKind::NotFound, false);
        check(400, r#"{"error":{"message":"The model `x` does not exist"}}"#, ErrorKind::NotFound, false);
        check(400, r#"{"error":{"message":"The file does not exist"}}"#, ErrorKind::InvalidRequest, false);
        check(400, r#"{"error":{"message":"blocked by the content filter"}}"#, ErrorKind::ContentFilter, false);
        check(429, r#"{"error":{"type":"insufficient_quota","message":"pay"}}"#, ErrorKind::QuotaExceeded, false);
        check(429, r#"{"error":{"message":"Request too large for gpt-4o"}}"#, ErrorKind::RateLimit, false);
        check(500, r#"{"error":{"message":"tools param requires --jinja flag"}}"#, ErrorKind::InvalidRequest, false);
        check(500, r#"{"error":{"message":"image input is not supported"}}"#, ErrorKind::InvalidRequest, false);
        check(400, r#"{"detail":[{"loc":["body"],"msg":"bad"}]}"#, ErrorKind::InvalidRequest, false);
    }

    #[test]
    fn the_provider_may_forbid_or_ask_for_a_retry() {
        covers("provider.retry_after");
        let retryable = |status: u16, value: &str| {
            let headers = Headers(vec![("x-should-retry".into(), value.into())]);
            error_decoder().response(status, &headers, b"").retryable
        };
        assert!(!retryable(529, "false"));
        assert!(retryable(400, "true"));
        assert!(!retryable(400, "maybe"));
    }

    #[test]
    fn errors_in_a_stream_are_classified_by_their_names() {
        #[track_caller]
        fn check(value: Value, kind: ErrorKind) {
            assert_eq!(error_decoder().in_stream(&value).kind, kind, "{value}");
        }
        check(json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}), ErrorKind::Server);
        check(json!({"error": {"type": "rate_limit_error"}}), ErrorKind::RateLimit);
        check(json!({"error": {"code": 403, "message": "no"}}), ErrorKind::AccessDenied);
        check(json!({"error": {"status": "NOT_FOUND"}}), ErrorKind::NotFound);
        check(json!({"error": {"type": "invalid_request_error"}}), ErrorKind::InvalidRequest);
        check(json!({"error": "something new"}), ErrorKind::Server);
        check(json!({"response": {"error": {"code": "context_length_exceeded"}}}), ErrorKind::ContextLength);
    }

    #[test]
    fn messages_quote_the_provider_briefly() {
        let body = json!({"error": {"message": "x".repeat(5000)}}).to_string();
        let error = error_decoder().response(400, &Headers::default(), body.as_bytes());
        assert_eq!(error.message.len(), "acme rejected the request (400). It says: ".len() + QUOTE_CHARS_MAX);
        assert_eq!(error_decoder().response(403, &Headers::default(), b"").message.matches("It says").count(), 0);
    }
}
