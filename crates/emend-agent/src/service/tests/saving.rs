//! Explicit saves: changes of the user that wait, and the files that they reach.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\n1\n2\n3\n4\n5\n6\n7\n8\n9\n//- b.md\nx\n";
const BASE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

async fn edit(bench: &Bench, content: &str, saves: bool) -> Value {
    let body = json!({ "file_path": "a.md", "content": content, "save": saves });
    let (status, buffer) = bench.post("/api/agent/user_edit", body).await;
    assert_eq!(status, 200, "{buffer}");
    buffer
}

async fn buffer(bench: &Bench) -> (String, String, bool) {
    let (_, buffer) = bench.get("/api/agent/buffer?file_path=a.md").await;
    let text = |name: &str| buffer[name].as_str().unwrap_or_default().to_owned();
    (text("content"), text("saved_content"), buffer["unsaved"].as_bool().unwrap())
}

async fn save(bench: &Bench, body: Value) -> (u16, Value) {
    bench.post("/api/agent/save", body).await
}

/// Lets the scripted agent replace a text in `a.md`, in a session with this mode.
async fn job(bench: &Bench, mode: &str, from: &str, to: &str) -> (String, String) {
    let session = bench.session(json!({ "model": "script", "mode": mode })).await;
    let arguments = json!({ "file_path": "a.md", "old_string": from, "new_string": to });
    bench.script().push([Answer::Call(vec![("edit_file", arguments)]), Answer::Say("Done.")]);
    let job = bench.run(&session, "edit").await;
    bench.work().await;
    (session, job)
}

#[test]
fn edits_that_wait_reach_the_disk_with_the_save() {
    covers("review.save");
    block_on(async {
        let bench = Bench::new(FILES);
        let mine = BASE.replace("9\n", "9\nmine\n");
        let edited = edit(&bench, &mine, false).await;
        assert_eq!((&edited["unsaved"], &edited["saved_content"]), (&json!(true), &json!(BASE)));
        assert_eq!(bench.disk("a.md"), BASE);
        let (_, review) = bench.get("/api/agent/review").await;
        assert_eq!(review["unsaved"], json!(["a.md"]));
        let (status, reply) = save(&bench, Value::Null).await;
        assert_eq!((status, &reply["saved"][0]["file_path"], &reply["unsaved"]), (200, &json!("a.md"), &json!([])));
        assert_eq!(buffer(&bench).await, (mine.clone(), mine, false));
        assert_eq!(save(&bench, Value::Null).await.1["saved"], json!([]));
        assert_eq!(save(&bench, json!({ "file_paths": ["none.md"] })).await.0, 404);
        assert_eq!(save(&bench, json!({ "file_paths": ["../a.md"] })).await.0, 403);
    });
}

#[test]
fn an_undo_of_an_unsaved_edit_leaves_nothing_to_save() {
    block_on(async {
        let bench = Bench::new(FILES);
        edit(&bench, "mine\n", false).await;
        assert_eq!(bench.post("/api/agent/undo", Value::Null).await.1["unsaved"], Value::Null);
        assert_eq!(buffer(&bench).await, (BASE.to_owned(), BASE.to_owned(), false));
        // An undo that waits changes a saved file in memory only.
        edit(&bench, "mine\n", true).await;
        let (_, review) = bench.post("/api/agent/undo", json!({ "save": false })).await;
        assert_eq!(review["unsaved"], json!(["a.md"]));
        assert_eq!(buffer(&bench).await, (BASE.to_owned(), "mine\n".to_owned(), true));
        bench.post("/api/agent/redo", json!({ "save": false })).await;
        assert_eq!(buffer(&bench).await, ("mine\n".to_owned(), "mine\n".to_owned(), false));
    });
}

#[test]
fn decisions_on_an_unsaved_file_wait_with_it() {
    covers("review.save");
    block_on(async {
        let bench = Bench::new(FILES);
        let (session, job) = job(&bench, "review", "2\n", "two\n").await;
        let mine = BASE.replace("2\n", "two\n").replace("9\n", "9\nmine\n");
        edit(&bench, &mine, false).await;
        let (_, review) = bench.get(&format!("/api/agent/review?job_id={job}")).await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        let apply = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": [hunk] });
        let (status, reply) = bench.post("/api/agent/apply", apply).await;
        assert_eq!(
            (status, &reply["status"], &reply["unsaved"]),
            (200, &json!("completed"), &json!(["a.md"])),
            "{reply}"
        );
        assert_eq!(buffer(&bench).await, (mine.clone(), BASE.to_owned(), true));
        save(&bench, json!({ "file_paths": ["a.md"] })).await;
        assert_eq!(buffer(&bench).await, (mine.clone(), mine, false));
    });
}

#[test]
fn a_decision_or_a_rollback_can_wait() {
    block_on(async {
        let bench = Bench::new(FILES);
        let (_, job) = job(&bench, "review", "2\n", "two\n").await;
        let accept = json!({ "decision": "accept", "job_id": job, "save": false });
        assert_eq!(bench.post("/api/agent/decisions", accept).await.1["unsaved"], json!(["a.md"]));
        let edited = BASE.replace("2\n", "two\n");
        assert_eq!(buffer(&bench).await, (edited.clone(), BASE.to_owned(), true));
        save(&bench, Value::Null).await;
        assert_eq!(bench.disk("a.md"), edited);
        let checkpoint = job.replace("job_", "cp_");
        let path = format!("/api/agent/checkpoints/{checkpoint}/rollback");
        let (status, reply) = bench.post(&path, json!({ "mode": "hard_all" })).await;
        assert_eq!((status, &reply["unsaved"]), (200, &json!(["a.md"])), "{reply}");
        assert_eq!(buffer(&bench).await, (BASE.to_owned(), edited, true));
        save(&bench, Value::Null).await;
        assert_eq!(bench.disk("a.md"), BASE);
    });
}

