//! What an adapter must be told: key, address, headers.

use std::fmt;

use crate::error::LlmError;
use crate::failure::Failures;
use crate::transport::{Headers, SECRET_HEADERS};

/// The settings of one adapter. Its `Debug` form hides credentials.
#[derive(Clone, Default)]
pub struct Config {
    /// The key. May be empty when `base_url` names a proxy or a local server that needs none.
    pub api_key: String,
    /// Where the API lives, without the endpoint; the provider's own when absent. A missing version segment is added
    /// where the provider's own tools would add it.
    pub base_url: Option<String>,
    /// Whether requests are sent by a web page. Some providers want to be told.
    pub browser: bool,
    /// The name that requests choose the provider by; the adapter's usual one when absent.
    pub name: Option<String>,
    /// The environment variable that error messages advise to set; the adapter's usual one when absent.
    pub key_variable: Option<String>,
    /// Beta features to enable on every request. Anthropic only.
    pub betas: Vec<String>,
    /// Headers added to every request.
    pub headers: Headers,
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self
            .headers
            .0
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !SECRET_HEADERS.contains(name))
            .collect();
        formatter
            .debug_struct("Config")
            .field("base_url", &self.base_url)
            .field("browser", &self.browser)
            .field("name", &self.name)
            .field("betas", &self.betas)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// Joins a base address and an endpoint with exactly one slash.
pub(crate) fn join_url(base: &str, endpoint: &str) -> String {
    format!("{}/{}", base.trim_end_matches('/'), endpoint.trim_start_matches('/'))
}

/// Adds the version segment to a base address that does not end with one.
pub(crate) fn with_version(base: &str, version: &str) -> String {
    let base = base.trim_end_matches('/');
    let last = base.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned { base.to_owned() } else { format!("{base}/{version}") }
}

/// Returns the headers of a JSON request whose key is a bearer token. A key may be missing only where a base address
/// is set: a local server needs none and a proxy adds its own.
pub(crate) fn bearer_headers(config: &Config, failures: &Failures) -> Result<Headers, LlmError> {
    let mut headers = Headers::default();
    headers.set("content-type", "application/json");
    if !config.api_key.is_empty() {
        headers.set("authorization", format!("Bearer {}", config.api_key));
    } else if config.base_url.is_none() {
        return Err(failures.no_key());
    }
    for (name, value) in &config.headers.0 {
        headers.set(name, value);
    }
    Ok(headers)
}
