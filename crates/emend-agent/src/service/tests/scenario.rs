//! One long story over the service: after each step, the disk and the buffer of each file are those of a line log that
//! the test keeps beside it, byte for byte.
//!
//! The offline model makes the edits, once live and once from a recording of the live run.

use std::collections::BTreeMap;

use emend_edit::line_log::{ChangeId, ChangeMeta, CheckpointId, DependentsPolicy, HunkQuery, LineLog, Origin, Status};
use emend_llm::cassette::{Cassette, Player, PlayerOptions, Recorder, RecorderOptions};
use emend_llm::{Api, Config, HttpProvider, Provider, Shared, Transport};
use emend_offline::{OfflineTransport, Options};
use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::ServiceLimits;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Files with different line endings, with and without one at the end, and with a mark at the start.
const FILES: [(&str, &str); 3] = [
    ("a.md", "The colour of the sky.\nsecond\nthird\nA colour of the sea.\nfifth\nsixth\nMy colour.\n"),
    ("b.md", "\u{feff}colour one\r\ntwo\r\nthree\r\ncolour four\r\nfive\r\nsix\r\ncolour seven"),
    ("c.md", "one colour\ntwo\nthree\nfour\n"),
];

const PATHS: [&str; 3] = ["a.md", "b.md", "c.md"];

/// The service, and the line logs that it must agree with.
struct Story {
    bench: Bench,
    model: BTreeMap<&'static str, LineLog>,
    session: String,
    n_steps: usize,
    at_ms: u64,
}

impl Story {
    async fn begin(provider: Shared<dyn Provider>) -> Self {
        let bench = Bench::with_limits("", ServiceLimits::default());
        for (path, text) in FILES {
            bench.disk.files.insert(path, text.as_bytes().to_vec()).unwrap();
        }
        bench.serve_model(provider);
        let session = bench.session(json!({ "model": "other" })).await;
        let model = FILES.into_iter().map(|(path, text)| (path, LineLog::new(Some(text)))).collect();
        Self { bench, model, session, n_steps: 0, at_ms: 0 }
    }

    fn log(&mut self, path: &str) -> &mut LineLog {
        self.model.get_mut(path).unwrap()
    }

    fn meta(&mut self) -> ChangeMeta {
        self.at_ms += 1;
        ChangeMeta { at_ms: self.at_ms, ..ChangeMeta::default() }
    }

    /// Compares every file with its line log.
    async fn check(&mut self, step: &str) {
        self.n_steps += 1;
        for (path, log) in &self.model {
            let disk = self.bench.disk.files.get(path);
            assert_eq!(disk.as_deref(), log.disk_text().as_deref().map(str::as_bytes), "{step}: {path} on disk");
            let (_, buffer) = self.bench.get(&format!("/api/agent/buffer?file_path={path}")).await;
            assert_eq!(buffer["content"].as_str(), log.visible_text().as_deref(), "{step}: the buffer of {path}");
            let pending = log.n_hunks(&HunkQuery::default());
            assert_eq!(buffer["pending_hunks"], pending, "{step}: hunks of {path}");
        }
    }

    /// Runs an instruction. The agent proposes the text that `edited` makes of each file.
    async fn job(&mut self, instruction: &str, edited: fn(&str) -> String) -> String {
        let body =
            json!({ "session_id": self.session, "instruction": instruction, "tool_config": { "max_tool_calls": 99 } });
        let (status, body) = self.bench.post("/api/agent/run", body).await;
        assert_eq!(status, 202, "{body}");
        self.bench.work().await;
        for path in PATHS {
            self.proposes(path, edited);
        }
        let job = body["job_id"].as_str().unwrap().to_owned();
        assert_eq!(self.status(&job).await, "awaiting_review");
        self.check(instruction).await;
        job
    }

    fn proposes(&mut self, path: &str, edited: fn(&str) -> String) {
        let meta = self.meta();
        let log = self.log(path);
        let text = edited(&log.visible_text().unwrap());
        log.write(Origin::Agent, meta, &text, Status::Pending);
    }

    async fn status(&self, job: &str) -> String {
        let (_, state) = self.bench.get(&format!("/api/agent/jobs/{job}")).await;
        state["status"].as_str().unwrap().to_owned()
    }

    /// Returns the ids of the pending hunks of a file, in the service and in the line log.
    async fn hunks(&self, path: &str) -> Vec<(Value, Vec<ChangeId>)> {
        let (_, review) = self.bench.get("/api/agent/review").await;
        let file = review["files"].as_array().unwrap().iter().find(|file| file["file_path"] == path);
        let ids = file.map(|file| file["hunks"].as_array().unwrap().clone()).unwrap_or_default();
        let known = self.model[path].hunks(HunkQuery::default());
        assert_eq!(ids.len(), known.len(), "{path}");
        ids.iter().zip(known).map(|(hunk, known)| (hunk["hunk_id"].clone(), known.change_ids)).collect()
    }

