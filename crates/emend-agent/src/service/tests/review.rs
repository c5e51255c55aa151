//! Review over requests: decisions, conflicts with the disk, checkpoints and rollbacks.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(super) const FILES: &str = "//- a.md\n1\n2\n3\n4\n5\n6\n7\n8\n9\n//- b.md\nx\ny\n";

fn edit(path: &str, from: &str, to: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "file_path": path, "old_string": from, "new_string": to }))
}

/// A service with a session and one job whose edits wait for review: lines 2 and 8 of `a.md`, line 1 of `b.md`.
pub(super) struct Reviewed {
    pub(super) bench: Bench,
    pub(super) session: String,
    pub(super) job: String,
}

impl Reviewed {
    pub(super) async fn new() -> Self {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        let calls = vec![edit("a.md", "2\n", "two\n"), edit("a.md", "8\n", "eight\n"), edit("b.md", "x", "X")];
        bench.script().push([Answer::Call(calls), Answer::Say("Done.")]);
        let job = bench.run(&session, "spell it out").await;
        bench.work().await;
        let reviewed = Self { bench, session, job };
        assert_eq!(reviewed.state().await["status"], "awaiting_review");
        reviewed
    }

    pub(super) async fn state(&self) -> Value {
        self.bench.get(&format!("/api/agent/jobs/{}", self.job)).await.1
    }

    /// Returns the ids of the pending hunks.
    pub(super) async fn hunks(&self) -> Vec<String> {
        let (_, review) = self.bench.get(&format!("/api/agent/review?job_id={}", self.job)).await;
        let files = review["files"].as_array().unwrap();
        let hunks = files.iter().flat_map(|file| file["hunks"].as_array().unwrap());
        hunks.map(|hunk| hunk["hunk_id"].as_str().unwrap().to_owned()).collect()
    }

    async fn apply(&self, accepted: &[String], more: Value) -> (u16, Value) {
        let mut body = json!({ "session_id": self.session, "job_id": self.job, "accepted_hunk_ids": accepted });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.bench.post("/api/agent/apply", body).await
    }
}

#[test]
fn a_job_has_the_runs_of_its_own_edits_alone() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::waiting(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        let mut jobs = Vec::new();
        for (calls, instruction) in [
            (vec![edit("a.md", "2\n", "two\n")], "first"),
            (vec![edit("b.md", "x", "X")], "second"),
            (Vec::new(), "hello"),
        ] {
            if !calls.is_empty() {
                bench.script().push([Answer::Call(calls)]);
            }
            bench.script().push([Answer::Say("Done.")]);
            jobs.push(bench.run(&session, instruction).await);
            bench.work().await;
        }
        let status = async |job: &str| bench.get(&format!("/api/agent/jobs/{job}")).await.1["status"].clone();
        let [first, second, last] = &jobs[..] else { unreachable!() };
        assert_eq!((status(first).await, status(second).await), (json!("awaiting_review"), json!("awaiting_review")));
        assert_eq!(status(last).await, "completed", "it has changed nothing");
        // An application decides on the hunks of its job, and on no others.
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={second}")).await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        assert_eq!((review["files"].as_array().unwrap().len(), &review["files"][0]["file_path"]), (1, &json!("b.md")));
        let body = json!({ "session_id": session, "job_id": second, "accepted_hunk_ids": [hunk] });
        assert_eq!(bench.post("/api/agent/apply", body).await.0, 200);
        assert_eq!((status(first).await, status(second).await), (json!("awaiting_review"), json!("completed")));
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={first}")).await;
        assert_eq!(review["files"][0]["hunks"].as_array().map(Vec::len), Some(1));
    });
}

