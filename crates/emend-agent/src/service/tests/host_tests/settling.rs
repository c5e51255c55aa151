//! Requests whose process is killed at every poll: files, states and events agree after the next start, and nothing
//! happens twice.
//!
//! A module for browsers has no code to record steps, so these tests run natively.

use std::pin::pin;

use futures::FutureExt as _;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::super::Bench;
use crate::service::{ApiRequest, Method, ServiceLimits};
use crate::test_support::covers;

const FILES: &str = "//- a.md\nalpha one\n//- b.md\nalpha two\n";
const RENAME: &str = "rename alpha to omega";

/// A job in review, with one hunk in each file.
struct World {
    bench: Bench,
    session: String,
    job: String,
}

impl World {
    async fn new() -> Self {
        let bench = Bench::recording(FILES);
        let session = bench.session(json!({})).await;
        let job = bench.run(&session, RENAME).await;
        bench.work().await;
        Self { bench, session, job }
    }

    /// Sends a request and kills the process after a number of polls. Returns the reply, if it came before.
    async fn killed(&mut self, path: &str, body: &Value, n_polls: usize) -> Option<(u16, Value)> {
        let reply = {
            let request = ApiRequest::new(Method::Post, path, body.clone());
            let mut handling = pin!(self.bench.service.handle(request));
            (0..n_polls).find_map(|_| (&mut handling).now_or_never())
        };
        self.bench.kill();
        self.bench = self.bench.reload().await;
        reply.map(|reply| (reply.status, reply.body))
    }

    async fn state(&self) -> Value {
        self.bench.get(&format!("/api/agent/jobs/{}", self.job)).await.1
    }

