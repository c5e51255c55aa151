//! Rewind of a session to before a job, its preview and its undo.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::ServiceLimits;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const NOTES: &str = "//- notes.md\nThe colour of the sky.\nSecond line.\n";
const AFTER_TWO: &str = "The color of the sea.\nSecond line.\n";

/// A session with two jobs whose edits are on the disk.
struct Talk {
    bench: Bench,
    path: String,
    session: String,
    jobs: [String; 2],
}

impl Talk {
    async fn new() -> Self {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "mode": "direct" })).await;
        let mut jobs = Vec::new();
        for instruction in ["rename colour to color in notes.md", "rename sky to sea in notes.md"] {
            jobs.push(bench.run(&session, instruction).await);
            bench.work().await;
        }
        assert_eq!(bench.disk("notes.md"), AFTER_TWO);
        let jobs = jobs.try_into().unwrap();
        Self { path: format!("/api/agent/sessions/{session}"), bench, session, jobs }
    }

    async fn chat(&self) -> Value {
        self.bench.get(&self.path).await.1["chat"].clone()
    }

    async fn rewind(&self, body: Value) -> (u16, Value) {
        self.bench.post(&format!("{}/rewind", self.path), body).await
    }

    async fn undo(&self) -> (u16, Value) {
        self.bench.post(&format!("{}/rewind/undo", self.path), Value::Null).await
    }
}

fn n_messages(chat: &Value) -> u64 {
    chat.as_array().unwrap().len() as u64
}

#[test]
fn rewind_takes_back_conversation_and_files() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "mode": "direct" })).await;
        let first = bench.run(&session, "rename colour to color in notes.md").await;
        bench.work().await;
        let second = bench.run(&session, "rename sky to sea in notes.md").await;
        bench.work().await;
        let n_messages = |state: &Value| state["chat"].as_array().unwrap().len();
        let path = format!("/api/agent/sessions/{session}");
        let before = n_messages(&bench.get(&path).await.1);
        let request = json!({ "job_id": second, "files": true });
        let (status, body) = bench.post(&format!("{path}/rewind"), request).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["instruction"], "rename sky to sea in notes.md");
        assert_eq!(body["restored"], json!(["notes.md"]));
        assert_eq!(bench.disk("notes.md"), "The color of the sky.\nSecond line.\n");
        let after = n_messages(&bench.get(&path).await.1);
        assert_eq!(before - after, body["removed_messages"].as_u64().unwrap() as usize);
        assert!(after > 0 && after < before);
        // A service that starts later sees the same conversation.
        let bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
        assert_eq!(n_messages(&bench.get(&path).await.1), after);
        let request = json!({ "job_id": first, "conversation": false, "files": true });
        let (status, body) = bench.post(&format!("{path}/rewind"), request).await;
        assert_eq!((status, &body["removed_messages"]), (200, &json!(0)), "{body}");
        assert_eq!(bench.disk("notes.md"), "The colour of the sky.\nSecond line.\n");
    });
}

#[test]
fn a_preview_of_a_rewind_changes_nothing() {
    covers("service.checkpoints");
    block_on(async {
        let talk = Talk::new().await;
        let before = talk.chat().await;
        let [first, second] = &talk.jobs;
        for (job, conversation, files) in [(first, true, true), (second, true, false), (second, false, true)] {
            let wanted = json!({ "job_id": job, "conversation": conversation, "files": files, "preview": true });
            let (status, previewed) = talk.rewind(wanted.clone()).await;
            assert_eq!(status, 200, "{previewed}");
            assert_eq!((talk.bench.disk("notes.md"), talk.chat().await), (AFTER_TWO.to_owned(), before.clone()));
            assert_eq!(talk.undo().await.0, 409, "there is nothing to undo");
            // The rewind then has the effect that the preview told.
            let other = Talk::new().await;
            let job = &other.jobs[usize::from(job == second)];
            let mut wanted = wanted;
            wanted["preview"] = json!(false);
            wanted["job_id"] = json!(job);
            assert_eq!(other.rewind(wanted).await, (200, previewed), "{conversation} {files}");
        }
    });
}

#[test]
fn a_rewind_is_undone_in_both_parts() {
    covers("service.checkpoints");
    block_on(async {
        for (conversation, files) in [(true, true), (true, false), (false, true)] {
            let talk = Talk::new().await;
            let before = talk.chat().await;
            let body = json!({ "job_id": talk.jobs[0], "conversation": conversation, "files": files });
            let (_, rewound) = talk.rewind(body).await;
            assert_eq!(talk.bench.disk("notes.md") != AFTER_TWO, files);
            assert_eq!(talk.chat().await != before, conversation);
            // The undo also works in the next process.
            let bench = Bench::open(talk.bench.disk.clone(), ServiceLimits::default());
            let talk = Talk { bench, ..talk };
            let (status, undone) = talk.undo().await;
            assert_eq!(status, 200, "{undone}");
            assert_eq!(undone["restored_messages"], rewound["removed_messages"]);
            assert_eq!(undone["restored"], rewound["restored"]);
            assert_eq!((talk.bench.disk("notes.md"), talk.chat().await), (AFTER_TWO.to_owned(), before));
            assert_eq!(talk.undo().await.0, 409, "it was undone already");
            // The model sees the whole conversation again.
            talk.bench.run(&talk.session, "rename Second to Third in notes.md").await;
            talk.bench.work().await;
            assert_eq!(talk.bench.disk("notes.md"), "The color of the sea.\nThird line.\n");
            assert!(n_messages(&talk.chat().await) > 4);
        }
    });
}

