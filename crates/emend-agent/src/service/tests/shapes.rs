//! Shapes of replies, and jobs that end at a limit.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use super::review::{FILES, Reviewed};
use crate::service::{DiffBundleBody, PendingReviewBody, ProposedEditBody};
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn bundles_edits_and_pending_reviews_have_the_documented_shapes() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let (bench, first) = (&reviewed.bench, &reviewed.hunks().await[0]);
        let accept = json!({ "decision": "accept", "hunk_ids": [first] });
        assert_eq!(bench.post("/api/agent/decisions", accept).await.0, 200);
        let text = "1\ntwo\n3\n4\nmine\n6\n7\neight\n9\n";
        let user = json!({ "file_path": "a.md", "content": text });
        assert_eq!(bench.post("/api/agent/user_edit", user).await.0, 200);
        let state = reviewed.state().await;
        let bundle: DiffBundleBody = serde_json::from_value(state["diff_bundle"].clone()).unwrap();
        assert_eq!((bundle.job_id, bundle.review_revision.is_some()), (reviewed.job.clone(), true));
        let found = bundle.files.iter().flat_map(|file| &file.hunks).map(|hunk| (&*hunk.origin, hunk.accepted));
        let expected = [("agent", Some(true)), ("agent", None), ("user", Some(true)), ("agent", None)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let edits: Vec<ProposedEditBody> = serde_json::from_value(state["proposed_edits"].clone()).unwrap();
        assert_eq!(edits.iter().map(|edit| &*edit.operation).collect::<Vec<_>>(), ["replace"; 3]);
        let (_, snapshot) = bench.get(&format!("/api/agent/sessions/{}", reviewed.session)).await;
        let pending: PendingReviewBody = serde_json::from_value(snapshot["pending_review"].clone()).unwrap();
        assert_eq!(pending.files, ["a.md", "b.md"]);
    });
}

#[test]
fn edits_of_a_job_that_has_made_all_its_tool_calls_await_review() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        let edit = ("write_file", json!({ "file_path": "new.md", "content": "text\n" }));
        let list = || Answer::Call(vec![("list_dir", json!({ "path": "." }))]);
        bench.script().push([Answer::Call(vec![edit]), list(), list(), Answer::Say("One file is there.")]);
        let body = json!({ "session_id": session, "instruction": "go", "tool_config": { "max_tool_calls": 2 } });
        let (_, body) = bench.post("/api/agent/run", body).await;
        let id = body["job_id"].as_str().unwrap();
        bench.work().await;
        let state = bench.get(&format!("/api/agent/jobs/{id}")).await.1;
        assert_eq!((&state["status"], &state["error"]["code"]), (&json!("awaiting_review"), &json!("limit_reached")));
        assert_eq!(state["answer"], "One file is there.");
        let hunk = &state["diff_bundle"]["files"][0]["hunks"][0]["hunk_id"];
        let apply = json!({ "session_id": session, "job_id": id, "accepted_hunk_ids": [hunk] });
        assert_eq!(bench.post("/api/agent/apply", apply).await.0, 200);
        let state = bench.get(&format!("/api/agent/jobs/{id}")).await.1;
        assert_eq!((&state["status"], &state["error"]), (&json!("completed"), &Value::Null));
        assert_eq!(bench.disk("new.md"), "text\n");
        let kinds = bench.kinds(id).await;
        let of = |name: &str| kinds.iter().filter(|kind| *kind == name).count();
        assert_eq!((of("limit.reached"), of("job.failed"), of("job.completed")), (1, 0, 1), "{kinds:?}");
    });
}
