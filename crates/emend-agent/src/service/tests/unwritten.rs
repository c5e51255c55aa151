//! Files that are not on the disk, and edits that need others.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A service with a session whose jobs make these calls.
async fn scripted(fixture: &str, jobs: &[Vec<(&'static str, Value)>]) -> (Bench, String, Vec<String>) {
    let bench = Bench::new(fixture);
    let session = bench.session(json!({ "model": "script" })).await;
    let mut ids = Vec::new();
    for calls in jobs {
        bench.script().push([Answer::Call(calls.clone()), Answer::Say("Done.")]);
        ids.push(bench.run(&session, "do it").await);
        bench.work().await;
    }
    (bench, session, ids)
}

fn edit(from: &str, to: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "file_path": "a.md", "old_string": from, "new_string": to }))
}

async fn status(bench: &Bench, job: &str) -> Value {
    bench.get(&format!("/api/agent/jobs/{job}")).await.1["status"].clone()
}

#[test]
fn a_file_that_a_pending_edit_creates_is_read_decided_on_and_compared() {
    covers("service.edits");
    block_on(async {
        let create = ("write_file", json!({ "file_path": "new.md", "content": "new\n" }));
        let (bench, _, jobs) = scripted("//- a.md\n1\n", &[vec![create]]).await;
        let (code, buffer) = bench.get("/api/agent/buffer?file_path=new.md").await;
        assert_eq!((code, &buffer["content"], &buffer["saved_content"]), (200, &json!("new\n"), &Value::Null));
        let checkpoint = format!("cp_{}", jobs[0].trim_start_matches("job_"));
        let (code, compared) = bench.get(&format!("/api/agent/checkpoints/{checkpoint}/diff3?file_path=new.md")).await;
        assert_eq!((code, &compared["agent_proposed"]), (200, &json!("new\n")), "{compared}");
        let rollback = json!({ "mode": "hard_all", "file_paths": ["new.md"], "preview": true });
        let (code, reply) = bench.post(&format!("/api/agent/checkpoints/{checkpoint}/rollback"), rollback).await;
        assert_eq!((code, &reply["files"][0]["reverted"]), (200, &json!(1)), "{reply}");
        let (code, reply) =
            bench.post("/api/agent/decisions", json!({ "decision": "accept", "file_path": "new.md" })).await;
        assert_eq!((code, bench.disk("new.md").as_str()), (200, "new\n"), "{reply}");
        let (code, unknown) = bench.get("/api/agent/buffer?file_path=other.md").await;
        assert_eq!((code, &unknown["error"]["code"]), (404, &json!("not_found")));
    });
}

#[test]
fn a_new_file_of_the_user_that_waits_for_a_save_is_returned() {
    block_on(async {
        let bench = Bench::new("//- a.md\n1\n");
        let body = json!({ "file_path": "mine.md", "content": "mine\n", "save": false });
        let (code, buffer) = bench.post("/api/agent/user_edit", body).await;
        let found = (&buffer["content"], &buffer["saved_content"], &buffer["unsaved"]);
        assert_eq!((code, found), (200, (&json!("mine\n"), &Value::Null, &json!(true))), "{buffer}");
    });
}

#[test]
fn an_accepted_line_takes_the_lines_that_it_needs_along_and_says_so() {
    covers("review.lines");
    block_on(async {
        let jobs = [vec![edit("1\n", "1\nP1\nP2\n")], vec![edit("P1\n", "P1\nMID\n")]];
        let (bench, _, jobs) = scripted("//- a.md\n1\n2\n", &jobs).await;
        let accept = json!({ "decision": "accept", "job_id": jobs[1] });
        let (code, preview) = bench.post("/api/agent/decisions/preview", accept.clone()).await;
        let counts = (&preview["files"][0]["hunks"], &preview["files"][0]["also_accepted"]);
        assert_eq!((code, counts), (200, (&json!(1), &json!(1))), "{preview}");
        let (code, review) = bench.post("/api/agent/decisions", accept).await;
        assert_eq!((code, &review["files"]), (200, &json!([])), "nothing on the disk is pending");
        assert_eq!(bench.disk("a.md"), "1\nP1\nMID\nP2\n2\n");
        for job in &jobs {
            assert_eq!(status(&bench, job).await, "completed");
        }
        assert_eq!(bench.post("/api/agent/undo", Value::Null).await.0, 200);
        assert_eq!(bench.disk("a.md"), "1\n2\n");
        let reject = json!({ "decision": "reject", "job_id": jobs[1] });
        let (_, preview) = bench.post("/api/agent/decisions/preview", reject).await;
        assert_eq!(preview["files"][0]["also_accepted"], 0);
    });
}

