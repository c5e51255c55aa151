//! The canvas as draft and artefact: hashes in each reply, and promotion by the user only.

use emend_edit::ContentHash;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::Method;
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SAVED: &str = "# Notes\none\ntwo\n";
const TYPED: &str = "# Notes\none\ntwo\nmine\n";

fn hash(text: &str) -> Value {
    json!(ContentHash::of(text.as_bytes()).to_string())
}

/// A session whose canvas is open, in a service of its own.
struct Opened {
    bench: Bench,
    session: String,
}

impl Opened {
    async fn new(settings: Value) -> Self {
        let bench = Bench::new("//- notes.md\n# Notes\none\ntwo\n");
        let session = bench.session(settings).await;
        let opened = Self { bench, session };
        let (status, canvas) = opened.post("open", json!({ "file_path": "notes.md" })).await;
        assert_eq!((status, &canvas["unsaved"]), (200, &json!(false)), "{canvas}");
        opened
    }

    async fn post(&self, action: &str, body: Value) -> (u16, Value) {
        self.bench.post(&format!("/api/agent/sessions/{}/canvas/{action}", self.session), body).await
    }

    async fn canvas(&self) -> Value {
        self.bench.get(&format!("/api/agent/sessions/{}/canvas", self.session)).await.1
    }

    /// Lets the user type without saving.
    async fn type_text(&self, content: &str) {
        let (status, body) = self.post("user_edit", json!({ "content": content, "save": false })).await;
        assert_eq!(status, 200, "{body}");
    }

    async fn check_out(&self) -> Value {
        let (status, out) = self.post("check_out", Value::Null).await;
        assert_eq!(status, 200, "{out}");
        out["lease_id"].clone()
    }

    /// Replaces the line `one` under a lease. The edit waits for review.
    async fn propose(&self, text: &str) {
        let lease = self.check_out().await;
        let edits = json!([{ "operation": "replace", "start_line": 2, "new_text": text }]);
        let base = &self.canvas().await["revision_id"];
        let body = json!({ "lease_id": lease, "base_revision_id": base, "edits": edits });
        assert_eq!(self.post("edit_lines", body).await.0, 200);
        assert_eq!(self.post("check_in", json!({ "lease_id": lease })).await.0, 200);
    }

    /// Sends a message with the hash of a draft. The model says one word.
    async fn send(&self, draft_hash: &Value) -> (u16, Value) {
        self.bench.script().push([Answer::Say("Yes.")]);
        let body = json!({ "session_id": self.session, "instruction": "go", "draft_hash": draft_hash });
        self.bench.post("/api/agent/run", body).await
    }

    /// Returns the text that the user sees, and the saved one.
    async fn texts(&self) -> (String, String) {
        let (_, buffer) = self.bench.get("/api/agent/buffer?file_path=notes.md").await;
        (buffer["content"].as_str().unwrap().to_owned(), self.bench.disk("notes.md"))
    }

    /// Checks that a reply names the draft and the artefact as they are.
    async fn check_hashes(&self, data: &Value) {
        let (content, saved) = self.texts().await;
        assert_eq!((&data["draft_hash"], &data["artefact_hash"]), (&hash(&content), &hash(&saved)), "{data}");
    }
}

#[test]
fn every_reply_of_the_canvas_names_draft_and_artefact() {
    covers("canvas.storage");
    block_on(async {
        let opened = Opened::new(json!({})).await;
        opened.type_text(TYPED).await;
        let lease = opened.check_out().await;
        let held = json!({ "lease_id": lease });
        let with = |fields: Value| {
            let mut body = held.clone();
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            body
        };
        let edits = json!([{ "operation": "replace", "start_line": 2, "new_text": "1\n" }]);
        let edit = with(json!({ "base_revision_id": hash(TYPED), "edits": edits }));
        let edited = TYPED.replace("one", "1");
        let patch = "@@ -3,1 +3,1 @@\n-two\n+2\n";
        let steps = [
            ("open", json!({ "file_path": "notes.md" }), 200),
            ("renew_lease", held.clone(), 200),
            ("grep", with(json!({ "query": "two" })), 200),
            ("read_lines", with(json!({ "start_line": 1 })), 200),
            ("read_lines", held.clone(), 400),
            ("read_all", held.clone(), 200),
            ("read_all", json!({ "lease_id": "none" }), 409),
            ("edit_lines", edit.clone(), 200),
            ("edit_lines", edit, 409),
            ("apply_patch", with(json!({ "base_revision_id": hash(&edited), "patch": patch })), 200),
            ("check_out", Value::Null, 409),
            ("promote", json!({ "draft_hash": hash(TYPED) }), 409),
            ("check_in", held, 200),
            ("promote", json!({ "draft_hash": hash(TYPED) }), 409),
            ("check_out", Value::Null, 200),
            ("take_back", Value::Null, 200),
            ("promote", json!({ "draft_hash": hash(&edited.replace("two", "2")) }), 200),
            ("user_edit", json!({ "content": "all\n", "save": false }), 200),
        ];
        for (action, body, expected) in steps {
            let (status, reply) = opened.post(action, body).await;
            assert_eq!(status, expected, "{action}: {reply}");
            let data = if status == 200 { &reply } else { &reply["error"]["data"] };
            assert_eq!(data["revision_id"], data["draft_hash"], "{action}: {reply}");
            opened.check_hashes(data).await;
        }
        opened.check_hashes(&opened.canvas().await).await;
        let (_, closed) = opened.post("open", json!({ "file_path": null })).await;
        assert_eq!((&closed["draft_hash"], &closed["artefact_hash"]), (&Value::Null, &Value::Null));
    });
}

