//! Limits and rules of the host, and ids of hunks that outlive a change of the review.

use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Bench;
use crate::service::ServiceLimits;
use crate::session::tests::Answer;
use crate::test_support::covers;

const FILES: &str = "//- a.md\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n//- .env\nTOKEN=hunter1\n//- b.md\nx\n";

fn edit(from: &str, to: &str) -> Vec<(&'static str, Value)> {
    vec![("edit_file", json!({ "file_path": "a.md", "old_string": from, "new_string": to }))]
}

/// Runs a job that edits three lines of `a.md`. Returns the session, the job and the ids of its hunks.
async fn edited(bench: &Bench) -> (String, String, Vec<String>) {
    let session = bench.session(json!({ "model": "script" })).await;
    let edits = [edit("b\n", "two\n"), edit("f\n", "six\n"), edit("k\n", "eleven\n")];
    bench.script().push(edits.map(Answer::Call));
    bench.script().push([Answer::Say("Done.")]);
    let job = bench.run(&session, "edit").await;
    bench.work().await;
    let hunks = hunks(bench, &job).await;
    assert_eq!(hunks.len(), 3);
    (session, job, hunks)
}

async fn hunks(bench: &Bench, job: &str) -> Vec<String> {
    let (_, review) = bench.get(&format!("/api/agent/review?job_id={job}")).await;
    let files = review["files"].as_array().unwrap().clone();
    let ids = files.iter().flat_map(|file| file["hunks"].as_array().unwrap()).map(|hunk| hunk["hunk_id"].clone());
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

async fn apply(bench: &Bench, session: &str, job: &str, ids: &[String]) -> (u16, Value) {
    let body = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": ids, "rebase": true });
    bench.post("/api/agent/apply", body).await
}

#[test]
fn ids_of_hunks_apply_after_one_of_them_was_decided() {
    covers("service.apply");
    block_on(async {
        let bench = Bench::new(FILES);
        let (session, job, ids) = edited(&bench).await;
        let accept = json!({ "decision": "accept", "hunk_ids": [ids[0]] });
        assert_eq!(bench.post("/api/agent/decisions", accept).await.0, 200);
        let (status, body) = apply(&bench, &session, &job, &ids[..2]).await;
        assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        assert_eq!(bench.disk("a.md"), "a\ntwo\nc\nd\ne\nsix\ng\nh\ni\nj\nk\nl\n");
    });
}

#[test]
fn the_id_of_a_rejected_hunk_does_not_apply() {
    block_on(async {
        let bench = Bench::new(FILES);
        let (session, job, ids) = edited(&bench).await;
        let reject = json!({ "decision": "reject", "hunk_ids": [ids[0]] });
        assert_eq!(bench.post("/api/agent/decisions", reject).await.0, 200);
        let before = bench.disk("a.md");
        assert_eq!(apply(&bench, &session, &job, &ids).await.0, 404);
        assert_eq!((bench.disk("a.md"), hunks(&bench, &job).await.len()), (before, 2));
    });
}

#[test]
fn ids_of_hunks_apply_after_the_user_joined_or_split_them() {
    block_on(async {
        let bench = Bench::new(FILES);
        let (session, job, ids) = edited(&bench).await;
        let text = "a\ntwo\nsix\ng\nh\ni\nj\neleven\nl\n";
        let user = json!({ "file_path": "a.md", "content": text });
        let (status, body) = bench.post("/api/agent/user_edit", user).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(hunks(&bench, &job).await.len(), 2, "two of the hunks are one now");
        let (status, body) = apply(&bench, &session, &job, &ids[..1]).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(bench.disk("a.md"), "a\ntwo\nf\ng\nh\ni\nj\nk\nl\n");
    });
}

#[test]
fn a_follow_up_that_a_limit_holds_back_starts_when_a_place_is_free() {
    covers("service.jobs");
    block_on(async {
        let limits = ServiceLimits { max_running_jobs: 1, ..ServiceLimits::default() };
        let bench = Bench::with_limits(FILES, limits);
        let (one, other) =
            (bench.session(json!({ "model": "script" })).await, bench.session(json!({ "model": "script" })).await);
        bench.script().push([Answer::Say("One."), Answer::Say("Other.")]);
        bench.run(&one, "say one").await;
        let path = format!("/api/agent/sessions/{other}/follow_ups");
        for text in ["first", "second"] {
            let (status, body) = bench.post(&path, json!({ "text": text })).await;
            assert_eq!((status, &body["started_job_id"]), (201, &Value::Null), "{body}");
        }
        let failures = || async {
            let (_, body) = bench.get("/api/agent/events?limit=1000").await;
            let events = body["events"].as_array().unwrap().clone();
            events.iter().filter(|event| event["type"] == "follow_up.failed").count()
        };
        assert_eq!(failures().await, 1, "told once");
        bench.script().push([Answer::Say("Second.")]);
        bench.work().await;
        let (_, state) = bench.get(&path).await;
        assert_eq!(state["follow_ups"], json!([]), "{state}");
        assert_eq!(bench.script().requests().len(), 3);
    });
}

#[test]
fn a_follow_up_that_the_number_of_jobs_holds_back_starts_after_a_decision() {
    block_on(async {
        let limits = ServiceLimits { max_jobs_per_session: 1, ..ServiceLimits::default() };
        let bench = Bench::with_limits(FILES, limits);
        let (session, job, _) = edited(&bench).await;
        let path = format!("/api/agent/sessions/{session}/follow_ups");
        let (_, body) = bench.post(&path, json!({ "text": "next" })).await;
        assert_eq!(body["started_job_id"], Value::Null, "{body}");
        bench.script().push([Answer::Say("Next.")]);
        assert_eq!(bench.post("/api/agent/decisions", json!({ "decision": "accept", "job_id": job })).await.0, 200);
        bench.work().await;
        assert_eq!(bench.script().last_user_texts().last().map(|text| text.contains("next")), Some(true));
        let (_, state) = bench.get(&path).await;
        assert_eq!(state["follow_ups"], json!([]), "{state}");
    });
}

#[test]
fn rows_and_comments_show_no_hidden_file_to_the_model() {
    covers("service.edits");
    block_on(async {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        bench.script().push([Answer::Say("Done.")]);
        let rows = json!([
            { "id": "1", "kind": "file", "file_path": ".env" },
            { "id": "2", "kind": "file", "file_path": "b.md" },
        ]);
        let body = json!({ "session_id": session, "instruction": "read", "context_rows": rows });
        let (status, body) = bench.post("/api/agent/run", body).await;
        assert_eq!(status, 202, "{body}");
        bench.work().await;
        let texts = bench.script().last_user_texts().concat();
        assert!(texts.contains("x\n") && !texts.contains("hunter1"), "{texts}");
        let comment = json!({ "file_path": ".env", "start_line": 1, "end_line": 1, "text": "look" });
        let (status, body) = bench.post(&format!("/api/agent/sessions/{session}/comments"), comment).await;
        assert_eq!(status, 403, "{body}");
        assert!(!body.to_string().contains("hunter1"), "{body}");
    });
}

#[test]
fn the_host_limits_tool_calls_and_edits_of_every_job() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(FILES);
        bench.set_host(2, false);
        let session = bench.session(json!({ "model": "script" })).await;
        bench.script().push([edit("b\n", "two\n"), edit("f\n", "six\n"), edit("k\n", "eleven\n")].map(Answer::Call));
        bench.script().push([Answer::Say("Done.")]);
        let job = bench.run(&session, "edit").await;
        bench.work().await;
        assert_eq!(hunks(&bench, &job).await.len(), 2);

        let bench = Bench::new(FILES);
        bench.set_host(0, true);
        for tools in ["profile", "project"] {
            let body = json!({ "model": "script", "tools": tools });
            let session = bench.session(body).await;
            bench.script().push([Answer::Say("Done.")]);
            bench.run(&session, "edit").await;
            bench.work().await;
            let request = bench.script().requests().pop().unwrap();
            let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert!(names.contains(&"read_file") && !names.contains(&"propose_edits"), "{names:?}");
            assert!(!names.contains(&"edit_file") && !names.contains(&"write_file"), "{names:?}");
        }
    });
}
