//! Jobs from start to end: review, questions, cancellation, restarts.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::ServiceLimits;
use crate::service::store::EventScope;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const NOTES: &str = "//- notes.md\nThe colour of the sky.\nSecond line.\n";

#[test]
fn a_job_proposes_edits_and_apply_writes_the_accepted_ones() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({})).await;
        let job = bench.run(&session, "rename colour to color in notes.md").await;
        bench.work().await;
        let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
        assert_eq!(state["status"], "awaiting_review", "{state}");
        assert_eq!(bench.disk("notes.md"), "The colour of the sky.\nSecond line.\n");
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={job}")).await;
        let hunk = review["files"][0]["hunks"][0]["hunk_id"].as_str().unwrap();
        let request = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": [hunk] });
        let (status, applied) = bench.post("/api/agent/apply", request).await;
        assert_eq!(status, 200, "{applied}");
        assert_eq!(
            applied,
            json!({
                "status": "completed",
                "applied_files": [{ "file_path": "notes.md", "applied_hunks": 1, "rejected_hunks": 0 }]
            })
        );
        assert_eq!(bench.disk("notes.md"), "The color of the sky.\nSecond line.\n");
        let kinds = bench.kinds(&job).await;
        assert_eq!(kinds[..3], ["job.queued", "job.started", "checkpoint.created"]);
        assert_eq!(kinds.last().unwrap(), "job.completed");
        assert_eq!(kinds.iter().filter(|kind| kind.starts_with("job.completed")).count(), 1);
        for kind in ["tool.call.requested", "tool.call.completed", "edits.proposed", "diff.generated", "review.updated"]
        {
            assert!(kinds.iter().any(|found| found == kind), "{kind} is missing in {kinds:?}");
        }
    });
}

#[test]
fn readers_of_every_scope_get_each_event_once() {
    covers("service.events");
    block_on(async {
        let bench = Bench::new(NOTES);
        let (first, second) = (bench.session(json!({})).await, bench.session(json!({})).await);
        for session in [&first, &second] {
            bench.run(session, "rename colour to color in notes.md").await;
            bench.work().await;
        }
        let (_, all) = bench.get("/api/agent/events?limit=5000").await;
        let last = all["next"].as_u64().unwrap();
        for after in 0..last {
            let n = (last - after) as usize;
            let numbers = bench.read(EventScope::All, after, n).await;
            assert_eq!(numbers, (after + 1..=last).collect::<Vec<_>>(), "after {after}");
        }
        let (_, state) = bench.get(&format!("/api/agent/sessions/{second}")).await;
        let cursor = state["cursor"].as_u64().unwrap();
        let numbers = bench.read(EventScope::Session(second.clone()), 2, cursor as usize - 2).await;
        assert_eq!(numbers, (3..=cursor).collect::<Vec<_>>());
        assert_eq!(state["seq"], last);
    });
}

#[test]
fn a_busy_session_rejects_jobs_and_queues_follow_ups() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "mode": "direct" })).await;
        bench.run(&session, "rename colour to color in notes.md").await;
        let request = json!({ "session_id": session, "instruction": "rename sky to sea in notes.md" });
        let (status, body) = bench.post("/api/agent/run", request).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("busy")), "{body}");
        let path = format!("/api/agent/sessions/{session}/follow_ups");
        for text in ["rename sky to sea in notes.md", "rename Second to Third in notes.md"] {
            let (status, body) = bench.post(&path, json!({ "text": text })).await;
            assert_eq!(status, 201, "{body}");
            assert_eq!(body.get("started_job_id"), None);
        }
        bench.work().await;
        assert_eq!(bench.disk("notes.md"), "The color of the sea.\nThird line.\n");
        let (_, jobs) = bench.get(&format!("/api/agent/sessions/{session}/jobs")).await;
        let statuses: Vec<&Value> = jobs["jobs"].as_array().unwrap().iter().map(|job| &job["status"]).collect();
        assert_eq!(statuses, ["completed", "completed", "completed"]);
        let (_, left) = bench.get(&path).await;
        assert_eq!(left["follow_ups"], json!([]));
        let (status, body) = bench.post(&path, json!({ "text": "rename Third to Last in notes.md" })).await;
        assert_eq!(status, 201);
        assert!(body["started_job_id"].is_string(), "an idle session starts a follow-up at once: {body}");
    });
}