#[test]
fn the_bundle_has_patches_and_the_edits_whatever_tool_made_them() {
    covers("service.edits");
    block_on(async {
        let reviewed = Reviewed::new().await;
        let state = reviewed.state().await;
        let bundle = &state["diff_bundle"];
        assert_eq!(bundle["job_id"], reviewed.job);
        let file = &bundle["files"][0];
        assert_eq!(file["file_path"], "a.md");
        assert!(file["base_file_hash"].as_str().unwrap().starts_with("sha256:"));
        let hunk = &file["hunks"][0];
        assert!(hunk["patch"].as_str().unwrap().starts_with("@@ -1,5 +1,5 @@"), "{hunk}");
        assert_eq!(hunk["accepted"], Value::Null);
        let edits = state["proposed_edits"].as_array().unwrap();
        assert_eq!(edits.len(), 3);
        assert_eq!(
            (&edits[0]["operation"], &edits[0]["start_line"], &edits[0]["new_text"]),
            (&json!("replace"), &json!(2), &json!("two\n"))
        );
        assert!(hunk["edit_ids"].as_array().unwrap().contains(&edits[0]["edit_id"]));
    });
}

#[test]
fn apply_is_one_step_that_can_be_undone() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        let (status, body) = reviewed.apply(&hunks[..1], json!({})).await;
        assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        assert_eq!(
            body["applied_files"],
            json!([
                { "file_path": "a.md", "applied_hunks": 1, "rejected_hunks": 1 },
                { "file_path": "b.md", "applied_hunks": 0, "rejected_hunks": 1 },
            ])
        );
        assert_eq!(reviewed.bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
        assert_eq!(reviewed.apply(&[], json!({})).await.0, 409, "the job has ended");
        reviewed.bench.post("/api/agent/undo", Value::Null).await;
        assert_eq!(reviewed.bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        assert_eq!(reviewed.hunks().await.len(), 3, "everything is pending again");
        // So the job awaits review again, with its bundle.
        let state = reviewed.state().await;
        assert_eq!((&state["status"], &state["finished_at"]), (&json!("awaiting_review"), &Value::Null), "{state}");
        assert_eq!(state["diff_bundle"]["files"].as_array().map(Vec::len), Some(2));
        reviewed.bench.post("/api/agent/redo", Value::Null).await;
        assert_eq!(reviewed.state().await["status"], "completed");
        reviewed.bench.post("/api/agent/undo", Value::Null).await;
        let hunks = reviewed.hunks().await;
        let (status, body) = reviewed.apply(&hunks, json!({})).await;
        assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        assert_eq!(reviewed.bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");
        let kinds = reviewed.bench.kinds(&reviewed.job).await;
        let ends: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with("job.")).skip(2).collect();
        assert_eq!(ends, ["job.completed", "job.reopened", "job.settled", "job.reopened", "job.settled"], "{kinds:?}");
    });
}

#[test]
fn a_change_on_disk_is_a_conflict_and_the_agent_proposes_anew() {
    covers("service.apply");
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        reviewed.bench.disk.files.insert("b.md", "x\ny\nz\n").unwrap();
        let (status, body) = reviewed.apply(&hunks, json!({ "rerun": false })).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        assert_eq!(body["error"]["data"]["files"], json!(["b.md"]));
        assert_eq!(reviewed.bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "nothing is written");
        // A read of the file does not make the conflict go away.
        reviewed.bench.get("/api/agent/buffer?file_path=b.md").await;
        reviewed.bench.script().push([Answer::Call(vec![edit("b.md", "z", "Z")]), Answer::Say("Again.")]);
        let (status, body) = reviewed.apply(&hunks, json!({})).await;
        assert_eq!((status, &body["error"]["data"]["rerun"]), (409, &json!(true)), "{body}");
        assert_eq!(reviewed.state().await["status"], "running");
        reviewed.bench.work().await;
        let state = reviewed.state().await;
        assert_eq!((&state["status"], &state["n_reruns"]), (&json!("awaiting_review"), &json!(1)));
        let prompt = reviewed.bench.script().last_user_texts().pop().unwrap();
        assert!(prompt.contains("b.md") && prompt.contains("spell it out"), "{prompt}");
        let hunks = reviewed.hunks().await;
        assert_eq!(reviewed.apply(&hunks, json!({})).await.0, 200);
        assert_eq!(reviewed.bench.disk("b.md"), "x\ny\nZ\n");
        assert_eq!(reviewed.bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");
        let kinds = reviewed.bench.kinds(&reviewed.job).await;
        let of = |name: &str| kinds.iter().filter(|kind| *kind == name).count();
        assert_eq!(
            (of("conflict.detected"), of("rerun.started"), of("rerun.completed"), of("job.completed")),
            (2, 1, 1, 1),
            "{kinds:?}"
        );
    });
}

