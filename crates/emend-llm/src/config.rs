//! What an adapter must be told: key, address, headers.

use std::fmt;

use crate::error::LlmError;
use crate::failure::Failures;
use crate::secrets::{Secrets, credentials_of};
use crate::transport::{Headers, public_address};

/// The settings of one adapter. Its `Debug` form hides credentials.
#[derive(Clone, Default)]
pub struct Config {
    /// The key. May be empty when `base_url` names a proxy or a local server that needs none.
    pub api_key: String,
    /// Where the API lives, without the endpoint; the provider's own when absent. A missing version segment is added
    /// where the provider's own tools would add it. A query is kept and sent with every request, as some gateways ask for.
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
        let headers: Vec<&str> = self.headers.0.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("Config")
            .field("base_url", &self.base_url.as_deref().map(public_address))
            .field("browser", &self.browser)
            .field("name", &self.name)
            .field("betas", &self.betas)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Returns all that no text may show: the key, the values of added headers, and what the base address holds beside
    /// host and path.
    pub(crate) fn secrets(&self) -> Secrets {
        let more = credentials_of(&self.headers, self.base_url.as_deref().unwrap_or_default());
        Secrets::new([self.api_key.clone()].into_iter().chain(more))
    }
}

/// Joins a base address and an endpoint with exactly one slash. The query of the base goes to the end.
pub(crate) fn join_url(base: &str, endpoint: &str) -> String {
    let (path, query) = base.split_once('?').unwrap_or((base, ""));
    let mut url = format!("{}/{}", path.trim_end_matches('/'), endpoint.trim_start_matches('/'));
    if !query.is_empty() {
        url.push(if endpoint.contains('?') { '&' } else { '?' });
        url.push_str(query);
    }
    url
}

/// Adds the version segment to a base address whose path does not end with one.
pub(crate) fn with_version(base: &str, version: &str) -> String {
    let (path, query) = base.split_at(base.find('?').unwrap_or(base.len()));
    let path = path.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned { format!("{path}{query}") } else { format!("{path}/{version}{query}") }
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

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_base_address_keeps_its_query() {
        #[track_caller]
        fn check(base: &str, expected: &str) {
            assert_eq!(join_url(&with_version(base, "v1"), "chat"), expected);
        }
        check("https://a.b", "https://a.b/v1/chat");
        check("https://a.b/v2/", "https://a.b/v2/chat");
        check("https://a.b?key=x/y", "https://a.b/v1/chat?key=x/y");
        check("https://a.b/c/v1/?key=x", "https://a.b/c/v1/chat?key=x");
        assert_eq!(join_url("https://a.b/v1?key=x", "chat?alt=sse"), "https://a.b/v1/chat?alt=sse&key=x");
    }

    #[test]
    fn the_debug_form_shows_no_credential() {
        let config = Config {
            api_key: "marked-key".to_owned(),
            base_url: Some("https://me:marked-pass@a.b/c?key=marked-query".to_owned()),
            headers: Headers(vec![("x-gateway".to_owned(), "marked-header".to_owned())]),
            ..Config::default()
        };
        let shown = format!("{config:?}");
        assert!(shown.contains("https://a.b/c") && shown.contains("x-gateway"), "{shown}");
        assert!(!shown.contains("marked"), "{shown}");
    }
}
