//! Anthropic's Messages API (`POST /v1/messages`).
//!
//! The adapter sets cache breakpoints itself: see [`Anthropic`].

mod decode;
mod encode;
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
pub(super) const NAME: &str = "anthropic";
/// Environment variable that errors name if the settings name none.
pub(super) const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
/// Base URL if the settings give none.
pub(super) const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

/// The adapter of the Messages API.
///
/// Anthropic caches only up to marked blocks, at most four. Unless `provider_options.anthropic.auto_cache` is false,
/// the adapter marks the last tool, the end of the system prompt, and the last two user messages: the previous request
/// wrote the cache up to the first of the two, and this request writes it up to the second.
///
/// `provider_options.anthropic` is merged into the request's body, except `auto_cache` and `beta_headers`. Its `tools`
/// are added to the request's own.
pub struct Anthropic {
    config: Config,
    errors: ErrorDecoder,
    cache: EncodeCache<encode::EncodedMessage>,
}

impl Anthropic {
    /// Returns an adapter with these settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let errors = ErrorDecoder::new(&config, NAME, KEY_VARIABLE);
        Self { config, errors, cache: EncodeCache::default() }
    }

    fn headers(&self, body: &encode::Body) -> Result<Headers, LlmError> {
        let mut headers = Headers::default();
        headers.set("content-type", "application/json");
        headers.set("anthropic-version", VERSION);
        if !self.config.api_key.is_empty() {
            headers.set("x-api-key", &self.config.api_key);
        } else if self.config.base_url.is_none() {
            return Err(self.errors.missing_key());
        }
        if self.config.browser {
            headers.set("anthropic-dangerous-direct-browser-access", "true");
        }
        let mut betas: Vec<&str> = Vec::new();
        let cached = body.cached.then_some("prompt-caching-2024-07-31");
        for beta in self.config.betas.iter().chain(&body.betas).map(String::as_str).chain(cached) {
            if !betas.contains(&beta) {
                betas.push(beta);
            }
        }
        if !betas.is_empty() {
            headers.set("anthropic-beta", betas.join(","));
        }
        for (name, value) in &self.config.headers.0 {
            headers.set(name, value);
        }
        Ok(headers)
    }
}

impl Adapter for Anthropic {
    fn name(&self) -> &str {
        &self.errors.provider
    }

    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError> {
        let body = encode::body(request, stream, &self.errors.provider, &self.cache)?;
        let base_url = self.config.base_url.as_deref().unwrap_or(BASE_URL);
        Ok(HttpRequest {
            method: "POST",
            url: join_url(&with_version(base_url, "v1"), "messages"),
            headers: self.headers(&body)?,
            body: body.bytes,
        })
    }

    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder> {
        let reader = decode::MessagesReader::new(self.errors.clone(), rate_limit::read(headers));
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