#[test]
fn a_withdrawal_is_not_a_step_of_the_user() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let (bench, hunks) = (&reviewed.bench, reviewed.hunks().await);
        let accept = json!({ "decision": "accept", "hunk_ids": [hunks[0]] });
        assert_eq!(bench.post("/api/agent/decisions", accept).await.0, 200);
        bench.disk.files.insert("b.md", "x\ny\nz\n").unwrap();
        bench.script().push([Answer::Call(vec![edit("b.md", "z", "Z")]), Answer::Say("Again.")]);
        let (status, body) = reviewed.apply(&hunks[1..], json!({})).await;
        assert_eq!((status, &body["error"]["data"]["rerun"]), (409, &json!(true)), "{body}");
        bench.work().await;
        let before = reviewed.hunks().await;
        assert_eq!((before.len(), bench.disk("a.md")), (2, "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n".to_owned()));
        assert_eq!(bench.post("/api/agent/undo", Value::Null).await.0, 200);
        assert_eq!(bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "the last step was the acceptance");
        assert_eq!(reviewed.hunks().await.len(), 3, "the withdrawn hunk stays withdrawn");
        assert_eq!(bench.post("/api/agent/undo", Value::Null).await.0, 404, "there was one step");
    });
}

#[test]
fn a_bulk_acceptance_names_the_hunks_that_it_leaves() {
    block_on(async {
        for scope in ["job_id", "file_path", "all"] {
            let reviewed = Reviewed::new().await;
            let hunks = reviewed.hunks().await;
            reviewed.bench.disk.files.insert("b.md", "ex\ny\n").unwrap();
            let value = match scope {
                "job_id" => json!(reviewed.job),
                "file_path" => json!("b.md"),
                _ => json!(true),
            };
            let decision = json!({ "decision": "accept", scope: value });
            let (status, review) = reviewed.bench.post("/api/agent/decisions", decision).await;
            assert_eq!((status, &review["skipped_hunk_ids"]), (200, &json!([hunks[2]])), "{scope}: {review}");
            assert_eq!(reviewed.bench.disk("b.md"), "ex\ny\n", "{scope}");
            assert_eq!(reviewed.state().await["status"], "awaiting_review", "{scope}");
        }
        let reviewed = Reviewed::new().await;
        let decision = json!({ "decision": "accept", "all": true });
        let (_, review) = reviewed.bench.post("/api/agent/decisions", decision).await;
        assert_eq!(review.get("skipped_hunk_ids"), None, "{review}");
    });
}

#[test]
fn a_rebase_applies_the_hunks_that_do_not_overlap() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        reviewed.bench.disk.files.insert("a.md", "1\n2\n3\n4\n5\n6\n7\nAcht\n9\n").unwrap();
        let (status, body) = reviewed.apply(&hunks, json!({ "rebase": true })).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["applied_files"][0]["conflicts"], json!([hunks[1]]), "{body}");
        assert_eq!(reviewed.bench.disk("a.md"), "1\ntwo\n3\n4\n5\n6\n7\nAcht\n9\n");
    });
}

#[test]
fn an_old_review_revision_is_stale() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        let seen = reviewed.state().await["review_revision"].clone();
        let edit = json!({ "file_path": "a.md", "content": "0\n1\ntwo\n3\n4\n5\n6\n7\neight\n9\n" });
        reviewed.bench.post("/api/agent/user_edit", edit).await;
        let (status, body) = reviewed.apply(&hunks, json!({ "review_revision": seen })).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("stale")), "{body}");
        assert_eq!(
            reviewed.apply(&hunks, json!({})).await.0,
            200,
            "without a revision the user's edit is not a conflict"
        );
        assert_eq!(reviewed.bench.disk("a.md"), "0\n1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");
    });
}