/// Lets the user type, and a step follow. Then checks a promotion by the hash of a text: its status and code, the text on
/// the disk, and whether something still waits.
async fn check_promotion(step: &str, of: &str, expected: (u16, &str), saved: &str, unsaved: bool) {
    let opened = Opened::new(json!({})).await;
    opened.type_text(TYPED).await;
    match step {
        "typed" => {}
        "proposed" => opened.propose("1\n").await,
        "held" => drop(opened.check_out().await),
        "written" => drop(opened.bench.disk.files.insert("notes.md", format!("{SAVED}theirs\n").as_str())),
        "saved" => assert_eq!(opened.post("promote", json!({ "draft_hash": hash(TYPED) })).await.0, 200),
        "closed" => assert_eq!(opened.post("open", json!({ "file_path": null })).await.0, 200),
        _ => unreachable!("{step}"),
    }
    let before = (opened.canvas().await, opened.texts().await.0);
    let (status, reply) = opened.post("promote", json!({ "draft_hash": hash(of) })).await;
    let code = reply["error"]["code"].as_str().unwrap_or_default();
    assert_eq!((status, code), expected, "{step}: {reply}");
    let after = (opened.canvas().await, opened.texts().await.0);
    assert_eq!(opened.bench.disk("notes.md"), saved, "{step}");
    assert_eq!(after.1, before.1, "{step}: a promotion changes no draft");
    assert_eq!((&after.0["epoch"], &after.0["held"]), (&before.0["epoch"], &before.0["held"]), "{step}");
    let (_, review) = opened.bench.get("/api/agent/review").await;
    assert_eq!(review["unsaved"] == json!(["notes.md"]), unsaved, "{step}: {review}");
    assert_eq!(after.0["unsaved"], json!(unsaved && step != "closed"), "{step}");
}

#[test]
fn a_promotion_saves_the_draft_that_the_user_saw_and_no_other() {
    covers("canvas.storage canvas.user_first");
    block_on(async {
        let proposed = TYPED.replace("one", "1");
        let merged = format!("{SAVED}theirs\n");
        check_promotion("typed", TYPED, (200, ""), TYPED, false).await;
        check_promotion("typed", SAVED, (409, "stale"), SAVED, true).await;
        // A second promotion, and one of a request that was repeated, have nothing to write.
        check_promotion("saved", TYPED, (200, ""), TYPED, false).await;
        // The words of the agent are in the draft. They stay off the disk until the user accepts them.
        check_promotion("proposed", &proposed, (200, ""), TYPED, false).await;
        check_promotion("proposed", TYPED, (409, "stale"), SAVED, true).await;
        check_promotion("held", TYPED, (409, "LOCK_NOT_AVAILABLE"), SAVED, true).await;
        check_promotion("written", TYPED, (409, "stale"), &merged, true).await;
        check_promotion("closed", TYPED, (404, "not_found"), SAVED, true).await;
    });
}

#[test]
fn an_accepted_edit_is_promoted_and_a_pending_one_is_not() {
    covers("canvas.storage");
    block_on(async {
        let opened = Opened::new(json!({})).await;
        opened.propose("1\n").await;
        opened.type_text(&TYPED.replace("one", "1")).await;
        let (_, review) = opened.bench.get("/api/agent/review").await;
        let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
        let accept = json!({ "decision": "accept", "hunk_ids": [hunk], "save": false });
        assert_eq!(opened.bench.post("/api/agent/decisions", accept).await.0, 200);
        assert_eq!(opened.bench.disk("notes.md"), SAVED, "the decision is one of the draft");
        let draft = opened.canvas().await["draft_hash"].clone();
        let (status, canvas) = opened.post("promote", json!({ "draft_hash": draft })).await;
        assert_eq!((status, &canvas["artefact_hash"]), (200, &draft), "{canvas}");
        assert_eq!(opened.bench.disk("notes.md"), TYPED.replace("one", "1"));
    });
}

