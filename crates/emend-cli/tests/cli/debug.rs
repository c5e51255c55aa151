//! `emend debug` and `emend models`: their output for small cases, and for all recorded traffic.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Outcome, Project};

const ANTHROPIC: &str = "\
event: message_start
data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\",\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":2}}}

data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}

data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"It is é.\"}}

data: {\"type\":\"content_block_stop\",\"index\":0}

data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}

data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}

data: {\"type\":\"content_block_stop\",\"index\":1}

data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}

data: {\"type\":\"message_stop\"}

";

/// Runs a command that must succeed and print one line of JSON.
#[track_caller]
fn json_of(project: &Project, args: &[&str]) -> Value {
    let outcome = project.run(args);
    outcome.assert_ok();
    assert_eq!(outcome.stdout.lines().count(), 1, "{}", outcome.stdout);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn the_summary_of_a_response_does_not_depend_on_chunks() {
    let project = Project::new(&[("a.sse", ANTHROPIC.as_bytes())]);
    for chunk in ["1", "7", "100000"] {
        let found = json_of(&project, &["debug", "decode", "--api", "anthropic-messages", "--chunk", chunk, "a.sse"]);
        assert_eq!(found["text"], "It is é.");
        assert_eq!(found["tool_calls"], json!([{"id": "t", "name": "f", "arguments": {"a": 1}}]));
        assert_eq!((&found["finish_reason"], &found["raw_finish_reason"]), (&json!("tool_calls"), &json!("tool_use")));
        let usage = json!({"input": 3, "output": 5, "cache_read": 2, "cache_write": null, "reasoning": null});
        assert_eq!((&found["usage"], &found["reasoning"], &found["error"]), (&usage, &Value::Null, &Value::Null));
    }
}

#[test]
fn an_error_of_the_provider_is_a_response() {
    let body = br#"{"error":{"message":"slow down","type":"rate_limit_exceeded","code":"rate_limit_exceeded"}}"#;
    let project = Project::new(&[("e.json", body), ("cut.sse", &ANTHROPIC.as_bytes()[..400])]);
    let found = json_of(&project, &["debug", "decode", "--api", "openai-chat", "--status", "429", "e.json"]);
    let error = &found["error"];
    assert_eq!(
        (&error["code"], &error["status"], &error["retryable"]),
        (&json!("rate_limit"), &json!(429), &json!(true))
    );
    let found = json_of(&project, &["debug", "decode", "--api", "anthropic-messages", "cut.sse"]);
    assert_eq!((&found["error"]["code"], &found["text"]), (&json!("stream"), &Value::Null));
    assert_eq!(found["partial_text"], "It is é.");
}

#[test]
fn a_request_is_printed_without_the_api_key() {
    let request =
        r#"{"model": "claude-opus-4-6", "messages": [{"role": "user", "content": [{"kind": "text", "text": "hi"}]}]}"#;
    let project = Project::new(&[("r.json", request.as_bytes())]);
    for (api, url, header) in [
        ("anthropic-messages", "https://api.anthropic.com/v1/messages", "x-api-key"),
        ("openai-responses", "https://api.openai.com/v1/responses", "authorization"),
        ("openai-chat", "https://api.openai.com/v1/chat/completions", "authorization"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/models/claude-opus-4-6:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
    ] {
        let mut child = project
            .command(&["debug", "encode", "--api", api])
            .env("ANTHROPIC_API_KEY", "sk-secret-key")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        outcome.assert_ok();
        let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!((&found["method"], &found["url"]), (&json!("POST"), &json!(url)), "{api}");
        assert_eq!(found["headers"][header], "[key]", "{api}: {found}");
        assert!(found["body"].to_string().contains("\"hi\"") && !outcome.stdout.contains("sk-secret"), "{found}");
        assert_eq!(json_of(&project, &["debug", "encode", "--api", api, "r.json"]), found, "a file is the same");
    }
}

#[test]
fn a_local_image_is_embedded_in_the_request() {
    let request = r#"{"messages": [{"role": "user", "content": [{"kind": "image", "url": "./dot.png"}]}]}"#;
    let project = Project::new(&[("r.json", request.as_bytes()), ("dot.png", b"hi")]);
    let found = json_of(&project, &["debug", "encode", "--api", "anthropic-messages", "r.json"]);
    let source = &found["body"]["messages"][0]["content"][0]["source"];
    assert_eq!(*source, json!({"type": "base64", "media_type": "image/png", "data": "aGk="}));
}

#[test]
fn invalid_requests_and_responses_are_refused() {
    #[track_caller]
    fn check(args: &[&str], status: i32, words: &str) {
        let outcome = Project::new(&[("bad.json", b"{\"messages\": 1}")]).run(args);
        assert_eq!(outcome.status, status, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words) && outcome.stdout.is_empty(), "{words}: {}", outcome.stderr);
    }
    check(&["debug", "decode", "--api", "gemini", "missing.sse"], 1, "missing.sse");
    check(&["debug", "decode", "--api", "soap", "bad.json"], 2, "openai-chat");
    check(&["debug", "decode", "--api", "gemini", "--chunk", "0", "bad.json"], 2, "--chunk");
    check(&["debug", "decode", "--api", "gemini", "--status", "42", "bad.json"], 2, "--status");
    check(&["debug", "encode", "--api", "gemini", "bad.json"], 2, "messages");
    check(&["models", "--provider", "acme"], 2, "anthropic, openai, gemini");
}

#[test]
fn models_are_listed_as_text_and_as_json() {
    let project = Project::new(&[]);
    let table = project.run(&["models"]);
    table.assert_ok();
    let listed = project.run(&["models", "--json"]);
    listed.assert_ok();
    let models: Vec<Value> = listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(table.stdout.lines().count(), models.len() + 1, "a title and a line each");
    for info in &models {
        assert!(table.stdout.contains(info["id"].as_str().unwrap()));
        assert!(info["context_window"].as_u64().unwrap() > 0, "{info}");
    }
    let one = project.run(&["models", "--json", "--provider", "gemini"]).stdout;
    let providers = |provider: &str| models.iter().filter(|info| info["provider"] == provider).count();
    assert_eq!(one.lines().count(), providers("gemini"));
    assert!(["anthropic", "openai", "gemini"].iter().all(|provider| providers(provider) > 0));
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the differences between a summary and the response as the provider's own library reads it.
fn differences(found: &Value, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: &str, expected: &Value, found: &Value| {
        if expected != found {
            wrong.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    if let Some(error) = expected.get("error") {
        // An error inside a stream has no HTTP status.
        let status = found["error"]["status"].as_u64().unwrap_or(200);
        check("status", &error["status"], &status.into());
        check("an error", &true.into(), &found["error"]["code"].is_string().into());
        return wrong;
    }
    for key in ["text", "usage", "refusal", "reasoning_present"] {
        check(key, &expected[key], &found[key]);
    }
    check("finish reason", &expected["finish_reason"], &found["raw_finish_reason"]);
    check("error", &Value::Null, &found["error"]);
    let calls = |value: &Value| -> Vec<Value> {
        let calls = value["tool_calls"].as_array().into_iter().flatten();
        calls.map(|call| json!([call["id"], call["name"], call["arguments"]])).collect()
    };
    check("tool calls", &calls(expected).into(), &calls(found).into());
    wrong
}

#[test]
fn recorded_traffic_is_summarised_like_the_providers_libraries_do() {
    let Some(wire) = std::env::var_os("EMEND_WIRE").map(PathBuf::from) else {
        println!("skipped: 308 recorded answers (set EMEND_WIRE to their directory)");
        return;
    };
    let expected = read_json(&wire.join("expected.json"));
    let project = Project::new(&[]);
    let (mut n_cases, mut n_wrong) = (0, 0);
    for entry in ["recordings", "edge_fixtures"].iter().flat_map(|folder| std::fs::read_dir(wire.join(folder)).unwrap())
    {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let recording = read_json(&path);
        let response = &recording["response"];
        let body = match (&response["sse"], &response["body"]) {
            (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
            (_, body) => body.to_string(),
        };
        std::fs::write(project.path("body"), body).unwrap();
        let status = response["status"].to_string();
        let mut args =
            vec!["debug", "decode", "--api", recording["api"].as_str().unwrap(), "--status", &status, "body"];
        // Every second response is decoded in chunks. The tests of the library decode all of them both ways.
        if n_cases % 2 == 1 {
            args.extend(["--chunk", "5"]);
        }
        let wrong = differences(&json_of(&project, &args), &expected[recording["id"].as_str().unwrap()]);
        n_cases += 1;
        if !wrong.is_empty() {
            n_wrong += 1;
            println!("{}\n  {}", path.display(), wrong.join("\n  "));
        }
    }
    println!("{n_cases} recorded answers through the command");
    assert!(n_cases >= 308, "only {n_cases} recordings");
    assert_eq!(n_wrong, 0, "{n_wrong} of {n_cases} answers are summarised wrongly");
}