#[test]
fn decisions_are_previewed_and_made_by_line_hunk_file_and_job() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        let by_job = json!({ "decision": "reject", "job_id": reviewed.job });
        let (_, touched) = reviewed.bench.post("/api/agent/decisions/preview", by_job.clone()).await;
        let counts: Vec<(&Value, &Value)> =
            touched["files"].as_array().unwrap().iter().map(|file| (&file["file_path"], &file["hunks"])).collect();
        assert_eq!(counts, [(&json!("a.md"), &json!(2)), (&json!("b.md"), &json!(1))]);
        assert_eq!(reviewed.hunks().await, hunks, "a preview changes nothing");
        let (_, review) = reviewed.bench.get("/api/agent/review").await;
        let lines = review["files"][0]["hunks"][0]["lines"].as_array().unwrap();
        let added = lines.iter().position(|line| line["kind"] == "added").unwrap();
        let part = json!({ "decision": "reject", "lines": [{ "hunk_id": hunks[0], "lines": [added] }] });
        let (status, body) = reviewed.bench.post("/api/agent/decisions", part).await;
        assert_eq!(status, 200, "{body}");
        let by_file = json!({ "decision": "accept", "file_path": "b.md" });
        assert_eq!(reviewed.bench.post("/api/agent/decisions", by_file).await.0, 200);
        assert_eq!(reviewed.bench.disk("b.md"), "X\ny\n");
        assert_eq!(reviewed.bench.post("/api/agent/decisions", by_job).await.0, 200);
        assert_eq!(reviewed.state().await["status"], "completed");
        let both = json!({ "decision": "accept", "all": true, "file_path": "b.md" });
        assert_eq!(reviewed.bench.post("/api/agent/decisions", both).await.0, 400);
    });
}

#[test]
fn the_model_is_told_what_was_rejected() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        reviewed.apply(&hunks[..1], json!({})).await;
        reviewed.bench.script().push([Answer::Say("Yes.")]);
        reviewed.bench.run(&reviewed.session, "go on").await;
        reviewed.bench.work().await;
        let prompt = reviewed.bench.script().last_user_texts().pop().unwrap();
        assert!(prompt.contains("a.md") && prompt.contains("eight") && prompt.ends_with("go on"), "{prompt}");
    });
}

