//! Edits in review of jobs that failed or were cancelled, and changes that no event of a job tells.

use futures::FutureExt as _;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::store::EventScope;
use crate::service::{Announced, Reading, ServiceLimits};
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A service with a job that was cancelled after two edits, which wait for review.
async fn cancelled() -> (Bench, String, String) {
    let bench = Bench::new(FILES);
    let session = bench.session(json!({ "model": "script" })).await;
    let edit = |from: &str, to: &str| {
        (
            "edit_file",
            json!({ "file_path": "a.md", "old_string": format!("{from}\n"), "new_string": format!("{to}\n") }),
        )
    };
    // After its end the script waits for the cancellation.
    bench.script().push([Answer::Call(vec![edit("2", "two"), edit("8", "eight")])]);
    let job = bench.run(&session, "spell it out").await;
    bench.work_a_little(200).await;
    let (status, body) = bench.post(&format!("/api/agent/jobs/{job}/cancel"), Value::Null).await;
    assert_eq!(status, 200, "{body}");
    bench.work().await;
    (bench, session, job)
}

async fn hunks(bench: &Bench, job: &str) -> Vec<String> {
    let (_, review) = bench.get(&format!("/api/agent/review?job_id={job}")).await;
    let files = review["files"].as_array().unwrap().iter();
    let hunks = files.flat_map(|file| file["hunks"].as_array().unwrap());
    hunks.map(|hunk| hunk["hunk_id"].as_str().unwrap().to_owned()).collect()
}

/// Returns type and job of the events after a number, with the job that `data` names.
async fn told(bench: &Bench, after: u64) -> Vec<(String, Value, Value)> {
    let (_, events) = bench.get(&format!("/api/agent/events?after={after}")).await;
    let events = events["events"].as_array().unwrap().iter();
    let told = |event: &Value| {
        (event["type"].as_str().unwrap().to_owned(), event["job_id"].clone(), event["data"]["job_id"].clone())
    };
    events.map(told).collect()
}

async fn last(bench: &Bench) -> u64 {
    bench.get("/api/agent/events?limit=5000").await.1["next"].as_u64().unwrap()
}