#[test]
fn a_job_whose_lines_another_job_replaced_ends_and_comes_back_with_them() {
    covers("service.jobs");
    block_on(async {
        let jobs = [vec![edit("1\n", "1\nAA\n")], vec![edit("AA\n", "")]];
        let (bench, _, jobs) = scripted("//- a.md\n1\n2\n", &jobs).await;
        assert_eq!(status(&bench, &jobs[0]).await, "completed", "no line of it is left");
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={}", jobs[1])).await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        let reject = json!({ "decision": "reject", "hunk_ids": [hunk] });
        assert_eq!(bench.post("/api/agent/decisions", reject).await.0, 200);
        assert_eq!(status(&bench, &jobs[0]).await, "awaiting_review", "its line is pending again");
        let accept = json!({ "decision": "accept", "job_id": jobs[0] });
        assert_eq!(bench.post("/api/agent/decisions", accept).await.0, 200);
        assert_eq!(bench.disk("a.md"), "1\nAA\n2\n");
        assert_eq!(status(&bench, &jobs[0]).await, "completed");
    });
}

#[test]
fn an_application_that_is_refused_has_an_end() {
    covers("service.apply");
    block_on(async {
        let jobs = [vec![edit("1\n", "AA\n")], vec![edit("AA\n", "BB\n")]];
        let (bench, session, jobs) = scripted("//- a.md\n1\n2\n", &jobs).await;
        let apply = json!({ "session_id": session, "job_id": jobs[0], "accepted_hunk_ids": [] });
        let (code, refused) = bench.post("/api/agent/apply", apply).await;
        assert_eq!((code, &refused["error"]["data"]["job_ids"]), (409, &json!([jobs[1]])), "{refused}");
        let kinds = bench.kinds(&jobs[0]).await;
        assert_eq!(kinds[kinds.len() - 2..], ["apply.started", "apply.failed"]);
    });
}

#[test]
fn steering_and_comments_are_found_by_a_search() {
    block_on(async {
        let bench = Bench::new("//- a.md\n1\n");
        let session = bench.session(json!({})).await;
        let comment = json!({ "file_path": "a.md", "start_line": 1, "end_line": 1, "text": "too terse" });
        assert_eq!(bench.post(&format!("/api/agent/sessions/{session}/comments"), comment).await.0, 201);
        let job = bench.run(&session, "rename 1 to one").await;
        bench.work_a_little(20).await;
        let steer = json!({ "text": "mind the margin" });
        assert_eq!(bench.post(&format!("/api/agent/jobs/{job}/steer"), steer).await.0, 200);
        bench.work().await;
        for (query, n_found) in [("terse", 1), ("margin", 1), ("nowhere", 0)] {
            let (_, list) = bench.get(&format!("/api/agent/sessions?query={query}")).await;
            assert_eq!(list["total"], n_found, "{query}");
        }
    });
}

#[test]
fn context_rows_and_questions_are_found_by_a_search() {
    block_on(async {
        let ask = ("clarify_user", json!({ "question": "Serifs everywhere?", "options": ["only in titles", "no"] }));
        let bench = Bench::new("//- a.md\n1\n");
        bench.script().push([Answer::Call(vec![ask])]);
        let row = |id: &str, content: &str| json!({ "id": id, "kind": "selection", "content": content });
        let session = bench.session(json!({ "model": "script", "context_rows": [row("r1", "with margins")] })).await;
        let path = format!("/api/agent/sessions/{session}");
        let rows = json!({ "context_rows": [row("r2", "updated with leading")] });
        assert_eq!(bench.send(crate::service::api::Method::Patch, &path, rows).await.0, 200);
        let run = json!({
            "session_id": session,
            "instruction": "set the type",
            "context_rows": [row("r3", "sent with kerning")],
        });
        assert_eq!(bench.post("/api/agent/run", run).await.0, 202);
        bench.work().await;
        for query in ["margins", "leading", "kerning", "Serifs", "only+in+titles", "set+the+type"] {
            let (_, list) = bench.get(&format!("/api/agent/sessions?query={query}")).await;
            assert_eq!(list["total"], 1, "{query}");
        }
        assert_eq!(bench.get("/api/agent/sessions?query=nowhere").await.1["total"], 0);
    });
}

#[test]
fn a_conflict_in_an_archived_session_starts_no_model() {
    block_on(async {
        let (bench, session, jobs) = scripted("//- a.md\n1\n2\n", &[vec![edit("1\n", "AA\n")]]).await;
        let archive = json!({ "status": "archived" });
        let path = format!("/api/agent/sessions/{session}");
        assert_eq!(bench.send(crate::service::api::Method::Patch, &path, archive).await.0, 200);
        bench.disk.files.insert("a.md", "ONE\n2\n").unwrap();
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={}", jobs[0])).await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        let apply = json!({ "session_id": session, "job_id": jobs[0], "accepted_hunk_ids": [hunk] });
        let (code, refused) = bench.post("/api/agent/apply", apply).await;
        assert_eq!((code, &refused["error"]["data"]["rerun"]), (409, &json!(false)), "{refused}");
    });
}