#[test]
fn a_rollback_is_previewed_made_and_undone() {
    covers("service.checkpoints");
    block_on(async {
        let reviewed = Reviewed::new().await;
        let bench = &reviewed.bench;
        let hunks = reviewed.hunks().await;
        reviewed.apply(&hunks, json!({})).await;
        let after = "1\ntwo\n3\n4\n5\n6\n7\neight\n9\nmine\n";
        bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": after })).await;
        let (_, list) = bench.get(&format!("/api/agent/checkpoints?session_id={}", reviewed.session)).await;
        let id = list["checkpoints"][0]["checkpoint_id"].as_str().unwrap();
        let path = format!("/api/agent/checkpoints/{id}");
        let (_, checkpoint) = bench.get(&path).await;
        assert_eq!(checkpoint["affected_files"], json!(["a.md", "b.md"]));
        assert_eq!(checkpoint["files"][0]["hunks"].as_array().unwrap().len(), 2);
        let (_, texts) = bench.get(&format!("{path}/diff3?file_path=a.md")).await;
        assert_eq!(
            (&texts["checkpoint_base"], &texts["agent_proposed"], &texts["current_file"]),
            (&json!("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), &json!("1\ntwo\n3\n4\n5\n6\n7\neight\n9\n"), &json!(after))
        );
        let roll = format!("{path}/rollback");
        let scoped = json!({ "mode": "scoped_selected", "hunk_ids": [hunks[0]], "preview": true });
        let (_, effect) = bench.post(&roll, scoped).await;
        assert_eq!((&effect["status"], &effect["files"][0]["reverted"]), (&json!("preview"), &json!(1)), "{effect}");
        assert_eq!(effect["undoable"], false, "{effect}");
        assert_eq!(bench.disk("a.md"), after);
        let (status, effect) = bench.post(&roll, json!({ "mode": "hard_all", "hunk_ids": [] })).await;
        assert_eq!((status, &effect["status"]), (200, &json!("completed")), "{effect}");
        assert_eq!(effect["undoable"], true, "{effect}");
        assert_eq!((&effect["unsaved"], bench.disk("a.md")), (&json!(["a.md", "b.md"]), after.to_owned()));
        assert_eq!(bench.post("/api/agent/save", json!({})).await.0, 200);
        assert_eq!(bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        assert_eq!(effect["files"][0]["reverted_from_user"], 1, "{effect}");
        bench.post("/api/agent/undo", Value::Null).await;
        assert_eq!(bench.disk("a.md"), after);
        let (_, effect) = bench.post(&roll, json!({ "mode": "scoped_selected", "save": true })).await;
        assert_eq!(effect["status"], "completed", "{effect}");
        assert_eq!(bench.disk("a.md"), "1\n2\n3\n4\n5\n6\n7\n8\n9\nmine\n", "the user's line stays");
        // The last event of the job is its end; later ones are those of the session.
        assert_eq!(bench.kinds(&reviewed.job).await.last().unwrap(), "job.completed");
        let (_, events) = bench.get("/api/agent/events?limit=5000").await;
        let is_done = |event: &&Value| {
            event["type"] == "checkpoint.rollback.completed" && event["data"]["job_id"] == reviewed.job.as_str()
        };
        assert_eq!(events["events"].as_array().unwrap().iter().filter(is_done).count(), 2, "{events}");
        let (_, log) = bench.get("/api/agent/change_log?file_path=a.md").await;
        assert!(log["changes"].as_array().is_some_and(|changes| changes.len() >= 3), "{log}");
        // Without an effect, a rollback adds no step: an undo reverts the step before it.
        let (_, effect) = bench.post(&roll, json!({ "mode": "scoped_selected", "save": true })).await;
        assert_eq!((&effect["status"], &effect["undoable"]), (&json!("completed"), &json!(false)), "{effect}");
        bench.post("/api/agent/undo", Value::Null).await;
        assert_eq!(bench.disk("a.md"), after);
    });
}

#[test]
fn a_hunk_is_split_and_edited() {
    block_on(async {
        let bench = Bench::new("//- a.md\n1\n2\n3\n");
        let session = bench.session(json!({ "model": "script" })).await;
        bench.script().push([Answer::Call(vec![edit("a.md", "1\n2\n", "one\ntwo\nmore\n")]), Answer::Say("Done.")]);
        bench.run(&session, "edit").await;
        bench.work().await;
        let (_, review) = bench.get("/api/agent/review").await;
        let hunk = review["files"][0]["hunks"][0].clone();
        let at = hunk["lines"].as_array().unwrap().iter().position(|line| line["text"] == "more\n").unwrap();
        let body = json!({ "hunk_id": hunk["hunk_id"], "line": at });
        let (status, review) = bench.post("/api/agent/split", body).await;
        assert_eq!(status, 200, "{review}");
        let hunks = review["files"][0]["hunks"].as_array().unwrap().clone();
        assert!(hunks.len() >= 2, "{review}");
        let last = hunks.last().unwrap()["hunk_id"].clone();
        let (status, review) = bench.post("/api/agent/edit_hunk", json!({ "hunk_id": last, "text": "mine\n" })).await;
        assert_eq!(status, 200, "{review}");
        let (_, buffer) = bench.get("/api/agent/buffer?file_path=a.md").await;
        assert_eq!(buffer["content"], "one\ntwo\nmine\n3\n");
    });
}

#[test]
fn an_undo_never_puts_two_edits_of_one_line_side_by_side() {
    block_on(async {
        let bench = Bench::new("//- a.md\nfoo\nx\n");
        let session = bench.session(json!({ "model": "script", "mode": "direct" })).await;
        for to in ["bar", "qux"] {
            bench.script().push([Answer::Call(vec![edit("a.md", "foo", to)]), Answer::Say("Done.")]);
            bench.run(&session, to).await;
            bench.work().await;
            if to == "bar" {
                let (_, list) = bench.get("/api/agent/checkpoints").await;
                let id = list["checkpoints"][0]["checkpoint_id"].as_str().unwrap();
                let path = format!("/api/agent/checkpoints/{id}/rollback");
                assert_eq!(bench.post(&path, json!({ "mode": "hard_all", "save": true })).await.0, 200);
            }
        }
        let (status, body) = bench.post("/api/agent/undo", Value::Null).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        assert_eq!(bench.disk("a.md"), "qux\nx\n");
        assert!(bench.service.workspace().redo_runs().await.is_err(), "a later run ends the list of undone runs");
        assert_eq!(bench.disk("a.md"), "qux\nx\n");
    });
}

#[test]
fn a_rejection_by_job_refuses_dependents_and_needs_no_file_on_disk() {
    block_on(async {
        let bench = Bench::new("//- a.md\nfoo\nx\n");
        let session = bench.session(json!({ "model": "script" })).await;
        let mut jobs = Vec::new();
        for (from, to) in [("foo", "bar"), ("bar", "qux")] {
            bench.script().push([Answer::Call(vec![edit("a.md", from, to)]), Answer::Say("Done.")]);
            jobs.push(bench.run(&session, to).await);
            bench.work().await;
        }
        let reject = json!({ "decision": "reject", "job_id": jobs[0] });
        let (status, body) = bench.post("/api/agent/decisions", reject).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        bench.disk.files.insert("a.md", "foo\nx\ny\n").unwrap();
        let apply = json!({ "session_id": session, "job_id": jobs[1], "accepted_hunk_ids": [] });
        let (status, body) = bench.post("/api/agent/apply", apply).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(bench.disk("a.md"), "foo\nx\ny\n");
    });
}

#[test]
fn a_user_edit_without_content_deletes_nothing() {
    block_on(async {
        let bench = Bench::new("//- a.md\nfoo\n");
        let (status, body) = bench.post("/api/agent/user_edit", json!({ "file_path": "a.md" })).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!("invalid_argument")), "{body}");
        assert_eq!(bench.disk("a.md"), "foo\n");
        let (status, _) = bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": null })).await;
        assert_eq!((status, bench.disk("a.md").as_str()), (200, ""));
    });
}

#[test]
fn a_line_typed_beside_a_pending_deletion_leaves_the_deleted_line_on_disk() {
    block_on(async {
        let bench = Bench::new("//- a.md\none\ntwo\n");
        let session = bench.session(json!({ "model": "script" })).await;
        bench.script().push([Answer::Call(vec![edit("a.md", "two\n", "")]), Answer::Say("Done.")]);
        let job = bench.run(&session, "delete two").await;
        bench.work().await;
        bench.post("/api/agent/user_edit", json!({ "file_path": "a.md", "content": "one\nmine\n" })).await;
        assert_eq!(bench.disk("a.md"), "one\ntwo\nmine\n");
        let body = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": [], "rebase": true });
        let (status, body) = bench.post("/api/agent/apply", body).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(bench.disk("a.md"), "one\ntwo\nmine\n");
    });
}

/// A session with two jobs: the second edits a line that the first proposed, and one of its own.
struct Stacked {
    bench: Bench,
    session: String,
    jobs: [String; 2],
}

impl Stacked {
    async fn new() -> Self {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({ "model": "script" })).await;
        bench.script().push([Answer::Call(vec![edit("a.md", "2\n", "two\n")]), Answer::Say("Done.")]);
        let first = bench.run(&session, "first").await;
        bench.work().await;
        bench.script().push([Answer::Call(vec![edit("a.md", "two\n", "TWO\n")]), Answer::Say("Done.")]);
        let second = bench.run(&session, "second").await;
        bench.work().await;
        Self { bench, session, jobs: [first, second] }
    }

    /// Applies a job with all of its hunks, or none.
    async fn apply(&self, job: usize, accepts: bool) -> (u16, Value) {
        let job = &self.jobs[job];
        let (_, review) = self.bench.get(&format!("/api/agent/review?job_id={job}")).await;
        let files = review["files"].as_array().unwrap().iter();
        let hunks = files.flat_map(|file| file["hunks"].as_array().unwrap()).map(|hunk| hunk["hunk_id"].clone());
        let accepted: Vec<Value> = hunks.filter(|_| accepts).collect();
        let body = json!({ "session_id": self.session, "job_id": job, "accepted_hunk_ids": accepted, "rerun": false });
        self.bench.post("/api/agent/apply", body).await
    }

    async fn texts(&self) -> (String, String) {
        let (_, buffer) = self.bench.get("/api/agent/buffer?file_path=a.md").await;
        (self.bench.disk("a.md"), buffer["content"].as_str().unwrap().to_owned())
    }
}

