//! OpenAI's Responses API (`POST /v1/responses`), also served by xAI, OpenRouter and llama.cpp.
//!
//! Requests use no state on the server: nothing is stored, and encrypted reasoning is part of the conversation.

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
use crate::providers::shared::request_head::{bearer_headers, join_url, with_version_unless_path};
use crate::providers::shared::{rate_limit, shared_encoding};
use crate::transport::{Headers, HttpRequest};

/// Name of the provider if the settings give none.
pub(super) const NAME: &str = "openai";
/// Environment variable that errors name if the settings name none.
pub(super) const KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// Base URL if the settings give none.
pub(super) const BASE_URL: &str = "https://api.openai.com/v1";

/// The adapter of the Responses API.
///
/// `provider_options`, under the adapter's name or `openai`, are merged into the request's body. Their `tools` are
/// added to the request's own. A null removes a field that the adapter would send. The API has no stop sequences.
pub struct OpenAiResponses {
    config: Config,
    errors: ErrorDecoder,
    cache: EncodeCache<String>,
}

impl OpenAiResponses {
    /// Returns an adapter with these settings. The headers `OpenAI-Organization` and `OpenAI-Project` name an
    /// organisation and a project.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let errors = ErrorDecoder::new(&config, NAME, KEY_VARIABLE);
        Self { config, errors, cache: EncodeCache::default() }
    }

    fn base_url(&self) -> String {
        with_version_unless_path(self.config.base_url.as_deref().unwrap_or(BASE_URL), "v1")
    }
}

impl Adapter for OpenAiResponses {
    fn name(&self) -> &str {
        &self.errors.provider
    }

    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError> {
        Ok(HttpRequest {
            method: "POST",
            url: join_url(&self.base_url(), "responses"),
            headers: bearer_headers(&self.config, &self.errors)?,
            body: encode::body(request, stream, &self.errors.provider, &self.cache)?,
        })
    }

    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder> {
        let reader = decode::ResponsesReader::new(self.errors.clone(), rate_limit::read(headers));
        Box::new(BodyDecoder::new(reader, self.errors.clone()))
    }

    fn decode_error(&self, status: u16, headers: &Headers, body: &[u8]) -> LlmError {
        self.errors.response(status, headers, body)
    }

    fn redact(&self, text: &str) -> String {
        self.errors.secrets.redact(text)
    }

    fn warnings(&self, request: &Request) -> Vec<Warning> {
        let mut warnings = shared_encoding::sampling_warnings(request);
        if !request.stop_sequences.is_empty() {
            warnings.push(Warning {
                message: "the Responses API takes no stop sequences; they were not sent".to_owned(),
                code: Some("unsupported_parameter".to_owned()),
            });
        }
        warnings
    }
}