    /// Accepts or rejects one hunk of a file.
    async fn decides(&mut self, path: &str, hunk: usize, accepts: bool) {
        let (id, changes) = self.hunks(path).await.swap_remove(hunk);
        let decision = if accepts { "accept" } else { "reject" };
        let body = json!({ "decision": decision, "hunk_ids": [id], "dependents": "only" });
        let (status, body) = self.bench.post("/api/agent/decisions", body).await;
        assert_eq!(status, 200, "{body}");
        let at_ms = self.meta().at_ms;
        match accepts {
            true => self.log(path).accept(&changes, Origin::User, at_ms).unwrap(),
            false => self.log(path).reject(&changes, DependentsPolicy::OnlyThese, Origin::User, at_ms).unwrap(),
        };
        self.check(&format!("{decision} hunk {hunk} of {path}")).await;
    }

    /// Replaces a text in the buffer of a file, as the user does.
    async fn types(&mut self, path: &str, from: &str, to: &str) {
        let text = self.model[path].visible_text().unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {text:?}");
        let text = text.replace(from, to);
        let (status, body) =
            self.bench.post("/api/agent/user_edit", json!({ "file_path": path, "content": text })).await;
        assert_eq!(status, 200, "{body}");
        let meta = self.meta();
        self.log(path).write(Origin::User, meta, &text, Status::Accepted);
        self.check(&format!("type {to:?} in {path}")).await;
    }

    /// Undoes or redoes the last step, which changed these files.
    async fn step(&mut self, name: &str, paths: &[&str]) {
        let (status, body) = self.bench.post(&format!("/api/agent/{name}"), Value::Null).await;
        assert_eq!(status, 200, "{body}");
        let at_ms = self.meta().at_ms;
        for path in paths {
            let step = if name == "undo" { LineLog::undo } else { LineLog::redo };
            step(self.log(path), Origin::User, at_ms).expect("a step");
        }
        self.check(name).await;
    }

    /// Another program changes a file: the job's edits of it are withdrawn and proposed anew.
    async fn conflicts(&mut self, job: &str, path: &str, edited: fn(&str) -> String) {
        let theirs = format!("{}of another program\n", self.model[path].disk_text().unwrap());
        self.bench.disk.files.insert(path, theirs.as_bytes().to_vec()).unwrap();
        let accepted: Vec<Value> = self.hunks(path).await.into_iter().map(|(id, _)| id).collect();
        let body = json!({ "session_id": self.session, "job_id": job, "accepted_hunk_ids": accepted });
        let (status, body) = self.bench.post("/api/agent/apply", body).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")), "{body}");
        assert_eq!((&body["error"]["data"]["rerun"], &body["error"]["data"]["files"]), (&json!(true), &json!([path])));
        let meta = self.meta();
        let log = self.log(path);
        log.external(Some(&theirs), meta.clone());
        let pending = log.pending();
        log.reject(&pending, DependentsPolicy::OnlyThese, Origin::Agent, meta.at_ms).unwrap();
        self.check("a conflict").await;
        self.bench.work().await;
        // The agent carries out the whole instruction again, also in a file with a rejected edit.
        for path in PATHS {
            self.proposes(path, edited);
        }
        self.check("the re-run").await;
        assert_eq!(self.status(job).await, "awaiting_review");
    }

    /// Applies the rest of a job: all of its hunks. Returns the files.
    async fn applies(&mut self, job: &str) -> Vec<&'static str> {
        let (mut accepted, mut files) = (Vec::new(), Vec::new());
        let at_ms = self.meta().at_ms;
        for path in PATHS {
            let (ids, changes): (Vec<Value>, Vec<Vec<ChangeId>>) = self.hunks(path).await.into_iter().unzip();
            if !ids.is_empty() {
                self.log(path).settle(&changes.concat(), &[], Origin::User, at_ms).unwrap();
                files.push(path);
            }
            accepted.extend(ids);
        }
        let body = json!({ "session_id": self.session, "job_id": job, "accepted_hunk_ids": accepted });
        let (status, body) = self.bench.post("/api/agent/apply", body).await;
        assert_eq!((status, &body["status"]), (200, &json!("completed")), "{body}");
        self.check("apply").await;
        files
    }

    /// Rolls files back after a preview, which changes nothing.
    async fn rolls_back(&mut self, job: &str, mode: &str, files: &[&'static str]) {
        let path = format!("/api/agent/checkpoints/{}/rollback", job.replace("job_", "cp_"));
        let request = json!({ "mode": mode, "file_paths": files, "save": true });
        let mut preview = request.clone();
        preview["preview"] = json!(true);
        let (status, preview) = self.bench.post(&path, preview).await;
        assert_eq!((status, &preview["status"]), (200, &json!("preview")), "{preview}");
        self.check("a preview").await;
        let (status, done) = self.bench.post(&path, request).await;
        assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
        assert_eq!(done["files"], preview["files"]);
    }

    /// Takes back the edits `made` by a job, and keeps later ones.
    async fn rolls_back_scoped(&mut self, job: &str, made: &BTreeMap<&'static str, Vec<ChangeId>>) {
        let files: Vec<&str> = made.keys().copied().collect();
        self.rolls_back(job, "scoped_selected", &files).await;
        let at_ms = self.meta().at_ms;
        for (path, changes) in made {
            self.log(path).rollback(changes, DependentsPolicy::Refuse, Origin::User, at_ms).unwrap();
        }
        self.check("a scoped rollback").await;
    }

    /// Restores files as they were before a job.
    async fn rolls_back_hard(&mut self, job: &str, before: &BTreeMap<&'static str, CheckpointId>) {
        let files: Vec<&str> = before.keys().copied().collect();
        self.rolls_back(job, "hard_all", &files).await;
        let at_ms = self.meta().at_ms;
        for (path, checkpoint) in before {
            self.log(path).rollback_to(*checkpoint, Origin::User, at_ms).unwrap();
        }
        self.check("a hard rollback").await;
    }

    fn checkpoints(&mut self) -> BTreeMap<&'static str, CheckpointId> {
        self.model.iter_mut().map(|(path, log)| (*path, log.checkpoint())).collect()
    }

    /// Returns the changes of the agent that are on, for the files that have some.
    fn made(&self) -> BTreeMap<&'static str, Vec<ChangeId>> {
        let on = |log: &LineLog| {
            let changes = log.changes().filter(|change| change.origin == Origin::Agent && change.status.is_on());
            changes.map(|change| change.id).collect::<Vec<_>>()
        };
        self.model.iter().map(|(path, log)| (*path, on(log))).filter(|(_, changes)| !changes.is_empty()).collect()
    }

    /// Goes on in a new process.
    async fn reload(&mut self) {
        let provider = self.bench.model();
        self.bench = self.bench.reload().await;
        self.bench.serve_model(provider);
        self.check("a reload").await;
    }
}

