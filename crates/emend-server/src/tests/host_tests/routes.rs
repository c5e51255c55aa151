//! Every operation of the table is reached, and wrong requests get the right status.

use emend_agent::service::{Method, OPERATIONS};
use serde_json::{Value, json};

use crate::tests::bench::{Bench, TOKEN};

/// Sends a request with the token and compares the status and the code.
async fn check(bench: &Bench, request: (&str, &str, &str), expected: (u16, &str)) {
    let (method, path, body) = request;
    let token = format!("authorization: Bearer {TOKEN}");
    let headers = [token.as_str(), "content-type: application/json"];
    let reply = bench.raw(method, path, &headers, body.to_owned()).await;
    let code = reply.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
    assert_eq!((reply.status, code.as_str()), expected, "{method} {path} {body}: {reply:?}");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert!(!reply.header("x-request-id").is_empty());
}

#[tokio::test]
async fn every_operation_is_reached() {
    let bench = Bench::new();
    for info in OPERATIONS.iter().filter(|info| !info.is_stream) {
        let path = info.path.replace(['{', '}'], "");
        let reply = bench.send(info.method.name(), &path, json!({})).await;
        let text = &reply.text;
        assert_ne!(reply.status, 405, "{path}: {text}");
        assert!(!text.contains("there is no operation"), "{path}: {text}");
        assert_ne!(reply.status, 500, "{path}: {text}");
    }
    assert!(Method::from_name("PUT").is_none());
}

#[tokio::test]
async fn half_a_character_in_a_body_is_replaced_as_in_javascript() {
    let bench = Bench::new();
    let token = format!("authorization: Bearer {TOKEN}");
    let headers = [token.as_str(), "content-type: application/json"];
    let body = r#"{"title": "\ud800x \ud83d\ude00 \\ud800"}"#;
    let reply = bench.raw("POST", "/api/agent/sessions", &headers, body).await;
    assert_eq!(reply.json()["title"], "\u{fffd}x 😀 \\ud800", "{reply:?}");
}

