//! Hosts, origins, tokens, cookies, rates and request ids.

use emend_agent::error_code::Code;
use emend_agent::service::ApiError;
use serde_json::Value;

use crate::ServerLimits;
use crate::tests::bench::{Bench, TOKEN};

const PATH: &str = "/api/agent/sessions";

async fn check(bench: &Bench, path: &str, headers: &[&str], expected: u16) {
    let reply = bench.raw("GET", path, headers, "").await;
    assert_eq!(reply.status, expected, "{path} {headers:?}: {reply:?}");
}

#[tokio::test]
async fn only_the_token_opens_the_api() {
    let bench = Bench::new();
    let table = [
        (format!("authorization: Bearer {TOKEN}"), 200),
        (format!("authorization: bearer {TOKEN}"), 200),
        (format!("authorization: Bearer {TOKEN}x"), 401),
        (format!("authorization: Bearer {}", &TOKEN[1..]), 401),
        (format!("authorization: Basic {TOKEN}"), 401),
        ("authorization: Bearer ".to_owned(), 401),
        (format!("cookie: emend-8080={TOKEN}"), 401),
        ("accept: */*".to_owned(), 401),
    ];
    for (header, expected) in &table {
        check(&bench, PATH, &[header], *expected).await;
        check(&bench, "/metrics", &[header], *expected).await;
        check(&bench, "/api/openapi.json", &[header], *expected).await;
    }
    check(&bench, "/health", &[], 200).await;
    let query = format!("?token={TOKEN}");
    check(&bench, &format!("{PATH}{query}"), &[], 401).await;
    // The job is unknown, but the token was accepted.
    check(&bench, &format!("/api/agent/jobs/none/events/stream{query}"), &[], 404).await;
    check(&bench, "/api/agent/jobs/none/events/stream?token=other", &[], 401).await;
    let reply = bench.raw("GET", PATH, &[], "").await;
    assert_eq!(reply.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn a_page_opened_with_the_token_gets_a_cookie_that_is_not_the_token() {
    let bench = Bench::new();
    let reply = bench.raw("GET", &format!("/?token={TOKEN}"), &[], "").await;
    assert_eq!((reply.status, reply.header("location")), (303, "/"));
    let cookie = reply.header("set-cookie");
    assert!(cookie.starts_with("emend-8080=") && cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN));
    let cookie = format!("cookie: other=1; {}", cookie.split(';').next().unwrap());
    for (header, expected) in [
        ("accept: */*", 200),
        ("sec-fetch-site: same-origin", 200),
        ("sec-fetch-site: same-site", 401),
        ("sec-fetch-site: cross-site", 401),
        ("authorization: Bearer other", 401),
    ] {
        check(&bench, PATH, &[&cookie, header], expected).await;
    }
    // A page stays joined when its server is started again with the same token.
    let again = Bench::new();
    check(&again, PATH, &[&cookie], 200).await;
    let key = cookie.rsplit('=').next().unwrap();
    check(&bench, PATH, &[&format!("authorization: Bearer {key}")], 401).await;
    check(&bench, "/?token=other", &[], 401).await;
    let reply = bench.raw("GET", &format!("//evil.example/?token={TOKEN}"), &[], "").await;
    assert_eq!(reply.header("location"), "/evil.example/");
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let bench = Bench::new();
    let token = format!("authorization: Bearer {TOKEN}");
    let hosts = [
        ("localhost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("LOCALHOST:8080", 200),
        ("emend.example", 200),
        ("emend.example:443", 200),
        ("localhost:8081", 403),
        ("localhost", 403),
        ("evil.example:8080", 403),
        ("127.0.0.1.evil.example:8080", 403),
        ("localhost.evil.example", 403),
    ];
    for (host, expected) in hosts {
        check(&bench, PATH, &[&token, &format!("host: {host}")], expected).await;
    }
    // A request line can name a host, too.
    for (place, expected) in
        [("http://localhost:8080", 200), ("http://evil.example:8080", 403), ("http://a@localhost", 403)]
    {
        check(&bench, &format!("{place}{PATH}"), &[&token], expected).await;
    }
    let origins = [
        ("http://localhost:8080", 200),
        ("https://editor.example", 200),
        ("null", 403),
        ("http://localhost:8081", 403),
        ("https://localhost:8080", 403),
        ("http://127.0.0.1:8080", 403),
        ("https://editor.example.evil.example", 403),
        ("http://editor.example", 403),
        ("file://", 403),
        ("", 403),
    ];
    for (origin, expected) in origins {
        check(&bench, PATH, &[&token, &format!("origin: {origin}")], expected).await;
    }
    // A listed name is that of a proxy, which may serve HTTPS.
    for origin in ["https://emend.example", "http://emend.example"] {
        check(&bench, PATH, &[&token, "host: emend.example", &format!("origin: {origin}")], 200).await;
    }
}

#[tokio::test]
async fn only_listed_origins_get_cors_headers() {
    let bench = Bench::new();
    let preflight = async |origin: &str| bench.raw("OPTIONS", PATH, &[&format!("origin: {origin}")], "").await;
    let listed = preflight("https://editor.example").await;
    assert_eq!((listed.status, listed.header("access-control-allow-origin")), (204, "https://editor.example"));
    assert!(listed.header("access-control-allow-headers").contains("authorization"));
    assert_eq!(listed.header("access-control-allow-credentials"), "");
    let foreign = preflight("https://evil.example").await;
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (403, ""));
    // An error must be readable for the page, too.
    let reply = bench.raw("GET", PATH, &["origin: https://editor.example"], "").await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (401, "https://editor.example"));
    assert_eq!(reply.header("vary"), "origin");
}

