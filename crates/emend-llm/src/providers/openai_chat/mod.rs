//! OpenAI's Chat Completions API (`POST /v1/chat/completions`) and the many servers that copy it: llama.cpp, Ollama,
//! Groq, Mistral, DeepSeek, OpenRouter and others.
//!
//! For OpenAI's own models use [`OpenAiResponses`](crate::openai_responses::OpenAiResponses): this API hides their
//! reasoning. The copies differ in details. The decoder reads all variants; the encoder writes the variant that most
//! servers accept.

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
pub(super) const NAME: &str = "openai_compatible";
/// Environment variable that errors name if the settings name none.
pub(super) const KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// Base URL if the settings give none.
pub(super) const BASE_URL: &str = "https://api.openai.com/v1";

/// The adapter of Chat Completions.
///
/// `provider_options`, under the adapter's name or `openai_compatible`, are merged into the request's body. Their
/// `tools` are added to the request's own. A null removes a field that the adapter would send.
pub struct OpenAiChat {
    config: Config,
    errors: ErrorDecoder,
    cache: EncodeCache<String>,
}

impl OpenAiChat {
    /// Returns an adapter with these settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let errors = ErrorDecoder::new(&config, NAME, KEY_VARIABLE);
        Self { config, errors, cache: EncodeCache::default() }
    }

    fn base_url(&self) -> String {
        with_version_unless_path(self.config.base_url.as_deref().unwrap_or(BASE_URL), "v1")
    }
}

impl Adapter for OpenAiChat {
    fn name(&self) -> &str {
        &self.errors.provider
    }

    fn encode(&self, request: &Request, stream: bool) -> Result<HttpRequest, LlmError> {
        let base_url = self.base_url();
        let openai = base_url.contains("api.openai.com") || base_url.contains(".openai.azure.com");
        Ok(HttpRequest {
            method: "POST",
            url: join_url(&base_url, "chat/completions"),
            headers: bearer_headers(&self.config, &self.errors)?,
            body: encode::body(request, stream, &self.errors.provider, openai, &self.cache)?,
        })
    }

    fn decoder(&self, headers: &Headers) -> Box<dyn Decoder> {
        let reader = decode::ChatReader::new(self.errors.clone(), rate_limit::read(headers));
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
