//! Google's Gemini API (`POST /v1beta/models/M:generateContent` and `:streamGenerateContent?alt=sse`).

mod decode;
mod encode;
mod partial_args;
#[cfg(test)]
mod tests;

pub use crate::providers::shared::config::Config;

use crate::error::LlmError;
use crate::model::{Request, Warning};
use crate::provider::{Adapter, Decoder};
use crate::providers::shared::encode_cache::EncodeCache;
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::framing::BodyDecoder;
use crate::providers::shared::request_head::{join_url, with_version};
use crate::providers::shared::{rate_limit, shared_encoding};
use crate::transport::{Headers, HttpRequest};

/// Name of the provider if the settings give none.
pub(super) const NAME: &str = "gemini";
/// Environment variable that errors name if the settings name none.
pub(super) const KEY_VARIABLE: &str = "GEMINI_API_KEY";
/// Base URL if the settings give none.
pub(super) const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// The adapter of the Gemini API. The key is sent in a header, never in the URL, because URLs end up in logs.
///
/// `provider_options`, under the adapter's name or `gemini`, are merged into the request's body. Their `tools` are
/// added to the request's own. A null removes a field that the adapter would send.
pub struct Gemini {
    config: Config,
    errors: ErrorDecoder,
    cache: EncodeCache<encode::EncodedMessage>,
}

impl Gemini {
    /// Returns an adapter with these settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let errors = ErrorDecoder::new(&config, NAME, KEY_VARIABLE);
        Self { config, errors, cache: EncodeCache::default() }
    }

    fn headers(&self) -> Result<Headers, LlmError> {
        let mut headers = Headers::default();
        headers.set("content-type", "application/json");
        if !self.config.api_key.is_empty() {
            headers.set("x-goog-api-key", &self.config.api_key);
        } else if self.config.base_url.is_none() {
            return Err(self.errors.missing_key());
        }
        for (name, value) in &self.config.headers.0 {
            headers.set(name, value);
        }
        Ok(headers)
    }
}

impl Adapter for Gemini {
    fn name(&self) -> &str {
        &self.errors.provider
    }

    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError> {
        let base_url = with_version(self.config.base_url.as_deref().unwrap_or(BASE_URL), "v1beta");
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        Ok(HttpRequest {
            method: "POST",
            url: join_url(&base_url, &format!("models/{model}:{method}")),
            headers: self.headers()?,
            body: encode::body(request, &self.errors.provider, &self.cache)?,
        })
    }

    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder> {
        let reader = decode::GeminiReader::new(self.errors.clone(), rate_limit::read(headers));
        Box::new(BodyDecoder::new(reader, self.errors.clone()))
    }

    fn decode_error(&self, status: u16, headers: &Headers, body: &[u8]) -> LlmError {
        self.errors.response(status, headers, body)
    }

    fn redact(&self, text: &str) -> String {
        self.errors.secrets.redact(text)
    }

    fn warnings(&self, request: &Request) -> Vec<Warning> {
        shared_encoding::sampling_warnings(request)
    }
}