#[tokio::test]
async fn a_client_that_asks_too_often_is_told_to_wait() {
    let limits = ServerLimits { requests_per_second: 1, requests_at_once: 3, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, "127.0.0.1:8080");
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(bench.send("GET", PATH, Value::Null).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    let reply = bench.send("GET", PATH, Value::Null).await;
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.json()["error"]["code"], "limit_reached");
    check(&bench, "/health", &[], 200).await;
}

#[tokio::test]
async fn a_flood_without_the_token_does_not_stop_the_owner() {
    let limits = ServerLimits { requests_per_second: 1, requests_at_once: 3, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, "127.0.0.1:8080");
    let mut statuses = Vec::new();
    for path in [PATH, PATH, "/", "/", PATH] {
        statuses.push(bench.raw("GET", path, &["authorization: Bearer wrong"], "").await.status);
    }
    assert_eq!(statuses, [401, 401, 200, 429, 429]);
    assert_eq!(bench.send("GET", PATH, Value::Null).await.status, 200);
}

#[tokio::test]
async fn a_repeated_host_or_origin_is_refused() {
    let bench = Bench::new();
    let token = format!("authorization: Bearer {TOKEN}");
    let table: [(&[&str], u16); 4] = [
        (&["host: localhost:8080"], 200),
        (&["host: localhost:8080", "host: localhost:8080"], 400),
        (&["host: localhost:8080", "host: evil.example"], 400),
        (&["origin: http://localhost:8080", "origin: https://editor.example"], 400),
    ];
    for (headers, expected) in table {
        let headers: Vec<&str> = headers.iter().copied().chain([token.as_str()]).collect();
        check(&bench, PATH, &headers, expected).await;
        check(&bench, "/health", &headers, expected).await;
    }
    let reply = bench.raw("GET", PATH, &[&token, "host: localhost:8080", "host: localhost:8080"], "").await;
    assert_eq!(reply.json()["error"]["code"], "invalid_argument");
}

#[tokio::test]
async fn the_number_of_streams_is_bounded() {
    let limits = ServerLimits { streams_max: 0, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, "127.0.0.1:8080");
    let reply = bench.send("GET", "/api/agent/stream", Value::Null).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, "2"));
}

#[test]
fn every_limit_of_the_service_says_when_to_try_again() {
    for (code, expected) in [(Code::LimitReached, Some("30")), (Code::Conflict, None), (Code::NotFound, None)] {
        let reply = crate::reply::json(&ApiError::new(code, "no").response());
        let after = reply.headers().get("retry-after").map(|after| after.to_str().unwrap());
        assert_eq!((reply.status().as_u16() == 429, after), (expected.is_some(), expected), "{code:?}");
    }
}

#[tokio::test]
async fn sane_request_ids_are_kept() {
    let bench = Bench::new();
    let long = "x".repeat(65);
    for (given, is_kept) in [("abc-1.2_3", true), ("a b", false), (long.as_str(), false), ("<script>", false)] {
        let reply = bench.raw("GET", "/health", &[&format!("x-request-id: {given}")], "").await;
        assert_eq!(reply.header("x-request-id") == given, is_kept, "{given}");
    }
}
