//! The router of a session's model: its choices with their reasons in the trace of the job.
//!
//! A module for browsers does not check edits before the choice, so these tests run natively.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::super::Bench;
use crate::service::Method;
use crate::session::tests::Answer;

const NOTES: &str = "//- notes.md\none\ntwo\n";
const RENAME: &str = "rename two to zwei in notes.md";

/// Runs a job whose first model answers with edits of `notes.md`, then with a text. Returns the service, the choices of
/// the router with their details, and the state of the job.
async fn routed(answers: Vec<Answer>) -> (Bench, Vec<(String, bool, Value)>, Value) {
    let bench = Bench::new(NOTES);
    let session = bench.session(json!({ "model": "routed" })).await;
    bench.script().push(answers);
    let job = bench.run(&session, RENAME).await;
    bench.work().await;
    let (_, events) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
    let events = events["events"].as_array().unwrap().iter();
    let chosen = events.filter(|event| event["type"] == "provider.selected").map(|event| &event["data"]);
    let choice = |route: &Value| {
        let reason = route["reason"].as_str().unwrap().to_owned();
        (reason, route["local"].as_bool().unwrap(), route["detail"].clone())
    };
    let choices = chosen.map(choice).collect();
    let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
    (bench, choices, state)
}

/// Returns the text of the file with its pending edits.
async fn visible(bench: &Bench) -> String {
    bench.get("/api/agent/buffer?file_path=notes.md").await.1["content"].as_str().unwrap().to_owned()
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "file_path": "notes.md", "old_string": old, "new_string": new }))
}

#[test]
fn an_edit_that_would_fail_goes_to_the_second_model_and_the_trace_has_the_reason() {
    block_on(async {
        // The first model never gets it right; each of its requests goes to the second one.
        let wrong = (0..40).map(|_| Answer::Call(vec![edit("three\n", "drei\n")]));
        let (bench, choices, state) = routed(wrong.collect()).await;
        let detail = json!("the call of edit_file would fail: notes.md");
        let expected = [
            ("local_first".to_owned(), true, Value::Null),
            ("validation_fail".to_owned(), true, detail.clone()),
            ("validation_fail".to_owned(), false, detail),
        ];
        assert!(choices.len() >= 6 && choices.chunks(3).all(|request| request == expected), "{choices:?}");
        // The conversation has no trace of the rejected responses: the second model has done the work.
        assert_eq!(state["status"], "awaiting_review", "{state}");
        assert_eq!(visible(&bench).await, "one\nzwei\n");
        let kinds = bench.kinds(state["job_id"].as_str().unwrap()).await;
        assert!(!kinds.iter().any(|kind| kind == "job.error"), "{kinds:?}");
        let (_, trace) = bench.get(&format!("/api/agent/jobs/{}/trace", state["job_id"].as_str().unwrap())).await;
        assert!(trace["steps"].to_string().contains("reason=validation_fail"), "{trace}");
    });
}

#[test]
fn edits_that_can_be_made_stay_with_the_first_model() {
    block_on(async {
        // The second edit depends on the first one, so it cannot be checked before.
        let calls = vec![edit("two\n", "deux\n"), edit("deux\n", "zwei\n")];
        let (bench, choices, state) = routed(vec![Answer::Call(calls), Answer::Say("Done.")]).await;
        assert!(choices.iter().all(|(reason, local, _)| reason == "local_first" && *local), "{choices:?}");
        assert_eq!(choices.len(), 2);
        assert_eq!(state["status"], "awaiting_review", "{state}");
        assert_eq!(visible(&bench).await, "one\nzwei\n");
    });
}

#[test]
fn the_choice_between_the_models_changes_with_the_next_job() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "model": "routed", "agent_mode": "local" })).await;
        let path = format!("/api/agent/sessions/{session}");
        let routed_by = |job: String| {
            let bench = &bench;
            async move {
                let (_, events) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
                let found = events["events"].as_array().unwrap().iter();
                let chosen = found.filter(|event| event["type"] == "provider.selected").map(|event| &event["data"]);
                chosen.map(|data| (data["local"].as_bool().unwrap(), data["reason"].clone())).collect::<Vec<_>>()
            }
        };
        bench.script().push([Answer::Say("local")]);
        let first = bench.run(&session, "say something").await;
        bench.work().await;
        assert_eq!(routed_by(first).await, [(true, json!("mode"))]);
        let (status, body) = bench.send(Method::Patch, &path, json!({ "agent_mode": "remote" })).await;
        assert_eq!((status, &body["agent_mode"]), (200, &json!("remote")), "{body}");
        // The first model would give this answer. It waits for the third job.
        bench.script().push([Answer::Say("scripted")]);
        let second = bench.run(&session, RENAME).await;
        bench.work().await;
        let choices = routed_by(second).await;
        assert!(!choices.is_empty() && choices.iter().all(|choice| *choice == (false, json!("mode"))), "{choices:?}");
        assert_eq!(visible(&bench).await, "one\nzwei\n", "the second model has the conversation and the files");
        // A session may also name another model, which must exist.
        let (status, body) = bench.send(Method::Patch, &path, json!({ "model": "none" })).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!("configuration")), "{body}");
        let (status, body) = bench.send(Method::Patch, &path, json!({ "model": "script" })).await;
        assert_eq!((status, &body["model"]), (200, &json!("script")), "{body}");
        let third = bench.run(&session, "say something else").await;
        bench.work().await;
        let (_, state) = bench.get(&format!("/api/agent/jobs/{third}")).await;
        assert_eq!(state["answer"], "scripted", "{state}");
    });
}