#[test]
fn a_message_takes_the_canvas_back_and_saves_the_draft_that_it_names() {
    covers("canvas.storage canvas.preempt");
    block_on(async {
        for (of, is_sent, saved) in [(TYPED, true, TYPED), (SAVED, false, SAVED), ("", true, SAVED)] {
            let opened = Opened::new(json!({ "model": "script" })).await;
            opened.type_text(TYPED).await;
            let lease = opened.check_out().await;
            let before = opened.canvas().await;
            let draft_hash = if of.is_empty() { Value::Null } else { hash(of) };
            let (status, reply) = opened.send(&draft_hash).await;
            assert_eq!(status, if is_sent { 202 } else { 409 }, "{reply}");
            // The text is saved, and the lease is over, before the run begins.
            assert_eq!(opened.texts().await, (TYPED.to_owned(), saved.to_owned()));
            let after = opened.canvas().await;
            assert_eq!(after["epoch"].as_u64() > before["epoch"].as_u64(), of == TYPED, "{after}");
            if is_sent {
                opened.bench.work().await;
                let (_, renewed) = opened.post("renew_lease", json!({ "lease_id": lease })).await;
                assert_eq!(renewed["error"]["code"], "STALE_EPOCH");
                assert_eq!(opened.bench.disk("notes.md"), saved);
            } else {
                assert_eq!(reply["error"]["code"], "stale", "{reply}");
                opened.check_hashes(&reply["error"]["data"]).await;
                // The clock of the bench moves with every look, so the lease may have expired. It was not preempted.
                let (_, renewed) = opened.post("renew_lease", json!({ "lease_id": lease })).await;
                assert_ne!(renewed["error"]["code"], "STALE_EPOCH");
                let (_, jobs) = opened.bench.get(&format!("/api/agent/sessions/{}/jobs", opened.session)).await;
                assert_eq!(jobs["jobs"], json!([]));
            }
            let (_, events) = opened.bench.get("/api/agent/events").await;
            let told = events["events"].as_array().unwrap().iter().filter(|event| event["data"]["by"] == "promote");
            assert_eq!(told.count(), usize::from(is_sent && !of.is_empty()), "{events}");
        }
    });
}

#[test]
fn a_message_that_cannot_be_sent_saves_nothing() {
    block_on(async {
        let opened = Opened::new(json!({ "model": "script" })).await;
        opened.type_text(TYPED).await;
        // The job waits for the model, which answers when the bench works.
        assert_eq!(opened.send(&Value::Null).await.0, 202);
        let (status, reply) = opened.send(&hash(TYPED)).await;
        assert_eq!((status, &reply["error"]["code"]), (409, &json!("busy")), "{reply}");
        assert_eq!(opened.bench.disk("notes.md"), SAVED);
        opened.bench.work().await;
        let archive = json!({ "status": "archived" });
        opened.bench.send(Method::Patch, &format!("/api/agent/sessions/{}", opened.session), archive).await;
        let (status, reply) = opened.send(&hash(TYPED)).await;
        assert_eq!(status, 409, "{reply}");
        assert_eq!(opened.bench.disk("notes.md"), SAVED);
    });
}

#[test]
fn canvas_tools_of_an_agent_write_the_draft_and_never_save_it() {
    covers("canvas.storage");
    block_on(async {
        let edited = TYPED.replace("one", "1");
        // The mode decides whether the user has accepted the words of the agent.
        for (mode, promoted) in [("review", TYPED), ("direct", &edited)] {
            let opened = Opened::new(json!({ "model": "script", "mode": mode, "canvas": { "tools": true } })).await;
            opened.type_text(TYPED).await;
            let edits = json!([{ "operation": "replace", "start_line": 2, "new_text": "1\n" }]);
            let call = json!({ "base_revision_id": hash(TYPED), "edits": edits });
            opened.bench.script().push([Answer::Call(vec![("canvas_edit_lines", call)]), Answer::Say("Done.")]);
            opened.bench.run(&opened.session, "edit").await;
            opened.bench.work().await;
            assert_eq!(opened.texts().await, (edited.clone(), SAVED.to_owned()), "{mode}");
            assert_eq!(opened.canvas().await["unsaved"], true, "{mode}");
            let (status, canvas) = opened.post("promote", json!({ "draft_hash": hash(&edited) })).await;
            assert_eq!((status, &canvas["artefact_hash"]), (200, &hash(promoted)), "{mode}: {canvas}");
            assert_eq!(opened.bench.disk("notes.md"), promoted, "{mode}");
        }
    });
}

#[test]
fn a_draft_outlives_its_process() {
    covers("service.kept");
    block_on(async {
        let bench = Bench::kept("//- notes.md\n# Notes\none\ntwo\n");
        let session = bench.session(json!({})).await;
        let opened = Opened { bench, session };
        opened.post("open", json!({ "file_path": "notes.md" })).await;
        opened.type_text(TYPED).await;
        let bench = opened.bench.reload_kept().await;
        let opened = Opened { bench, session: opened.session };
        opened.post("open", json!({ "file_path": "notes.md" })).await;
        let canvas = opened.canvas().await;
        assert_eq!((&canvas["draft_hash"], &canvas["artefact_hash"]), (&hash(TYPED), &hash(SAVED)));
        assert_eq!(opened.post("promote", json!({ "draft_hash": canvas["draft_hash"] })).await.0, 200);
        assert_eq!(opened.bench.disk("notes.md"), TYPED);
    });
}
