//! Ends of jobs, and what one job may do to the edits of another.

use emend_llm::Shared;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use super::yielding::Yielding;
use crate::service::{Method, ServiceLimits, ServiceStore};
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\n1\n2\n3\n4\n5\n6\n7\n8\n9\n//- b.md\nx\ny\n";

type Call = (&'static str, Value);

fn edit(path: &str, from: &str, to: &str) -> Call {
    ("edit_file", json!({ "file_path": path, "old_string": from, "new_string": to }))
}

/// Runs a job that makes `calls` one after another. Returns its id.
async fn job(bench: &Bench, session: &str, calls: impl IntoIterator<Item = Call>) -> String {
    bench.script().push(calls.into_iter().map(|call| Answer::Call(vec![call])).chain([Answer::Say("Done.")]));
    let job = bench.run(session, "edit").await;
    bench.work().await;
    job
}

async fn status(bench: &Bench, job: &str) -> Value {
    bench.get(&format!("/api/agent/jobs/{job}")).await.1["status"].clone()
}

async fn hunks(bench: &Bench, job: &str) -> Vec<Value> {
    let (_, review) = bench.get(&format!("/api/agent/review?job_id={job}")).await;
    let files = review["files"].as_array().unwrap().clone();
    files.iter().flat_map(|file| file["hunks"].as_array().unwrap()).map(|hunk| hunk["hunk_id"].clone()).collect()
}

async fn open() -> (Bench, String) {
    let bench = Bench::new(FILES);
    let session = bench.session(json!({ "model": "script" })).await;
    (bench, session)
}

#[test]
fn edits_that_cancel_each_other_leave_nothing_to_review() {
    covers("service.jobs");
    block_on(async {
        let (bench, session) = open().await;
        let there_and_back = [edit("a.md", "2\n", "2\nnew\n"), edit("a.md", "new\n", "")];
        let id = job(&bench, &session, there_and_back).await;
        assert_eq!((hunks(&bench, &id).await.len(), status(&bench, &id).await), (0, json!("completed")));
        let write = |content: &str| ("write_file", json!({ "file_path": "new.md", "content": content }));
        let id = job(&bench, &session, [write("")]).await;
        assert_eq!(status(&bench, &id).await, "awaiting_review", "an empty file is a proposal");
        let decision = json!({ "decision": "accept", "job_id": id });
        assert_eq!(bench.post("/api/agent/decisions", decision).await.0, 200);
        assert_eq!((status(&bench, &id).await, bench.disk("new.md").as_str()), (json!("completed"), ""));
    });
}

#[test]
fn a_job_ends_when_the_user_deletes_all_that_it_proposed() {
    block_on(async {
        let (bench, session) = open().await;
        let id = job(&bench, &session, [edit("a.md", "2\n", "2\nnew\n")]).await;
        assert_eq!(status(&bench, &id).await, "awaiting_review");
        let without = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": without })).await;
        assert_eq!((hunks(&bench, &id).await.len(), status(&bench, &id).await), (0, json!("completed")));
        assert_eq!(bench.disk("a.md"), without);
        bench.post("/api/agent/undo", Value::Null).await;
        assert_eq!((hunks(&bench, &id).await.len(), status(&bench, &id).await), (1, json!("awaiting_review")));
    });
}

#[test]
fn a_conflict_writes_nothing_beside_a_line_that_the_user_edited_inside_a_hunk() {
    covers("service.apply");
    block_on(async {
        let (bench, session) = open().await;
        let id = job(&bench, &session, [edit("a.md", "5\n", "five\n"), edit("a.md", "8\n", "eight\n")]).await;
        let mine = "1\n2\n3\n4\nfive mine\n6\n7\neight\n9\n";
        bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": mine })).await;
        let before = bench.disk("a.md");
        assert_eq!(before, "1\n2\n3\n4\nfive mine\n6\n7\n8\n9\n");
        let other = format!("{before}ext\n");
        bench.disk.files.insert("a.md", other.clone()).unwrap();
        bench.script().push([Answer::Say("Nothing more.")]);
        let apply = json!({ "session_id": session, "job_id": id, "accepted_hunk_ids": hunks(&bench, &id).await });
        let (status, body) = bench.post("/api/agent/apply", apply).await;
        assert_eq!((status, &body["error"]["data"]["rerun"]), (409, &json!(true)), "{body}");
        assert_eq!(bench.disk("a.md"), other, "nothing is written");
        bench.work().await;
        let (_, buffer) = bench.get("/api/agent/buffer?file_path=a.md").await;
        assert_eq!(buffer["content"], other, "the other hunk is withdrawn");
        assert_eq!(bench.disk("a.md"), other);
    });
}

#[test]
fn a_rollback_that_makes_edits_of_another_job_pending_again_reopens_it() {
    covers("service.checkpoints");
    block_on(async {
        let (bench, session) = open().await;
        let first = job(&bench, &session, [edit("a.md", "2\n", "two\n")]).await;
        let second = job(&bench, &session, [edit("a.md", "8\n", "eight\n")]).await;
        let reject = json!({ "decision": "reject", "job_id": first });
        assert_eq!(bench.post("/api/agent/decisions", reject).await.0, 200);
        assert_eq!(status(&bench, &first).await, "completed");
        let path = format!("/api/agent/checkpoints/{}/rollback", second.replace("job_", "cp_"));
        assert_eq!(bench.post(&path, json!({ "mode": "hard_all", "save": true })).await.0, 200);
        assert_eq!(hunks(&bench, &first).await.len(), 1, "the rollback takes the rejection back, too");
        assert_eq!(status(&bench, &first).await, "awaiting_review");
    });
}

#[test]
fn a_scoped_rollback_takes_hunks_of_its_own_job_alone() {
    covers("service.checkpoints");
    block_on(async {
        let (bench, session) = open().await;
        let first = job(&bench, &session, [edit("a.md", "2\n", "two\n")]).await;
        let second = job(&bench, &session, [edit("b.md", "x\n", "X\n")]).await;
        let foreign = hunks(&bench, &second).await;
        let path = format!("/api/agent/checkpoints/{}/rollback", first.replace("job_", "cp_"));
        let request = json!({ "mode": "scoped_selected", "hunk_ids": foreign });
        let (code, body) = bench.post(&path, request).await;
        assert_eq!((code, &body["error"]["code"]), (404, &json!("not_found")), "{body}");
        assert_eq!(hunks(&bench, &second).await, foreign);
    });
}

#[test]
fn every_job_has_a_checkpoint_also_without_edits() {
    block_on(async {
        let (bench, session) = open().await;
        let id = job(&bench, &session, []).await;
        let (code, checkpoint) = bench.get(&format!("/api/agent/checkpoints/{}", id.replace("job_", "cp_"))).await;
        assert_eq!((code, &checkpoint["affected_files"]), (200, &json!([])), "{checkpoint}");
        assert_eq!(bench.get("/api/agent/checkpoints/cp_none").await.0, 404);
    });
}

#[test]
fn a_session_with_an_open_question_is_busy() {
    block_on(async {
        let (bench, session) = open().await;
        let ask = ("clarify_user", json!({ "question": "Go on?" }));
        bench.script().push([Answer::Call(vec![ask]), Answer::Say("Done.")]);
        let id = bench.run(&session, "edit").await;
        bench.work().await;
        assert_eq!(status(&bench, &id).await, "waiting_for_user");
        let path = format!("/api/agent/sessions/{session}");
        for body in [json!({ "status": "archived" }), json!({ "mode": "direct" })] {
            let (code, reply) = bench.send(Method::Patch, &path, body).await;
            assert_eq!((code, &reply["error"]["code"]), (409, &json!("busy")), "{reply}");
        }
        assert_eq!(bench.send(Method::Delete, &path, Value::Null).await.0, 409);
        assert_eq!(bench.post(&format!("/api/agent/jobs/{id}/cancel"), Value::Null).await.0, 200);
        assert_eq!(bench.send(Method::Delete, &path, Value::Null).await.0, 200);
    });
}

#[test]
fn a_model_that_asks_for_ever_is_stopped_by_each_limit() {
    covers("service.jobs");
    block_on(async {
        for (config, limit) in [(json!({}), "tokens"), (json!({ "max_tool_calls": 3 }), "tool_calls")] {
            let bench = Bench::with_limits(FILES, ServiceLimits::default());
            let budget = if limit == "tokens" { json!({ "tokens": 40 }) } else { json!({}) };
            let session = bench.session(json!({ "model": "script", "job_budget": budget })).await;
            let ask = || Answer::Call(vec![("clarify_user", json!({ "question": "Go on?" }))]);
            bench.script().push((0..50).map(|_| ask()));
            let request = json!({ "session_id": session, "instruction": "edit", "tool_config": config });
            let (_, reply) = bench.post("/api/agent/run", request).await;
            let id = reply["job_id"].as_str().unwrap().to_owned();
            let path = format!("/api/agent/jobs/{id}");
            let mut state = Value::Null;
            for _ in 0..40 {
                bench.work().await;
                state = bench.get(&path).await.1;
                if state["status"] != "waiting_for_user" {
                    break;
                }
                let answer = json!({ "question_id": state["question"]["question_id"], "answer": "yes" });
                assert_eq!(bench.post(&format!("{path}/clarify"), answer).await.0, 200);
            }
            assert_eq!(
                (&state["status"], &state["error"]["code"]),
                (&json!("failed"), &json!("limit_reached")),
                "{state}"
            );
            assert_eq!(state["error"]["data"]["limit"], limit, "{state}");
            assert!(state["n_tool_calls"].as_u64().unwrap() <= 3 || limit == "tokens", "{state}");
            let kinds = bench.kinds(&id).await;
            assert_eq!(kinds.iter().filter(|kind| *kind == "limit.reached").count(), 1, "{kinds:?}");
        }
    });
}

#[test]
fn both_halves_of_a_rename_are_decided_together() {
    covers("review.apply");
    block_on(async {
        let rename = || ("move_file", json!({ "from": "b.md", "to": "c.md" }));
        let halves = async |bench: &Bench, id: &str| {
            let (_, review) = bench.get(&format!("/api/agent/review?job_id={id}")).await;
            let of = |path: &str| {
                let file = review["files"].as_array().unwrap().iter().find(|file| file["file_path"] == path).unwrap();
                file["hunks"][0]["hunk_id"].clone()
            };
            (of("b.md"), of("c.md"))
        };
        let has = |bench: &Bench| ["b.md", "c.md"].map(|path| bench.disk.files.get(path).is_some());
        for (n, decision, expected) in
            [(0, "accept", [false, true]), (1, "accept", [false, true]), (0, "reject", [true, false])]
        {
            let (bench, session) = open().await;
            let id = job(&bench, &session, [rename()]).await;
            let (gone, made) = halves(&bench, &id).await;
            let body = json!({ "decision": decision, "hunk_ids": [if n == 0 { gone } else { made }] });
            let (code, review) = bench.post("/api/agent/decisions", body).await;
            assert_eq!((code, &review["files"]), (200, &json!([])), "{decision} {n}");
            assert_eq!(has(&bench), expected, "{decision} {n}");
            assert_eq!(status(&bench, &id).await, "completed");
        }
        let (bench, session) = open().await;
        let id = job(&bench, &session, [rename()]).await;
        let (gone, _) = halves(&bench, &id).await;
        let apply = json!({ "session_id": session, "job_id": id, "accepted_hunk_ids": [gone] });
        assert_eq!(bench.post("/api/agent/apply", apply).await.0, 200);
        assert_eq!((has(&bench), bench.disk("c.md").as_str()), ([false, true], "x\ny\n"));
    });
}

#[test]
fn the_checkpoint_of_a_purged_job_stays_and_can_be_rolled_back_to() {
    covers("service.checkpoints");
    block_on(async {
        let limits = ServiceLimits { max_jobs_per_session: 1, ..ServiceLimits::default() };
        let bench = Bench::with_limits(FILES, limits);
        let session = bench.session(json!({ "model": "script" })).await;
        let first = job(&bench, &session, [edit("a.md", "2\n", "two\n")]).await;
        bench.post("/api/agent/decisions", json!({ "decision": "accept", "all": true })).await;
        let second = job(&bench, &session, []).await;
        let third = job(&bench, &session, [edit("b.md", "x\n", "X\n")]).await;
        for purged in [&first, &second] {
            assert_eq!(bench.get(&format!("/api/agent/jobs/{purged}")).await.0, 404, "it gave way");
        }
        let ids = |list: &Value| -> Vec<Value> {
            list["checkpoints"].as_array().unwrap().iter().map(|checkpoint| checkpoint["job_id"].clone()).collect()
        };
        for query in [String::new(), format!("?session_id={session}")] {
            let (_, list) = bench.get(&format!("/api/agent/checkpoints{query}")).await;
            assert_eq!(ids(&list), [json!(first), json!(third)], "{query}");
        }
        let path = format!("/api/agent/checkpoints/{}", first.replace("job_", "cp_"));
        let (code, checkpoint) = bench.get(&path).await;
        assert_eq!((code, &checkpoint["affected_files"]), (200, &json!(["a.md"])), "{checkpoint}");
        let (_, texts) = bench.get(&format!("{path}/diff3?file_path=a.md")).await;
        assert_eq!(texts["checkpoint_base"], "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "{texts}");
        let (_, before) = bench.get(&format!("/api/agent/sessions/{session}")).await;
        let request = json!({ "mode": "hard_all", "save": true });
        let (code, reply) = bench.post(&format!("{path}/rollback"), request).await;
        assert_eq!((code, &reply["status"]), (200, &json!("completed")), "{reply}");
        assert_eq!(bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        let (_, events) = bench.get(&format!("/api/agent/events?after={}", before["seq"])).await;
        let told = events["events"].as_array().unwrap().iter();
        let told: Vec<_> =
            told.filter(|event| event["type"].as_str().unwrap().starts_with("checkpoint.rollback")).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|event| event["data"]["job_id"] == json!(first)), "{told:?}");
        bench.post("/api/agent/undo", json!({ "save": true })).await;
        assert_eq!(bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
    });
}

#[test]
fn a_purged_checkpoint_is_found_without_a_look_at_every_session() {
    covers("service.checkpoints");
    block_on(async {
        let limits = ServiceLimits { max_jobs_per_session: 1, max_sessions: 0, ..ServiceLimits::default() };
        let store: Shared<Yielding> = Shared::default();
        let disk = Bench::new(FILES).disk.with_store(Shared::clone(&store) as Shared<dyn ServiceStore>);
        let bench = Bench::open(disk, limits);
        for _ in 0..350 {
            bench.session(json!({ "model": "script" })).await;
        }
        let session = bench.session(json!({ "model": "script" })).await;
        let first = job(&bench, &session, [edit("a.md", "2\n", "two\n")]).await;
        bench.post("/api/agent/decisions", json!({ "decision": "accept", "all": true })).await;
        job(&bench, &session, []).await;
        let path = format!("/api/agent/checkpoints/{}", first.replace("job_", "cp_"));
        let looks = async |wanted: &str, expected: u16| {
            let before = store.n_pages();
            assert_eq!(bench.get(wanted).await.0, expected, "{wanted}");
            store.n_pages() - before
        };
        // The session is the one that changed last. Of four pages, the first has it, and then none is needed.
        assert_eq!(looks(&path, 200).await, 1);
        assert_eq!(looks(&format!("{path}/diff3?file_path=a.md"), 200).await, 0);
        assert_eq!(looks("/api/agent/checkpoints/cp_none", 404).await, 4);
        // Another session can be deleted, and so can this one.
        let (status, _) = bench.send(Method::Delete, &format!("/api/agent/sessions/{session}"), Value::Null).await;
        assert_eq!(status, 200);
        assert_eq!(looks(&path, 404).await, 4);
    });
}

#[test]
fn another_mode_ends_what_the_user_always_allows() {
    block_on(async {
        let bench = Bench::new("//- a.md\none\n");
        let session = bench.session(json!({ "model": "script", "mode": "ask" })).await;
        let path = format!("/api/agent/sessions/{session}");
        let mut text = "one".to_owned();
        // Whether the edit of each job is asked about: the second one is not, the third one is again.
        for (at, is_asked) in [(0, true), (1, false), (2, true)] {
            if at == 2 {
                for mode in ["review", "ask"] {
                    assert_eq!(bench.send(Method::Patch, &path, json!({ "mode": mode })).await.0, 200);
                }
            }
            let next = format!("text {at}");
            let arguments = json!({ "file_path": "a.md", "old_string": text, "new_string": next });
            bench.script().push([Answer::Call(vec![("edit_file", arguments)]), Answer::Say("Done.")]);
            let job = bench.run(&session, "edit").await;
            bench.work_a_little(60).await;
            let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
            let open = state["approvals"].as_array().unwrap();
            assert_eq!(open.len(), usize::from(is_asked), "job {at}: {state}");
            if let Some(open) = open.first() {
                let allow = json!({ "tool_call_id": open["tool_call_id"], "decision": "allow_always" });
                assert_eq!(bench.post(&format!("/api/agent/jobs/{job}/approve"), allow).await.0, 200);
                bench.work().await;
            }
            assert_eq!(bench.disk("a.md"), format!("{next}\n"));
            text = next;
        }
    });
}
