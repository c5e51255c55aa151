//! The reading of options, requests and scopes.

use emend_agent::service::store::EventScope;
use serde_json::json;
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::options::ServiceOptions;
use super::readings::{scope_of_text, text_of_scope};
use super::{read_request, refusal, without_method};

#[track_caller]
fn check_refused(json: &str, reason: &str) {
    let refused = ServiceOptions::parse(json).err().map(|failure| failure.message().to_owned());
    assert_eq!(refused.as_deref(), Some(format!("the options are wrong: {reason}").as_str()));
}

#[test]
fn wrong_options_are_named() {
    let offline = r#""models": {"offline": {"provider": "offline"}}, "defaultModel": "offline""#;
    check_refused("{}", "missing field `models`");
    check_refused(r#"{"models": {}}"#, "missing field `defaultModel`");
    check_refused(
        &format!(r#"{{{offline}, "limit": 1}}"#),
        "unknown field `limit`, expected one of `limits`, `models`, `defaultModel`, `routing`",
    );
    check_refused(&format!(r#"{{{offline}, "limits": {{"max_reruns": -1}}}}"#), "`max_reruns` is not a whole number");
    let options = ServiceOptions::parse(&format!(r#"{{{offline}, "limits": {{"max_reruns": 7}}}}"#)).unwrap();
    assert_eq!((options.limits.max_reruns, options.limits.max_sessions), (7, 25));
    assert_eq!(options.default_model, "offline");
    check_refused(&format!(r#"{{{offline}, "routing": {{}}}}"#), "missing field `fallback`");
    check_refused(
        &format!(r#"{{{offline}, "routing": {{"fallback": "offline", "strictLocal": 1}}}}"#),
        "`strictLocal` is not a boolean",
    );
}

#[test]
fn requests_are_read() {
    let request = read_request(r#"{"method": "GET", "path": "/a b", "query": "x=%41&y", "lastEventId": "7"}"#).unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a b"));
    assert_eq!(request.query, [("x".to_owned(), "A".to_owned()), ("y".to_owned(), String::new())]);
    assert_eq!((request.body, request.last_event_id.as_deref()), (json!(null), Some("7")));
    assert!(read_request("[]").is_err());
}

#[test]
fn a_path_without_the_method_names_its_methods() {
    let reply = |path: &str| refusal(&without_method("PUT", path), path);
    let of_sessions = reply("/api/agent/sessions");
    assert_eq!((of_sessions.status, of_sessions.allow.as_deref()), (405, Some("GET, POST")));
    assert_eq!((reply("/x").status, reply("/x").allow), (404, None));
}

#[test]
fn scopes_are_read_back() {
    for scope in [EventScope::All, EventScope::Session("s".to_owned()), EventScope::Job("j".to_owned())] {
        assert_eq!(scope_of_text(&text_of_scope(&scope)).unwrap(), scope);
    }
    assert!(scope_of_text(r#"{"session": "s", "job": "j"}"#).is_err());
}