#[test]
fn the_agent_sees_unsaved_edits_and_a_direct_edit_saves_its_file() {
    block_on(async {
        let bench = Bench::new(FILES);
        edit(&bench, &BASE.replace("2\n", "TWO\n"), false).await;
        job(&bench, "review", "TWO\n", "two\n").await;
        let both = (BASE.replace("2\n", "two\n"), BASE.to_owned(), true);
        assert_eq!(buffer(&bench).await, both, "a pending edit saves nothing");
        job(&bench, "direct", "9\n", "nine\n").await;
        let (content, saved, unsaved) = buffer(&bench).await;
        assert_eq!(content, BASE.replace("2\n", "two\n").replace("9\n", "nine\n"));
        assert_eq!((saved, unsaved), (BASE.replace("2\n", "TWO\n").replace("9\n", "nine\n"), false));
    });
}

#[test]
fn a_save_over_a_change_on_disk_is_a_conflict_until_the_user_has_seen_both() {
    covers("review.save");
    block_on(async {
        let apart = [(BASE.replace("9\n", "nine\n"), true), (BASE.replace("2\n", "deux\n"), false)];
        for (theirs, rebases) in apart {
            for (rebase, names_file) in [(false, false), (true, false), (false, true), (true, true)] {
                let bench = Bench::new(FILES);
                edit(&bench, &BASE.replace("2\n", "two\n"), false).await;
                bench.disk.files.insert("a.md", theirs.as_str()).unwrap();
                let mut request = json!({ "rebase": rebase });
                if names_file {
                    request["file_paths"] = json!(["a.md"]);
                }
                let (status, reply) = save(&bench, request).await;
                if rebase && rebases {
                    assert_eq!(status, 200, "{reply}");
                    assert_eq!(bench.disk("a.md"), theirs.replace("2\n", "two\n"));
                    continue;
                }
                assert_eq!((status, &reply["error"]["code"]), (409, &json!("conflict")), "{reply}");
                assert_eq!(reply["error"]["data"]["files"], json!(["a.md"]));
                assert_eq!(bench.disk("a.md"), theirs, "nothing was written");
                let (content, saved, unsaved) = buffer(&bench).await;
                assert!(content.contains("two\n") && unsaved, "{content}");
                assert!(theirs.lines().filter(|line| *line != "2").all(|line| content.contains(line)), "{content}");
                assert_eq!(saved, theirs);
                assert_eq!(save(&bench, Value::Null).await.0, 200);
                assert_eq!(bench.disk("a.md"), content);
            }
        }
    });
}

#[test]
fn an_edit_without_a_job_is_kept() {
    covers("service.kept");
    block_on(async {
        let bench = Bench::kept(FILES);
        edit(&bench, "mine\n", false).await;
        let next = bench.reload_kept().await;
        assert_eq!(buffer(&next).await, ("mine\n".to_owned(), BASE.to_owned(), true));
        assert_eq!(save(&next, Value::Null).await.0, 200);
        assert_eq!(next.disk("a.md"), "mine\n");
    });
}

#[test]
fn lines_that_two_users_add_at_one_place_are_all_kept() {
    block_on(async {
        for save in [true, false] {
            let bench = Bench::new(FILES);
            let typed = |line: &str| json!({ "file_path": "a.md", "content": format!("{BASE}{line}\n"), "base": BASE, "save": save });
            for line in ["first", "second"] {
                let (status, reply) = bench.post("/api/agent/user_edit", typed(line)).await;
                assert_eq!(status, 200, "{reply}");
            }
            assert_eq!(buffer(&bench).await.0, format!("{BASE}first\nsecond\n"), "save: {save}");
        }
        // The same for a line of another program, before and after the server has read it.
        for is_read in [true, false] {
            let bench = Bench::new(FILES);
            bench.disk.files.insert("a.md", format!("{BASE}theirs\n").as_str()).unwrap();
            if is_read {
                buffer(&bench).await;
            }
            let typed = json!({ "file_path": "a.md", "content": format!("{BASE}mine\n"), "base": BASE });
            assert_eq!(bench.post("/api/agent/user_edit", typed).await.0, 200);
            assert_eq!(bench.disk("a.md"), format!("{BASE}theirs\nmine\n"), "read: {is_read}");
        }
    });
}

#[test]
fn the_review_shows_what_another_program_wrote() {
    block_on(async {
        let bench = Bench::new(FILES);
        job(&bench, "review", "2\n", "two\n").await;
        let (_, review) = bench.get("/api/agent/review").await;
        assert_eq!(review["files"][0]["hunks"].as_array().map(Vec::len), Some(1));
        bench.disk.files.insert("a.md", BASE.replace("1\n", "0\n1\n").as_str()).unwrap();
        let (_, again) = bench.get("/api/agent/review").await;
        let first = |review: &Value| review["files"][0]["hunks"][0]["lines"][0]["text"].clone();
        assert_eq!((first(&review), first(&again)), (json!("1\n"), json!("0\n")), "{again}");
    });
}
