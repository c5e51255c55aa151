//! URLs and headers of requests, as most wire formats build them.

use super::config::Config;
use super::error_decoder::ErrorDecoder;
use crate::error::LlmError;
use crate::transport::Headers;

/// Joins a base URL and an endpoint with exactly one slash. The query of the base URL moves to the end.
pub(crate) fn join_url(base: &str, endpoint: &str) -> String {
    let (path, query) = base.split_once('?').unwrap_or((base, ""));
    let mut url = format!("{}/{}", path.trim_end_matches('/'), endpoint.trim_start_matches('/'));
    if !query.is_empty() {
        url.push(if endpoint.contains('?') { '&' } else { '?' });
        url.push_str(query);
    }
    url
}

/// Adds the version segment to a base URL whose path does not end with one.
pub(crate) fn with_version(base: &str, version: &str) -> String {
    let (path, query) = base.split_at(base.find('?').unwrap_or(base.len()));
    let path = path.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned { format!("{path}{query}") } else { format!("{path}/{version}{query}") }
}

/// Adds the version segment to a bare host, as local servers are often named. A base URL with a path is not changed.
pub(crate) fn with_version_unless_path(base: &str, version: &str) -> String {
    let base = base.trim_end_matches('/');
    let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { base.to_owned() } else { with_version(base, version) }
}

/// Returns the headers of a JSON request with a bearer token.
///
/// # Errors
///
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if key and base URL are both missing. With a base URL
/// the key is optional: a local server needs none and a proxy adds its own.
pub(crate) fn bearer_headers(config: &Config, errors: &ErrorDecoder) -> Result<Headers, LlmError> {
    let mut headers = Headers::default();
    headers.set("content-type", "application/json");
    if !config.api_key.is_empty() {
        headers.set("authorization", format!("Bearer {}", config.api_key));
    } else if config.base_url.is_none() {
        return Err(errors.missing_key());
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
}