const REST: &str = "3\n4\n5\n6\n7\n8\n9\n";

#[test]
fn a_job_on_which_a_later_one_depends_is_rejected_only_after_that() {
    covers("review.apply");
    block_on(async {
        let stacked = Stacked::new().await;
        let before = stacked.texts().await;
        let (status, body) = stacked.apply(0, false).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        assert_eq!(body["error"]["data"]["job_ids"], json!([stacked.jobs[1]]));
        assert_eq!(body["error"]["data"]["hunk_ids"].as_array().map(Vec::len), Some(1));
        assert_eq!(stacked.texts().await, before);
        for job in [1, 0] {
            let (status, body) = stacked.apply(job, false).await;
            assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        }
        let text = format!("1\n2\n{REST}");
        assert_eq!(stacked.texts().await, (text.clone(), text));
    });
}

#[test]
fn a_later_job_takes_the_changes_on_which_it_depends_to_the_disk() {
    block_on(async {
        let stacked = Stacked::new().await;
        let (status, body) = stacked.apply(1, true).await;
        assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        let text = format!("1\nTWO\n{REST}");
        assert_eq!(stacked.texts().await, (text.clone(), text.clone()));
        // Nothing of the first job is left to decide.
        let (_, first) = stacked.bench.get(&format!("/api/agent/jobs/{}", stacked.jobs[0])).await;
        assert_eq!(first["status"], "completed");
        let (_, review) = stacked.bench.get("/api/agent/review").await;
        assert_eq!(review["files"], json!([]));
        // The earlier one first is as good.
        let stacked = Stacked::new().await;
        for job in [0, 1] {
            assert_eq!(stacked.apply(job, true).await.0, 200);
        }
        assert_eq!(stacked.texts().await, (text.clone(), text));
    });
}

