//! Reads rate limits from response headers. They are information only: nothing is throttled.

use crate::model::RateLimitInfo;
use crate::transport::Headers;

/// Returns the limits in the headers of Anthropic (`anthropic-ratelimit-requests-remaining`) or of OpenAI and its
/// copies (`x-ratelimit-remaining-requests`), if there are any.
pub(crate) fn read(headers: &Headers) -> Option<RateLimitInfo> {
    let value = |what: &str, of: &str| {
        headers
            .get(&format!("anthropic-ratelimit-{of}-{what}"))
            .or_else(|| headers.get(&format!("x-ratelimit-{what}-{of}")))
    };
    let number = |what: &str, of: &str| value(what, of).and_then(|value| value.trim().parse().ok());
    let info = RateLimitInfo {
        requests_remaining: number("remaining", "requests"),
        requests_limit: number("limit", "requests"),
        tokens_remaining: number("remaining", "tokens"),
        tokens_limit: number("limit", "tokens"),
        reset_at: value("reset", "requests").or_else(|| value("reset", "tokens")).map(str::to_owned),
    };
    (info != RateLimitInfo::default()).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Option<RateLimitInfo>) {
        let headers = Headers(headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
        assert_eq!(read(&headers), expected);
    }

    #[test]
    fn both_spellings_are_read() {
        covers("adapter.rate_limit_headers");
        check(
            &[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-tokens-remaining", "9"),
                ("anthropic-ratelimit-requests-reset", "2026-11-21T10:00:00Z"),
            ],
            Some(RateLimitInfo {
                requests_limit: Some(50),
                tokens_remaining: Some(9),
                reset_at: Some("2026-11-21T10:00:00Z".into()),
                ..RateLimitInfo::default()
            }),
        );
        check(
            &[("X-RateLimit-Remaining-Requests", "3"), ("x-ratelimit-reset-tokens", "6ms")],
            Some(RateLimitInfo {
                requests_remaining: Some(3),
                reset_at: Some("6ms".into()),
                ..RateLimitInfo::default()
            }),
        );
        check(&[("content-type", "text/plain")], None);
    }
}