/// Returns the entries of some files.
fn only<T: Clone>(of: &BTreeMap<&'static str, T>, files: &[&str]) -> BTreeMap<&'static str, T> {
    of.iter().filter(|(path, _)| files.contains(path)).map(|(path, value)| (*path, value.clone())).collect()
}

/// Tells the whole story. Returns the number of compared steps.
async fn tell(provider: Shared<dyn Provider>) -> usize {
    let american: fn(&str) -> String = |text| text.replace("colour", "color");
    let mut story = Story::begin(provider).await;
    let before_first = story.checkpoints();
    let first = story.job("rename colour to color", american).await;
    story.decides("a.md", 0, true).await;
    story.types("a.md", "second\n", "second\nof the user\n").await;
    story.decides("b.md", 1, false).await;
    // Inside a pending hunk, and beside one.
    story.types("a.md", "A color of the sea.\n", "A color of the deep sea.\n").await;
    story.types("b.md", "six\r\n", "six\r\nbeside\r\n").await;
    story.reload().await;
    story.conflicts(&first, "c.md", american).await;
    // The withdrawal is not a step of the user.
    story.step("undo", &["b.md"]).await;
    story.step("redo", &["b.md"]).await;
    story.decides("a.md", 1, false).await;
    story.step("undo", &["a.md"]).await;
    story.reload().await;
    let applied = story.applies(&first).await;
    story.step("undo", &applied).await;
    assert_eq!(story.status(&first).await, "awaiting_review");
    story.step("redo", &applied).await;
    assert_eq!(story.status(&first).await, "completed");
    let (before_second, made) = (story.checkpoints(), story.made());
    let second = story.job("rename six to seven", |text| text.replace("six\r\n", "seven\r\n")).await;
    assert_eq!(story.applies(&second).await, ["b.md"]);
    story.types("b.md", "two\r\n", "two\r\nlate\r\n").await;
    story.reload().await;
    story.rolls_back_hard(&second, &only(&before_second, &["b.md"])).await;
    story.step("undo", &["b.md"]).await;
    story.rolls_back_scoped(&first, &only(&made, &["b.md", "c.md"])).await;
    story.step("undo", &["b.md", "c.md"]).await;
    story.rolls_back_hard(&first, &before_first).await;
    story.reload().await;
    story.step("undo", &PATHS).await;
    story.step("redo", &PATHS).await;
    for (path, text) in FILES {
        assert_eq!(story.bench.disk(path), text, "all files are as at the start");
    }
    story.n_steps
}

fn over(transport: Shared<dyn Transport>) -> Shared<dyn Provider> {
    let config = Config { api_key: "none".to_owned(), ..Config::default() };
    Shared::new(HttpProvider::new(Api::AnthropicMessages.adapter(config), transport))
}

#[test]
fn after_each_step_disk_and_buffer_are_those_of_the_line_log() {
    covers("review.apply review.undo");
    let offline: Shared<dyn Transport> = Shared::new(OfflineTransport::new(Options::default()));
    let options = RecorderOptions { clock_ms: 0, seed: 0, root: "/".to_owned(), secrets: Vec::new() };
    let recorder = Shared::new(Recorder::new(offline, options));
    let n_live = block_on(tell(over(Shared::clone(&recorder) as Shared<dyn Transport>)));
    let cassette: Cassette = recorder.cassette();
    let options = PlayerOptions { root: "/".to_owned(), secrets: Vec::new() };
    let n_played = block_on(tell(over(Shared::new(Player::new(cassette, options)))));
    assert_eq!((n_live, n_played), (32, 32));
}
