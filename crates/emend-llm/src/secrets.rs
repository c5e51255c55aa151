//! Removes credentials from texts: providers quote parts of a key that they reject, and network stacks quote URLs.

use std::fmt;

use serde_json::Value;

use crate::model::base64;
use crate::transport::{Headers, is_harmless_header};

/// The credentials of one adapter. Its `Debug` form shows none of them.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.0.len())
    }
}

const REDACTED: &str = "[redacted]";

/// Prefixes of the keys of known providers.
const KEY_PREFIXES: [&str; 8] = ["sk-", "sk_", "AIza", "xai-", "gsk_", "hf_", "pplx-", "csk-"];

/// The shortest prefix or suffix of a key that is redacted, in bytes.
const FRAGMENT_BYTES_MIN: usize = 4;

impl Secrets {
    /// Returns the given secrets without very short ones: a placeholder key of a local server would hide ordinary
    /// words.
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        Self(secrets.into_iter().filter(|secret| secret.len() >= 2 * FRAGMENT_BYTES_MIN).collect())
    }

    /// Returns `text` without credentials and without fragments of credentials.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), REDACTED);
        }
        text.split_inclusive(is_boundary)
            .map(|word| {
                let bare = word.trim_end_matches(is_boundary);
                if self.is_credential(bare) { word.replacen(bare, REDACTED, 1) } else { word.to_owned() }
            })
            .collect()
    }

    /// Returns the words of `text` that look like credentials.
    pub(crate) fn credentials<'t>(&self, text: &'t str) -> Vec<&'t str> {
        text.split(is_boundary).filter(|word| self.is_credential(word)).collect()
    }

    /// Returns `value` with every string and key redacted.
    pub(crate) fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                Value::Object(fields.map(|(key, value)| (self.redact(&key), self.redact_value(value))).collect())
            }
            other => other,
        }
    }

    /// Returns whether `word` is a key or the rest of a masked key, e.g. `sk-ab***yz`.
    fn is_credential(&self, word: &str) -> bool {
        let word = word.trim_end_matches(['.', '!', '?']);
        if KEY_PREFIXES.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= 8)) {
            return true;
        }
        let Some(masked) = word.find('*') else { return false };
        let (start, end) = (&word[..masked], word.rsplit('*').next().unwrap_or_default());
        self.0.iter().any(|secret| {
            (start.len() >= FRAGMENT_BYTES_MIN && secret.starts_with(start))
                || (end.len() >= FRAGMENT_BYTES_MIN && secret.ends_with(end))
        })
    }
}

/// Names of authentication schemes in front of a credential in a header.
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];

/// Parameters of a URL that never hold a credential.
const HARMLESS_PARAMETERS: [&str; 2] = ["alt", "api-version"];

/// Returns the possible credentials in the headers and the URL of a request: values of headers that are not known to be
/// harmless, user and password, and values of parameters.
pub(crate) fn credentials_of(headers: &Headers, url: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (_, value) in headers.0.iter().filter(|(name, _)| !is_harmless_header(name)) {
        found.push(value.clone());
        let bare = value.split_once(' ').filter(|(scheme, _)| SCHEMES.contains(&&*scheme.to_ascii_lowercase()));
        found.extend(bare.map(|(_, bare)| bare.trim().to_owned()));
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        // As written in the URL, and as sent.
        found.push(base64::encode(user.as_bytes()));
        found.push(user.split_once(':').map_or(user, |(_, password)| password).to_owned());
    }
    let query = rest.split('#').next().and_then(|rest| rest.split_once('?')).map_or("", |(_, query)| query);
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    found.extend(values.filter(|(name, _)| !HARMLESS_PARAMETERS.contains(name)).map(|(_, value)| value.to_owned()));
    found
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | ':' | '(' | ')' | '<' | '>' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let secrets = Secrets::new(["topsecret-0123456789".to_owned(), "x".to_owned()]);
        assert_eq!(secrets.redact(text), expected);
    }

    #[test]
    fn keys_and_masked_keys_are_hidden() {
        covers("secrets.errors");
        check("key topsecret-0123456789.", "key [redacted].");
        check("Bearer:\"topsecret-0123456789\"", "Bearer:\"[redacted]\"");
        check("Incorrect API key provided: sk-proj-****wxyz. Visit", "Incorrect API key provided: [redacted] Visit");
        check("provided: tops*****6789, try", "provided: [redacted], try");
        check("key=AIzaSyA0123456789 is bad", "key=[redacted] is bad");
    }

    #[test]
    fn ordinary_words_stay() {
        check("x marks **bold** text, a risk-free sk- one", "x marks **bold** text, a risk-free sk- one");
    }

    #[test]
    fn values_are_redacted_at_any_depth() {
        let secrets = Secrets::new(["topsecret-0123456789".to_owned()]);
        let value = serde_json::json!({"error": {"message": ["topsecret-0123456789"], "n": 1}});
        assert_eq!(secrets.redact_value(value), serde_json::json!({"error": {"message": ["[redacted]"], "n": 1}}));
    }

    #[test]
    fn credentials_are_found_in_headers_and_urls() {
        #[track_caller]
        fn check(headers: &[(&str, &str)], url: &str, expected: &[&str]) {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(credentials_of(&Headers(headers), url), expected);
        }
        check(&[("Accept", "text/html"), ("X-Gateway", "one two")], "https://a.b/c", &["one two"]);
        check(&[("Authorization", "Bearer abc")], "https://a.b/c@d", &["Bearer abc", "abc"]);
        check(&[], "https://me:pass@a.b", &["bWU6cGFzcw==", "pass"]);
        check(&[], "https://me@a.b/?alt=sse&sig=x#y", &["bWU=", "me", "x"]);
    }
}