#[test]
fn edits_of_a_conflict_on_which_a_later_job_depends_are_not_proposed_anew() {
    covers("service.apply");
    block_on(async {
        let stacked = Stacked::new().await;
        let before = format!("1\n2\n{REST}other\n");
        stacked.bench.disk.files.insert("a.md", before.as_str()).unwrap();
        let (_, review) = stacked.bench.get(&format!("/api/agent/review?job_id={}", stacked.jobs[0])).await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        let body = json!({ "session_id": stacked.session, "job_id": stacked.jobs[0], "accepted_hunk_ids": [hunk] });
        let (status, body) = stacked.bench.post("/api/agent/apply", body).await;
        let data = &body["error"]["data"];
        assert_eq!((status, &data["rerun"], &data["files"]), (409, &json!(false), &json!(["a.md"])), "{body}");
        assert_eq!(data["rerun_error"]["code"], "conflict", "{body}");
        assert_eq!(data["rerun_error"]["data"]["job_ids"], json!([stacked.jobs[1]]), "{body}");
        stacked.bench.work().await;
        assert_eq!(stacked.texts().await, (before, format!("1\nTWO\n{REST}other\n")), "the reviews are as before");
        let (_, first) = stacked.bench.get(&format!("/api/agent/jobs/{}", stacked.jobs[0])).await;
        assert_eq!((&first["status"], &first["n_reruns"]), (&json!("awaiting_review"), &json!(0)), "{first}");
    });
}

#[test]
fn an_applied_edit_that_the_user_restores_on_disk_stays_rejected() {
    block_on(async {
        let reviewed = Reviewed::new().await;
        let hunks = reviewed.hunks().await;
        assert_eq!(reviewed.apply(&hunks, json!({})).await.0, 200);
        let text = "1\n2\n3\n4\n5\n6\n7\neight\n9\n";
        reviewed.bench.disk.files.insert("a.md", text).unwrap();
        let (_, buffer) = reviewed.bench.get("/api/agent/buffer?file_path=a.md").await;
        assert_eq!((&buffer["content"], &buffer["pending_hunks"]), (&json!(text), &json!(0)));
        reviewed.bench.post("/api/agent/decisions", json!({ "decision": "accept", "all": true })).await;
        assert_eq!(reviewed.bench.disk("a.md"), text);
    });
}