#[test]
fn a_killed_process_leaves_no_job_running() {
    block_on(async {
        for n_polls in 0..12 {
            let bench = Bench::new(NOTES);
            let session = bench.session(json!({})).await;
            let job = bench.run(&session, "rename colour to color in notes.md").await;
            bench.work_a_little(n_polls).await;
            bench.kill();
            let bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
            bench.service.recover().await.unwrap();
            let kinds = bench.kinds(&job).await;
            let n_ends =
                kinds.iter().filter(|kind| ["job.completed", "job.failed", "job.cancelled"].contains(&kind.as_str()));
            let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
            let expected = usize::from(state["status"] != "awaiting_review");
            assert_eq!(n_ends.count(), expected, "{n_polls} polls: {kinds:?}");
            // The session is free again.
            bench.run(&session, "rename sky to sea in notes.md").await;
            bench.work().await;
            let (_, review) = bench.get("/api/agent/review").await;
            assert!(review["files"][0]["hunks"].as_array().is_some_and(|hunks| !hunks.is_empty()), "{review}");
        }
    });
}

#[test]
fn errors_have_status_and_code() {
    block_on(async {
        let limits = ServiceLimits { max_sessions: 2, ..ServiceLimits::default() };
        let bench = Bench::with_limits(NOTES, limits);
        let session = bench.session(json!({})).await;
        let (run, sessions) = ("/api/agent/run", "/api/agent/sessions");
        let path = |rest: &str| format!("/api/agent/sessions/{session}{rest}");
        let table = [
            ("unknown session", run.to_owned(), json!({"session_id": "x", "instruction": "y"}), 404, "not_found"),
            ("empty", run.to_owned(), json!({"session_id": session, "instruction": " "}), 400, "invalid_argument"),
            ("no field", run.to_owned(), json!({"session_id": session}), 400, "invalid_argument"),
            ("unknown field", sessions.to_owned(), json!({"titel": "x"}), 400, "invalid_argument"),
            ("no model", sessions.to_owned(), json!({"model": "x"}), 400, "configuration"),
            ("negative", sessions.to_owned(), json!({"budget": {"cost_usd": -1.0}}), 400, "invalid_argument"),
            (
                "no job",
                "/api/agent/jobs/x/clarify".to_owned(),
                json!({"question_id": "q", "answer": "a"}),
                404,
                "not_found",
            ),
            ("no comments", path("/comments/send"), json!({}), 409, "conflict"),
            (
                "no line",
                path("/comments"),
                json!({"file_path": "notes.md", "start_line": 9, "end_line": 9, "text": "x"}),
                400,
                "invalid_argument",
            ),
            (
                "leaves root",
                "/api/agent/user_edit".to_owned(),
                json!({"file_path": "../x", "content": "y"}),
                403,
                "permission_denied",
            ),
            ("nothing to undo", "/api/agent/undo".to_owned(), json!({}), 404, "not_found"),
        ];
        for (name, path, body, status, code) in table {
            let (found, body) = bench.post(&path, body).await;
            assert_eq!((found, body["error"]["code"].as_str()), (status, Some(code)), "{name}: {body}");
            assert_eq!(body["ok"], false);
        }
        bench.session(json!({})).await;
        let (status, body) = bench.post("/api/agent/sessions", json!({})).await;
        assert_eq!((status, &body["error"]["code"]), (429, &json!("limit_reached")));
        assert_eq!(body["error"]["data"]["close"].as_array().map(Vec::len), Some(2), "{body}");
    });
}

#[test]
fn a_session_full_of_open_reviews_names_the_jobs_to_decide_on() {
    covers("service.jobs");
    block_on(async {
        let limits = ServiceLimits { max_jobs_per_session: 2, ..ServiceLimits::default() };
        let bench = Bench::with_limits("//- a.md\nred\nblue\n", limits);
        let session = bench.session(json!({})).await;
        let first = bench.run(&session, "rename red to green in a.md\nand nothing else").await;
        bench.work().await;
        bench.run(&session, "rename blue to grey in a.md").await;
        bench.work().await;
        let body = json!({ "session_id": session, "instruction": "rename green to pink in a.md" });
        let (status, refused) = bench.post("/api/agent/run", body.clone()).await;
        let error = &refused["error"];
        assert_eq!((status, &error["code"]), (429, &json!("limit_reached")), "{refused}");
        assert_eq!(error["data"]["limit"], "max_jobs_per_session");
        let oldest =
            json!({ "job_id": first, "status": "awaiting_review", "instruction": "rename red to green in a.md" });
        assert_eq!(error["data"]["close"][0], oldest);
        bench.post("/api/agent/decisions", json!({ "decision": "accept", "job_id": first })).await;
        assert_eq!(bench.post("/api/agent/run", body).await.0, 202);
        bench.work().await;
        let (_, jobs) = bench.get(&format!("/api/agent/sessions/{session}/jobs")).await;
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2, "the ended job gave way");
    });
}