#[test]
fn edits_of_a_cancelled_job_are_applied_like_those_of_any_other() {
    covers("service.apply");
    block_on(async {
        let (bench, session, job) = cancelled().await;
        let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
        assert_eq!(state["diff_bundle"]["files"][0]["hunks"].as_array().map(Vec::len), Some(2), "{state}");
        let [first, _] = &hunks(&bench, &job).await[..] else { panic!("two hunks") };
        let after = last(&bench).await;
        let body = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": [first] });
        let (status, applied) = bench.post("/api/agent/apply", body.clone()).await;
        let files = json!([{ "file_path": "a.md", "applied_hunks": 1, "rejected_hunks": 1 }]);
        assert_eq!((status, &applied["status"], &applied["applied_files"]), (200, &json!("cancelled"), &files));
        assert_eq!(bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
        // The last event of the job is its end.
        assert_eq!(bench.kinds(&job).await.last().unwrap(), "job.cancelled");
        let expected = ["apply.started", "apply.completed", "review.updated"];
        let expected = expected.map(|kind| (kind.to_owned(), Value::Null, json!(job)));
        assert_eq!(told(&bench, after).await, expected);
        let (status, refused) = bench.post("/api/agent/apply", body).await;
        assert_eq!((status, &refused["error"]["data"]["status"]), (409, &json!("cancelled")), "nothing is left");
        let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
        assert_eq!(state["diff_bundle"], Value::Null);
    });
}

#[test]
fn an_application_of_a_cancelled_job_in_conflict_starts_no_re_run() {
    covers("service.apply");
    block_on(async {
        let (bench, session, job) = cancelled().await;
        let ids = hunks(&bench, &job).await;
        bench.disk.files.insert("a.md", b"1\nzwei\n3\n4\n5\n6\n7\n8\n9\n".to_vec()).unwrap();
        let body = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": ids });
        let (status, refused) = bench.post("/api/agent/apply", body).await;
        let error = &refused["error"];
        assert_eq!((status, &error["code"], &error["data"]["rerun"]), (409, &json!("conflict"), &json!(false)));
        assert_eq!(bench.kinds(&job).await.last().unwrap(), "job.cancelled");
        assert_eq!(bench.disk("a.md"), "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n");
    });
}

#[test]
fn decisions_on_edits_of_an_ended_job_are_events_of_its_session() {
    covers("service.events");
    block_on(async {
        let (bench, _, job) = cancelled().await;
        let [first, second] = &hunks(&bench, &job).await[..] else { panic!("two hunks") };
        for (path, body) in [
            ("/api/agent/decisions", json!({ "decision": "accept", "hunk_ids": [first] })),
            ("/api/agent/undo", json!({})),
            ("/api/agent/redo", json!({})),
            ("/api/agent/edit_hunk", json!({ "hunk_id": second, "text": "acht\n" })),
        ] {
            let after = last(&bench).await;
            let (status, reply) = bench.post(path, body).await;
            assert_eq!(status, 200, "{path}: {reply}");
            assert_eq!(told(&bench, after).await, [("review.updated".to_owned(), Value::Null, json!(job))], "{path}");
        }
        assert_eq!(bench.kinds(&job).await.last().unwrap(), "job.cancelled");
    });
}

#[test]
fn the_events_go_on_where_those_of_a_deleted_session_were() {
    covers("service.events");
    block_on(async {
        let bench = Bench::new(FILES);
        let (kept, removed) = (bench.session(json!({})).await, bench.session(json!({})).await);
        for session in [&kept, &removed] {
            bench.run(session, "hello").await;
            bench.work().await;
        }
        let newest = last(&bench).await;
        bench.send(crate::service::Method::Delete, &format!("/api/agent/sessions/{removed}"), Value::Null).await;
        let next = last(&bench).await;
        assert!(next >= newest, "{next} after {newest}");
        let (status, after) = bench.get(&format!("/api/agent/events?after={next}")).await;
        assert_eq!((status, &after["next"], after["events"].as_array().map(Vec::len)), (200, &json!(next), Some(0)));
        // A page that ends before the newest event goes on with its own last one.
        let (_, page) = bench.get("/api/agent/events?limit=1").await;
        assert_eq!(page["next"], page["events"][0]["seq"]);
        let (status, refused) = bench.get("/api/agent/events?after=abc").await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert_eq!(
            (status, message.starts_with("the service has no event with this malformed number")),
            (410, true),
            "{message}"
        );
    });
}

#[test]
fn readers_learn_of_changes_that_have_no_event() {
    covers("service.events");
    block_on(async {
        let bench = Bench::new(FILES);
        let (kept, removed) = (bench.session(json!({})).await, bench.session(json!({})).await);
        let after = last(&bench).await;
        let mut reader = bench.service.events(EventScope::All, after).await.unwrap();
        assert!(reader.next(9).now_or_never().is_none(), "nothing has changed");
        for text in ["x\n", "y\n", "z\n"] {
            let (status, reply) =
                bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": text })).await;
            assert_eq!(status, 200, "{reply}");
        }
        let revision = bench.service.workspace().revision();
        let state = Announced { revision, n_deleted_sessions: 0 };
        assert_eq!(reader.next(9).await.unwrap(), Reading::Changed(state), "three edits, one message");
        assert!(reader.next(9).now_or_never().is_none());
        bench.send(crate::service::Method::Delete, &format!("/api/agent/sessions/{removed}"), Value::Null).await;
        let state = Announced { n_deleted_sessions: 1, ..state };
        assert_eq!(reader.next(9).await.unwrap(), Reading::Changed(state));
        // Events come first.
        bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": "1\n" })).await;
        bench.run(&kept, "hello").await;
        assert!(matches!(reader.next(9).await.unwrap(), Reading::Events(_)));
        assert!(matches!(reader.next(9).await.unwrap(), Reading::Changed(_)));
        bench.work().await;
        // A reader that starts later reads the state itself.
        let (_, state) = bench.get(&format!("/api/agent/sessions/{kept}")).await;
        let after = state["seq"].as_u64().unwrap();
        let mut late = bench.service.events(EventScope::All, after).await.unwrap();
        assert!(late.next(9).now_or_never().is_none());
    });
}

#[test]
fn a_malformed_cursor_asks_for_the_state_like_an_old_one() {
    block_on(async {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({})).await;
        let job = bench.run(&session, "hello").await;
        bench.work().await;
        for path in [
            "/api/agent/events?after=x",
            "/api/agent/events?after=-1",
            &format!("/api/agent/jobs/{job}/events?cursor=1e3"),
        ] {
            let (status, body) = bench.get(path).await;
            assert_eq!((status, &body["error"]["code"]), (410, &json!("resync_required")), "{path}: {body}");
        }
    });
}

#[test]
fn the_size_of_hunks_is_that_of_the_settings() {
    covers("service.edits");
    block_on(async {
        let lines = |mark: char, n: usize| (0..n).map(|i| format!("{mark}{i}.\n")).collect::<String>();
        // Lines and bytes of a hunk count its old and its new lines; 0 is unlimited.
        let table = [(80, 8_192, 1), (10, 8_192, 4), (80, 40, 5), (0, 0, 1)];
        // Line logs are restored before the service starts, or by its store at the first access.
        let with_store = |is_kept: bool| table.iter().map(move |&row| (row, is_kept));
        for ((max_lines, max_bytes, n_hunks), is_kept) in with_store(false).chain(with_store(true)) {
            let limits =
                ServiceLimits { max_hunk_lines: max_lines, max_hunk_bytes: max_bytes, ..ServiceLimits::default() };
            let bench = Bench::with_limits(&format!("//- a.md\n{}", lines('a', 20)), limits);
            let bench = if is_kept { bench.over_documents() } else { bench };
            let session = bench.session(json!({ "model": "script" })).await;
            let call = json!({ "file_path": "a.md", "old_string": lines('a', 20), "new_string": lines('b', 20) });
            bench.script().push([Answer::Call(vec![("edit_file", call)]), Answer::Say("Done.")]);
            let job = bench.run(&session, "change all").await;
            bench.work().await;
            assert_eq!(hunks(&bench, &job).await.len(), n_hunks, "{max_lines} lines, {max_bytes} bytes");
            // Line logs of an earlier process obey the same limits.
            let bench = if is_kept { bench.reload_kept().await } else { bench.reload().await };
            assert_eq!(hunks(&bench, &job).await.len(), n_hunks, "{max_lines} lines, {max_bytes} bytes, reloaded");
        }
    });
}