    /// Returns the pending hunks of the job, by file.
    async fn hunks(&self) -> Vec<String> {
        let (_, review) = self.bench.get(&format!("/api/agent/review?job_id={}", self.job)).await;
        let hunks = review["files"].as_array().unwrap().iter().flat_map(|file| file["hunks"].as_array().unwrap());
        hunks.map(|hunk| hunk["hunk_id"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns a request that accepts the hunk of `a.md` and rejects that of `b.md`.
    async fn application(&self) -> Value {
        let hunks = self.hunks().await;
        assert_eq!(hunks.len(), 2, "{hunks:?}");
        json!({ "session_id": self.session, "job_id": self.job, "accepted_hunk_ids": [hunks[0]] })
    }

    fn texts(&self) -> (String, String) {
        (self.bench.disk("a.md"), self.bench.disk("b.md"))
    }

    /// Returns how often an event of the job happened.
    async fn count(&self, kind: &str) -> usize {
        self.bench.kinds(&self.job).await.iter().filter(|found| *found == kind).count()
    }

    /// Returns the files of each application that the events tell.
    async fn applications(&self) -> Vec<Value> {
        let (_, events) = self.bench.get(&format!("/api/agent/jobs/{}/events?limit=5000", self.job)).await;
        let events = events["events"].as_array().unwrap().iter();
        let completed = events.filter(|event| event["type"] == "apply.completed");
        completed.map(|event| event["data"]["applied_files"].clone()).collect()
    }
}

fn texts(a: &str, b: &str) -> (String, String) {
    (format!("{a} one\n"), format!("{b} two\n"))
}

#[test]
fn an_application_killed_at_any_poll_is_told_once_or_has_no_effect() {
    covers("service.resumed");
    block_on(async {
        let world = World::new().await;
        let (status, reply) = world.bench.post("/api/agent/apply", world.application().await).await;
        assert_eq!((status, &reply["status"]), (200, &json!("completed")), "{reply}");
        assert_eq!(world.applications().await, [reply["applied_files"].clone()]);
        let (mut n_told, mut n_without_effect) = (0, 0);
        for n_polls in 0.. {
            let mut world = World::new().await;
            let request = world.application().await;
            let answer = world.killed("/api/agent/apply", &request, n_polls).await;
            let at = format!("killed after {n_polls} polls");
            let is_done = world.state().await["status"] == "completed";
            if is_done {
                n_told += usize::from(answer.is_none());
                assert_eq!(world.bench.post("/api/agent/apply", request.clone()).await.0, 409, "{at}");
            } else {
                n_without_effect += 1;
                assert_eq!((world.texts(), world.hunks().await.len()), (texts("alpha", "alpha"), 2), "{at}");
                assert_eq!(world.applications().await, [] as [Value; 0], "{at}");
                let (status, again) = world.bench.post("/api/agent/apply", request.clone()).await;
                assert_eq!(status, 200, "{at}: {again}");
            }
            assert_eq!(world.texts(), texts("omega", "alpha"), "{at}");
            assert_eq!(world.applications().await, [reply["applied_files"].clone()], "{at}");
            assert_eq!(world.count("job.completed").await, 1, "{at}");
            assert_eq!(world.state().await["status"], "completed", "{at}");
            if answer.is_some() {
                break;
            }
        }
        assert!(n_told > 0 && n_without_effect > 0, "{n_told} told, {n_without_effect} without effect");
    });
}

#[test]
fn a_decision_or_an_undo_killed_at_any_poll_leaves_the_job_in_the_state_of_its_edits() {
    block_on(async {
        let accept = json!({ "decision": "accept", "all": true });
        let table: [(&str, &Value, &[&str]); 3] = [
            ("/api/agent/decisions", &accept, &[]),
            ("/api/agent/undo", &Value::Null, &["/api/agent/decisions"]),
            ("/api/agent/redo", &Value::Null, &["/api/agent/decisions", "/api/agent/undo"]),
        ];
        for (path, body, before) in table {
            let mut statuses = Vec::new();
            for n_polls in 0.. {
                let mut world = World::new().await;
                for step in before {
                    let body = if *step == "/api/agent/decisions" { accept.clone() } else { Value::Null };
                    assert_eq!(world.bench.post(step, body).await.0, 200);
                }
                let answer = world.killed(path, body, n_polls).await;
                let at = format!("{path}, killed after {n_polls} polls");
                let status = world.state().await["status"].as_str().unwrap().to_owned();
                let is_pending = !world.hunks().await.is_empty();
                assert_eq!(status, if is_pending { "awaiting_review" } else { "completed" }, "{at}");
                let name = if is_pending { "alpha" } else { "omega" };
                assert_eq!(world.texts(), texts(name, name), "{at}");
                let n_completed = world.count("job.completed").await;
                assert!(n_completed <= 1, "{at}: {n_completed} terminal events");
                let n_ends = n_completed + world.count("job.settled").await - world.count("job.reopened").await;
                assert_eq!(n_ends, usize::from(!is_pending), "{at}");
                statuses.push(status);
                if answer.is_some() {
                    break;
                }
            }
            statuses.dedup();
            assert_eq!(statuses.len(), 2, "{path}: {statuses:?}");
        }
    });
}

#[test]
fn a_conflict_killed_at_any_poll_loses_no_proposal() {
    block_on(async {
        let mut n_continued = 0;
        for n_polls in 0.. {
            let mut world = World::new().await;
            let request = world.application().await;
            world.bench.disk.files.insert("a.md", "alpha one\nalpha three\n").unwrap();
            let answer = world.killed("/api/agent/apply", &request, n_polls).await;
            let at = format!("killed after {n_polls} polls");
            world.bench.work().await;
            let n_reruns = world.count("rerun.started").await;
            assert_eq!(n_reruns, world.count("conflict.detected").await, "{at}");
            assert_eq!(world.state().await["status"], "awaiting_review", "{at}");
            assert_eq!(world.hunks().await.len(), 2, "{at}");
            assert_eq!(world.bench.disk("a.md"), "alpha one\nalpha three\n", "{at}");
            if answer.is_some() {
                break;
            }
            n_continued += n_reruns;
        }
        assert!(n_continued > 0);
    });
}

#[test]
fn a_queued_instruction_runs_once_wherever_the_process_is_killed() {
    covers("service.resumed");
    block_on(async {
        let mut n_hits = 0;
        for n_polls in 0.. {
            let bench = Bench::recording(FILES);
            let session = bench.session(json!({ "mode": "direct" })).await;
            bench.run(&session, RENAME).await;
            let queue = format!("/api/agent/sessions/{session}/follow_ups");
            assert_eq!(bench.post(&queue, json!({ "text": "count the words of a.md" })).await.0, 201);
            bench.work_a_little(n_polls).await;
            let (_, jobs) = bench.get(&format!("/api/agent/sessions/{session}/jobs")).await;
            let is_over = jobs["jobs"].as_array().unwrap().len() == 2;
            bench.kill();
            let bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
            bench.service.recover().await.unwrap();
            bench.work().await;
            let at = format!("killed after {n_polls} polls");
            let (_, jobs) = bench.get(&format!("/api/agent/sessions/{session}/jobs")).await;
            let jobs: Vec<(&str, &str)> = jobs["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|job| (job["instruction"].as_str().unwrap(), job["status"].as_str().unwrap()))
                .collect();
            assert_eq!(jobs, [(RENAME, "completed"), ("count the words of a.md", "completed")], "{at}");
            assert_eq!(bench.get(&queue).await.1["follow_ups"], json!([]), "{at}");
            if is_over {
                break;
            }
            n_hits += 1;
        }
        assert!(n_hits > 10, "{n_hits} kills before the second job");
    });
}

#[test]
fn comments_are_marked_as_sent_with_the_job_that_gets_them() {
    block_on(async {
        let mut outcomes = Vec::new();
        for n_polls in 0.. {
            let mut world = World::new().await;
            let path = format!("/api/agent/sessions/{}/comments", world.session);
            let comment = json!({ "file_path": "a.md", "start_line": 1, "end_line": 1, "text": "Why?" });
            assert_eq!(world.bench.post(&path, comment).await.0, 201);
            let answer = world.killed(&format!("{path}/send"), &Value::Null, n_polls).await;
            let unsent = world.bench.get(&path).await.1["unsent"].as_u64().unwrap();
            let (_, jobs) = world.bench.get(&format!("/api/agent/sessions/{}/jobs", world.session)).await;
            let n_jobs = jobs["jobs"].as_array().unwrap().len() as u64;
            assert_eq!(unsent + n_jobs, 2, "killed after {n_polls} polls: {unsent} unsent, {n_jobs} jobs");
            outcomes.push(n_jobs);
            if answer.is_some() {
                break;
            }
        }
        outcomes.dedup();
        assert_eq!(outcomes, [1, 2]);
    });
}