#[test]
fn a_rewind_is_not_undone_over_later_work() {
    covers("service.checkpoints");
    block_on(async {
        let talk = Talk::new().await;
        talk.rewind(json!({ "job_id": talk.jobs[1], "files": true })).await;
        let text = "The color of the sky.\nMy line.\n";
        talk.bench.post("/api/agent/user_edit", json!({ "file_path": "notes.md", "content": text })).await;
        let chat = talk.chat().await;
        let (status, refused) = talk.undo().await;
        assert!(status >= 400, "{refused}");
        assert_eq!((talk.bench.disk("notes.md"), talk.chat().await), (text.to_owned(), chat), "neither part came back");
        talk.bench.run(&talk.session, "rename sky to air in notes.md").await;
        talk.bench.work().await;
        let (status, refused) = talk.undo().await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("conflict")), "a job came after it");
    });
}

#[test]
fn a_rewind_is_undone_in_its_own_session_only() {
    covers("service.checkpoints");
    block_on(async {
        let bench = Bench::new("//- a.md\none\n//- b.md\ntwo\n");
        let mut talks = Vec::new();
        for instruction in ["rename one to uno in a.md", "rename two to due in b.md"] {
            let session = bench.session(json!({ "mode": "direct" })).await;
            let job = bench.run(&session, instruction).await;
            bench.work().await;
            talks.push((format!("/api/agent/sessions/{session}/rewind"), job));
        }
        for (path, job) in &talks {
            let (status, body) = bench.post(path, json!({ "job_id": job, "files": true })).await;
            assert_eq!(status, 200, "{body}");
        }
        let undo = |at: usize| format!("{}/undo", talks[at].0);
        let (status, refused) = bench.post(&undo(0), Value::Null).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("conflict")), "another rewind came after it");
        assert_eq!((bench.disk("a.md"), bench.disk("b.md")), ("one\n".to_owned(), "two\n".to_owned()));
        // In the order of undo, both come back.
        for at in [1, 0] {
            let (status, body) = bench.post(&undo(at), Value::Null).await;
            assert_eq!(status, 200, "{at}: {body}");
        }
        assert_eq!((bench.disk("a.md"), bench.disk("b.md")), ("uno\n".to_owned(), "due\n".to_owned()));
    });
}

#[test]
fn the_conversation_comes_back_without_the_files_that_were_edited_since() {
    block_on(async {
        let talk = Talk::new().await;
        let before = talk.chat().await;
        talk.rewind(json!({ "job_id": talk.jobs[1], "files": true })).await;
        let text = "The color of the sky.\nMine.\n";
        talk.bench.post("/api/agent/user_edit", json!({ "file_path": "notes.md", "content": text })).await;
        let (status, refused) = talk.undo().await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("conflict")));
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("\"files\": false"), "{message}");
        let (status, undone) = talk.bench.post(&format!("{}/rewind/undo", talk.path), json!({ "files": false })).await;
        assert_eq!((status, &undone["restored"]), (200, &json!([])));
        assert_eq!((talk.bench.disk("notes.md"), talk.chat().await), (text.to_owned(), before));
        let (status, _) = talk.rewind(json!({ "job_id": talk.jobs[1], "conversation": false, "files": false })).await;
        assert_eq!(status, 400, "nothing is to be rewound");
    });
}

#[test]
fn a_rewind_without_an_effect_is_refused_and_keeps_the_undo_of_the_last_one() {
    block_on(async {
        let bench = Bench::new("//- notes.md\nThe colour.\n");
        let session = bench.session(json!({ "mode": "direct" })).await;
        let job = bench.run(&session, "rename colour to color in notes.md").await;
        bench.work().await;
        let path = format!("/api/agent/sessions/{session}/rewind");
        let both = json!({ "job_id": job, "files": true });
        assert_eq!(bench.post(&path, both.clone()).await.0, 200);
        for again in [both, json!({ "job_id": job })] {
            let (status, body) = bench.post(&path, again).await;
            assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        }
        let (status, reply) = bench.post(&format!("{path}/undo"), json!({})).await;
        assert_eq!((status, &reply["restored"]), (200, &json!(["notes.md"])), "{reply}");
        assert!(reply["restored_messages"].as_u64().unwrap() > 0, "{reply}");
        assert_eq!(bench.disk("notes.md"), "The color.\n");
    });
}

#[test]
fn the_undo_of_a_rewind_leaves_the_files_of_an_earlier_rewind() {
    block_on(async {
        let bench = Bench::new("//- notes.md\nThe colour.\n");
        let session = bench.session(json!({ "mode": "direct" })).await;
        let job = bench.run(&session, "rename colour to color in notes.md").await;
        bench.work().await;
        let path = format!("/api/agent/sessions/{session}/rewind");
        let (status, reply) = bench.post(&path, json!({ "job_id": job, "files": true, "conversation": false })).await;
        assert_eq!((status, &reply["restored"]), (200, &json!(["notes.md"])), "{reply}");
        let (status, reply) = bench.post(&path, json!({ "job_id": job, "files": true })).await;
        assert_eq!((status, &reply["restored"]), (200, &json!([])), "{reply}");
        let (status, reply) = bench.post(&format!("{path}/undo"), json!({})).await;
        assert_eq!((status, &reply["restored"]), (200, &json!([])), "{reply}");
        assert!(reply["restored_messages"].as_u64().unwrap() > 0, "{reply}");
        assert_eq!(bench.disk("notes.md"), "The colour.\n", "it was taken back by the rewind before");
    });
}