#[test]
fn a_preview_counts_hunks_that_exceed_the_size() {
    block_on(async {
        let limits = ServiceLimits { max_hunk_lines: 2, ..ServiceLimits::default() };
        let bench = Bench::with_limits("//- a.md\none\n//- b.md\none\n", limits);
        let session = bench.session(json!({ "model": "script" })).await;
        // No line of it ends a sentence or a paragraph, so it cannot be cut.
        let write = |path: &str, text: &str| ("write_file", json!({ "file_path": path, "content": text }));
        let calls = vec![write("new.md", "a\nb\nc\nd\n"), write("small.md", "a\n")];
        bench.script().push([Answer::Call(calls), Answer::Say("Done.")]);
        bench.run(&session, "write").await;
        bench.work().await;
        let (_, touched) =
            bench.post("/api/agent/decisions/preview", json!({ "decision": "accept", "all": true })).await;
        let counts: Vec<_> =
            touched["files"].as_array().unwrap().iter().map(|file| (&file["file_path"], &file["oversized"])).collect();
        assert_eq!(counts, [(&json!("new.md"), &json!(1)), (&json!("small.md"), &json!(0))]);
    });
}

#[test]
fn the_whole_output_of_a_call_can_be_read_by_its_name() {
    covers("service.events");
    block_on(async {
        let long = "A line of text that is read as a whole.\n".repeat(2_000);
        let bench = Bench::new(&format!("//- long.md\n{long}"));
        let session = bench.session(json!({ "model": "script" })).await;
        let read = ("read_file", json!({ "file_path": "long.md", "limit": 2_000 }));
        bench.script().push([Answer::Call(vec![read]), Answer::Say("Read.")]);
        let job = bench.run(&session, "read it").await;
        bench.work().await;
        let (_, events) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
        let events = events["events"].as_array().unwrap().iter();
        let ended = events.clone().find(|event| event["type"] == "tool.call.completed").unwrap();
        let name = ended["data"]["output_ref"].as_str().unwrap_or_else(|| panic!("no output_ref: {ended}"));
        let (status, body) = bench.get(&format!("/api/agent/jobs/{job}/outputs/{name}")).await;
        assert_eq!((status, &body["output_ref"]), (200, &json!(name)));
        let output = body["output"].as_str().unwrap();
        assert!(output.starts_with(ended["data"]["output"].as_str().unwrap()) && output.len() > 60_000);
        let other = bench.session(json!({})).await;
        let other = bench.run(&other, "hello").await;
        bench.work().await;
        for path in [
            format!("/api/agent/jobs/{job}/outputs/{session}"),
            format!("/api/agent/jobs/{job}/outputs/{session}.rewound"),
            format!("/api/agent/jobs/{job}/outputs/{session}.0123456789abcdef"),
            // It belongs to another session.
            format!("/api/agent/jobs/{other}/outputs/{name}"),
        ] {
            assert_eq!(bench.get(&path).await.0, 404, "{path}");
        }
    });
}

#[test]
fn an_event_has_the_whole_output_of_a_call_up_to_64_kib() {
    covers("service.events");
    block_on(async {
        // The number of lines of 40 bytes, and whether the event has all of them.
        for (n_lines, is_whole) in [(75, true), (125, true), (1_200, true), (2_000, false)] {
            let long = "A line of text that is read as a whole.\n".repeat(n_lines);
            let bench = Bench::new(&format!("//- long.md\n{long}"));
            let session = bench.session(json!({ "model": "script" })).await;
            let read = ("read_file", json!({ "file_path": "long.md", "limit": n_lines }));
            bench.script().push([Answer::Call(vec![read]), Answer::Say("Read.")]);
            let job = bench.run(&session, "read it").await;
            bench.work().await;
            let (_, events) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
            let mut events = events["events"].as_array().unwrap().iter();
            let data = &events.find(|event| event["type"] == "tool.call.completed").unwrap()["data"];
            let output = data["output"].as_str().unwrap();
            assert_eq!(data["output_cut"], !is_whole, "{n_lines}");
            assert_eq!(output.matches("read as a whole.").count() == n_lines, is_whole, "{n_lines}");
            assert_eq!(data.get("output_ref").is_some(), !is_whole, "{n_lines}");
            match is_whole {
                true => assert_eq!(data.get("output_bytes"), None),
                false => assert!(data["output_bytes"].as_u64().unwrap() > 64 << 10, "{}", data["output_bytes"]),
            }
            // Long texts of the result are cut, and the event says so.
            assert_eq!(data["result_cut"] == true, n_lines > 100, "{n_lines}: {}", data["result_cut"]);
        }
    });
}