#[tokio::test]
async fn wrong_requests_get_their_status() {
    let bench = Bench::new();
    let huge = format!("{{\"title\": \"{}\"}}", "x".repeat(9 * 1024 * 1024));
    let deep = "[".repeat(100_000);
    let table = [
        (("GET", "/api/agent/sessions", ""), (200, "")),
        (("GET", "/api/agent/sessions/none", ""), (404, "not_found")),
        (("GET", "/api/agent/none", ""), (404, "not_found")),
        (("GET", "/api", ""), (404, "not_found")),
        (("PUT", "/api/agent/sessions", ""), (405, "method_not_allowed")),
        (("DELETE", "/api/agent/run", ""), (405, "method_not_allowed")),
        (("HEAD", "/api/agent/run", ""), (405, "")),
        (("TRACE", "/api/agent/none", ""), (404, "not_found")),
        (("POST", "/api/agent/sessions", "{"), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", "null"), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", r#"{"budget": {"tokens": 3.0, "cost_usd": 3}}"#), (201, "")),
        (("POST", "/api/agent/sessions", r#"{"budget": {"tokens": 3.5}}"#), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", r#"{"budget": {"tokens": -3.0}}"#), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", r#"{"budget": {"tokens": 1e300}}"#), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", "[]"), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", "{\"other\": 1}"), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", "\u{0}"), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", deep.as_str()), (400, "invalid_argument")),
        (("POST", "/api/agent/sessions", huge.as_str()), (413, "invalid_argument")),
        (("POST", "/api/agent/run", "{}"), (400, "invalid_argument")),
        (("GET", "/api/agent/sessions?limit=x", ""), (400, "invalid_argument")),
        (("GET", "/api/agent/sessions?offset=1", ""), (400, "invalid_argument")),
        (("GET", "/api/agent/settings?token=x", ""), (400, "invalid_argument")),
        (("GET", "/api/agent/stream?cursor=1", ""), (400, "invalid_argument")),
        (
            ("POST", "/api/agent/user_edit", "{\"file_path\": \".git/config\", \"content\": \"\"}"),
            (403, "permission_denied"),
        ),
        (
            ("POST", "/api/agent/user_edit", "{\"file_path\": \"sub/.GIT/hooks/x\", \"content\": \"\"}"),
            (403, "permission_denied"),
        ),
        (
            ("POST", "/api/agent/user_edit", "{\"file_path\": \".git/x\", \"content\": \"\", \"allow_git\": true}"),
            (200, ""),
        ),
        (("POST", "/api/agent/user_edit", "{\"file_path\": \".gitignore\", \"content\": \"x\\n\"}"), (200, "")),
        (("GET", "/api/agent/sessions/%00", ""), (404, "not_found")),
        (("GET", "/api/agent/sessions/..%2f..%2fetc", ""), (404, "not_found")),
        (("GET", "/api/agent/sessions/%zz", ""), (404, "not_found")),
        (("GET", "/api/agent/sessions/%ff", ""), (404, "not_found")),
        (("GET", "/api/agent/jobs/none/events/stream", ""), (404, "not_found")),
        (("GET", "/api/agent/buffer?file_path=../../etc/passwd", ""), (403, "permission_denied")),
        (("GET", "/metrics", ""), (200, "")),
        (("GET", "/api/openapi.json", ""), (200, "")),
    ];
    for (request, expected) in table {
        check(&bench, request, expected).await;
    }
    let reply = bench.send("PUT", "/api/agent/sessions", Value::Null).await;
    assert_eq!(reply.header("allow"), "GET, POST");
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    let bench = Bench::new();
    let token = format!("authorization: Bearer {TOKEN}");
    let table =
        [("text/plain", 415), ("application/x-www-form-urlencoded", 415), ("application/json; charset=utf-8", 201)];
    for (kind, expected) in table {
        let kind = format!("content-type: {kind}");
        let reply = bench.raw("POST", "/api/agent/sessions", &[&token, &kind], "{}").await;
        assert_eq!(reply.status, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_job_is_run_reviewed_and_applied() {
    let bench = Bench::new();
    let (session, job) = bench.job("rename alpha to gamma in a.txt").await;
    let state = bench.wait(&job).await;
    assert_eq!(state["status"], "awaiting_review", "{state}");
    let hunk = state["diff_bundle"]["files"][0]["hunks"][0]["hunk_id"].clone();
    let body = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": [hunk] });
    let reply = bench.send("POST", "/api/agent/apply", body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(bench.files.get("a.txt").unwrap().to_vec(), b"gamma\nbeta\n");
    let metrics = bench.send("GET", "/metrics", Value::Null).await.text;
    for line in ["emend_http_requests_total{operation=\"Apply\",status=\"200\"} 1", "emend_running_jobs 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn a_cancelled_job_is_returned_as_cancelled() {
    let bench = Bench::new();
    let (session, job) = bench.asking_job("rename alpha to gamma in a.txt").await;
    let waiting = bench.wait(&job).await;
    // The model has been called, although the run has not ended.
    assert!(waiting["usage"]["total_tokens"].as_u64().unwrap() > 0, "{waiting}");
    let reply = bench.send("POST", &format!("/api/agent/jobs/{job}/cancel"), Value::Null).await;
    assert_eq!((reply.status, reply.json()["status"].as_str()), (200, Some("cancelled")));
    assert_eq!(reply.json()["error"], Value::Null);
    // Nothing is counted twice.
    let ended = bench.wait(&job).await;
    assert_eq!(ended["usage"]["total_tokens"], waiting["usage"]["total_tokens"]);
    let snapshot = bench.send("GET", &format!("/api/agent/sessions/{session}"), Value::Null).await.json();
    assert_eq!(snapshot["spent"]["total_tokens"], ended["usage"]["total_tokens"]);
}
