//! The contract of the review service: `tests/service/contract.json` and `conflict.json` over the service in memory
//! without a transport, and over sockets to a server.
//!
//! The same files run over `emend/service` in JavaScript, and can run over any transport that implements [`Client`].

mod host;
mod http;
mod normal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use emend_agent::service::api::{Method, OPERATIONS, OperationInfo, route};
use futures::executor::block_on;
use serde_json::{Map, Value, json};

use crate::checklist::covers;
use host::Bench;
use http::HttpClient;
use normal::Normal;

/// Number of polls of a job that a step waits for.
const POLLS_MAX: usize = 2_000;

/// A transport of the service.
pub(crate) trait Client {
    /// Sends a request and returns the status and the body.
    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value);

    /// Opens a stream and returns the status and the first `n` messages without heartbeats, or the error.
    async fn stream(&self, path: &str, n: usize) -> (u16, Value);

    /// Lets jobs advance.
    async fn pause(&self);

    /// Writes a file under the service, as another program does.
    fn write_to_disk(&self, path: &str, text: &str);
}

/// Runs all steps and returns the normalised replies by the names of the steps.
pub(crate) async fn replies(client: &impl Client, contract: &Value) -> Map<String, Value> {
    let mut saved: BTreeMap<String, String> = BTreeMap::new();
    let (mut normal, mut replies, mut problems) = (Normal::default(), Map::new(), Vec::new());
    for step in contract["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        if let Some(wait) = step.get("wait") {
            wait_for(client, &filled(wait, &saved), name).await;
        }
        for (path, text) in step["disk"].as_object().into_iter().flatten() {
            client.write_to_disk(path, &written(text));
        }
        let path = filled_text(step["path"].as_str().unwrap(), &saved);
        let (status, body) = match step["messages"].as_u64() {
            Some(n) => client.stream(&path, n as usize).await,
            None => {
                let body = step.get("body").map_or(Value::Null, |body| filled(body, &saved));
                client.send(step["method"].as_str().unwrap(), &path, body).await
            }
        };
        if Some(u64::from(status)) != step["status"].as_u64() {
            problems.push(format!("{name}: {status} {body}"));
        }
        for (key, pointer) in step["save"].as_object().into_iter().flatten() {
            let value = body.pointer(pointer.as_str().unwrap()).and_then(Value::as_str);
            saved.insert(
                key.clone(),
                value.unwrap_or_else(|| panic!("{name}: no {pointer} in {body}: {problems:?}")).to_owned(),
            );
        }
        let before = replies.insert(name.to_owned(), normal.of(&body));
        assert_eq!(before, None, "two steps have the name {name:?}");
    }
    assert!(problems.is_empty(), "replies with another status: {problems:#?}");
    replies
}

async fn wait_for(client: &impl Client, wait: &Value, name: &str) {
    let path = format!("/api/agent/jobs/{}", wait["job"].as_str().unwrap());
    for _ in 0..POLLS_MAX {
        let (_, job) = client.send("GET", &path, Value::Null).await;
        if job["status"] == wait["status"] {
            return;
        }
        let ended = ["completed", "failed", "cancelled"].iter().any(|status| job["status"] == **status);
        assert!(!ended, "{name}: the job has the status {}: {}", job["status"], job["error"]);
        client.pause().await;
    }
    panic!("{name}: the job did not reach {}", wait["status"]);
}

/// Returns the text of a file: as it stands, or a text, the number of its repetitions and the end.
fn written(text: &Value) -> String {
    match text.as_array().map(Vec::as_slice) {
        Some([text, times, end]) => {
            text.as_str().unwrap().repeat(times.as_u64().unwrap() as usize) + end.as_str().unwrap()
        }
        _ => text.as_str().unwrap().to_owned(),
    }
}

/// Puts saved values into the texts of a value.
fn filled(value: &Value, saved: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(text, saved)),
        Value::Array(items) => items.iter().map(|item| filled(item, saved)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), filled(field, saved))).collect(),
        other => other.clone(),
    }
}

fn filled_text(text: &str, saved: &BTreeMap<String, String>) -> String {
    saved.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("service").join(name)
}

/// The stories with the files of their replies.
const STORIES: [(&str, &str); 2] = [("contract.json", "replies.json"), ("conflict.json", "conflict-replies.json")];

fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap()
}

#[test]
fn replies_are_those_of_the_contract() {
    for (story, expected) in STORIES {
        let contract = read(story);
        let found = block_on(async { replies(&Bench::new(&contract), &contract).await });
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
            std::fs::write(file(expected), text).unwrap();
            continue;
        }
        check(&found, expected);
    }
}

/// Compares replies with those of a file.
fn check(found: &Map<String, Value>, file: &str) {
    let expected = read(file);
    for (name, reply) in found {
        assert_eq!(Some(reply), expected.get(name), "{name}; UPDATE_EXPECT=1 accepts the reply");
    }
    let n_expected = expected.as_object().unwrap().len();
    assert_eq!(found.len(), n_expected, "{file} has replies of steps that do not exist");
}

#[tokio::test]
async fn a_server_sends_the_same_replies() {
    covers("service.sessions");
    for (story, expected) in STORIES {
        let contract = read(story);
        let client = HttpClient::start(Bench::new(&contract)).await;
        check(&replies(&client, &contract).await, expected);
    }
}

#[test]
fn a_conflict_writes_nothing_and_has_the_status_409() {
    let replies = read("conflict-replies.json");
    for (step, file) in [("apply over a change on disk", "b.md"), ("apply with a re-run", "a.md")] {
        assert_eq!(replies[step]["error"]["code"], "conflict", "{step}");
        assert_eq!(replies[step]["error"]["data"]["files"], json!([file]), "{step}");
    }
    let of_file = |step: &str| replies[step]["saved_content"].clone();
    let unwritten = "nothing is written to the file without a conflict";
    assert_eq!(of_file(unwritten), "The colour of the sky.\nSecond line.\n");
    assert_eq!(of_file("the other program's text stays"), "A colour of the lake.\nSecond line.\n");
    assert_eq!(of_file("the edit is in the other program's text"), "The color of the lake.\nThird line.\n");
}

/// Returns whether some request to an operation can fail because of its path, its query or its body.
fn can_fail(info: &OperationInfo) -> bool {
    let takes_input = info.path.contains('{') || info.request.is_some();
    // A parameter that is a number can be malformed; a stream answers such a number with a message.
    let has_number = info.query.iter().any(|(_, is_number, _)| *is_number);
    takes_input || !info.errors.is_empty() || (has_number && !info.is_stream)
}

#[test]
fn every_operation_has_a_step_that_succeeds_and_one_that_fails() {
    let mut covered = BTreeSet::new();
    let stories = STORIES.map(|(story, _)| read(story));
    for step in stories.iter().flat_map(|story| story["steps"].as_array().unwrap()) {
        let path = step["path"].as_str().unwrap().split('?').next().unwrap().to_owned();
        let method = Method::from_name(step["method"].as_str().unwrap()).unwrap();
        let (info, _) = route(method, &path).unwrap_or_else(|error| panic!("{}: {error}", step["name"]));
        assert_eq!(info.is_stream, step.get("messages").is_some(), "{}", step["name"]);
        covered.insert((info.operation, step["status"].as_u64().unwrap() < 400));
    }
    for info in OPERATIONS {
        let name = info.operation.name();
        assert!(covered.contains(&(info.operation, true)), "no step of {name} succeeds");
        let fails = covered.contains(&(info.operation, false));
        assert!(fails || !can_fail(info), "no step of {name} fails");
    }
}

#[test]
fn values_are_normalised_by_first_appearance() {
    let mut normal = Normal::default();
    let id = |n: u8| format!("{n:08x}-0000-4000-8000-000000000000");
    let found = normal.of(&json!({
        "job_id": format!("job_{}", id(3)),
        "session_id": id(7),
        "text": format!("{} at 2026-02-05T12:00:00.000Z for 17 ms, latency_ms=5 lines=5", id(7)),
        "duration_ms": 17,
        "usage": { "input_tokens": 4, "cost_usd": 0.5 },
    }));
    assert_eq!(
        found,
        json!({
            "job_id": "job_<1>",
            "session_id": "<2>",
            "text": "<2> at <time> for 0 ms, latency_ms=0 lines=5",
            "duration_ms": 0,
            "usage": { "input_tokens": 0, "cost_usd": 0 },
        })
    );
    assert_eq!(normal.of(&json!([id(3)])), json!(["<1>"]));
}
