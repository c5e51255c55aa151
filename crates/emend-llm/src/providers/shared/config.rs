//! The settings of an adapter: key, base URL, headers.

use std::fmt;

use crate::secrets::{Secrets, credentials_of};
use crate::transport::{Headers, public_address};

/// The settings of one adapter. Its `Debug` form hides credentials.
#[derive(Clone, Default)]
pub struct Config {
    /// API key. May be empty if `base_url` is a proxy or a local server without keys.
    pub api_key: String,
    /// Base URL without the endpoint; the provider's own if absent. A missing version segment is added where the
    /// provider's own tools would add it. A query is kept and sent with every request, as some gateways require.
    pub base_url: Option<String>,
    /// Whether a web page sends the requests. Some providers reject such requests unless they are marked.
    pub browser: bool,
    /// Name by which requests choose the provider; the adapter's default if absent.
    pub name: Option<String>,
    /// Environment variable or option of the key, for error messages; the adapter's default variable if absent.
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
    /// Returns the values that no text may contain: the key, the values of added headers, and all parts of the base URL
    /// except host and path.
    pub(crate) fn secrets(&self) -> Secrets {
        let more = credentials_of(&self.headers, self.base_url.as_deref().unwrap_or_default());
        Secrets::new([self.api_key.clone()].into_iter().chain(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

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
