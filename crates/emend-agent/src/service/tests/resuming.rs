//! Jobs whose process is killed at every poll: the next process goes on, and nothing happens twice.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::{Method, ServiceLimits};
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\nalpha one\n//- b.md\nalpha two\n";

/// Events that a second process may emit again: parts of a message, and views of a state.
const MAY_REPEAT: [&str; 6] =
    ["message.started", "message.delta", "reasoning.started", "reasoning.delta", "review.updated", "job.resumed"];

/// Returns the types of the events that must happen once each, in order.
async fn once(bench: &Bench, job: &str) -> Vec<String> {
    let mut kinds = bench.kinds(job).await;
    kinds.retain(|kind| !MAY_REPEAT.contains(&kind.as_str()));
    kinds
}

async fn status(bench: &Bench, job: &str) -> String {
    let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
    state["status"].as_str().unwrap().to_owned()
}

/// Runs a job that is killed after `n_polls` polls, again after `n_more`, and then to its end. Returns the last service,
/// the job, and whether a kill hit it.
async fn killed(mode: &str, n_polls: usize, n_more: usize) -> (Bench, String, bool) {
    let mut bench = Bench::recording(FILES);
    let session = bench.session(json!({ "mode": mode })).await;
    let job = bench.run(&session, "rename alpha to omega").await;
    let mut was_hit = false;
    for n in [n_polls, n_more] {
        bench.work_a_little(n).await;
        was_hit |= status(&bench, &job).await == "running";
        bench.kill();
        bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
        bench.service.recover().await.unwrap();
    }
    bench.work().await;
    (bench, job, was_hit)
}

#[test]
fn a_job_killed_at_any_poll_goes_on_without_doubles() {
    covers("service.resumed");
    block_on(async {
        for (mode, end) in [("direct", "completed"), ("review", "awaiting_review")] {
            let (bench, job, _) = killed(mode, 100_000, 0).await;
            assert_eq!(status(&bench, &job).await, end);
            let expected = once(&bench, &job).await;
            assert!(expected.iter().filter(|kind| *kind == "tool.call.completed").count() >= 4, "{expected:?}");
            let mut n_hits = 0;
            for n_polls in 0.. {
                let (bench, job, was_hit) = killed(mode, n_polls, n_polls % 7).await;
                let at = format!("{mode}, killed after {n_polls} polls");
                assert_eq!(status(&bench, &job).await, end, "{at}");
                assert_eq!(once(&bench, &job).await, expected, "{at}");
                let texts = |bench: &Bench| (bench.disk("a.md"), bench.disk("b.md"));
                if mode == "review" {
                    assert_eq!(texts(&bench), ("alpha one\n".to_owned(), "alpha two\n".to_owned()), "{at}");
                    let (_, review) = bench.get("/api/agent/review").await;
                    let ids: Vec<Value> = review["files"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .flat_map(|file| file["hunks"].as_array().unwrap())
                        .map(|hunk| hunk["hunk_id"].clone())
                        .collect();
                    assert_eq!(ids.len(), 2, "{at}: {review}");
                    let body = json!({ "decision": "accept", "hunk_ids": ids });
                    let (status, reply) = bench.post("/api/agent/decisions", body).await;
                    assert_eq!(status, 200, "{at}: {reply}");
                }
                assert_eq!(texts(&bench), ("omega one\n".to_owned(), "omega two\n".to_owned()), "{at}");
                n_hits += usize::from(was_hit);
                if !was_hit && n_polls > 4 {
                    break;
                }
            }
            assert!(n_hits > 10, "{mode}: {n_hits} kills during the job");
        }
    });
}

#[test]
fn a_job_without_recorded_steps_fails_at_the_next_start() {
    block_on(async {
        let bench = Bench::new(FILES);
        let session = bench.session(json!({})).await;
        let job = bench.run(&session, "rename alpha to omega").await;
        bench.work_a_little(3).await;
        bench.kill();
        let bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
        bench.service.recover().await.unwrap();
        assert_eq!(status(&bench, &job).await, "failed");
    });
}

#[test]
fn replies_do_not_show_the_requests_for_the_server_that_runs_a_job() {
    block_on(async {
        let bench = Bench::recording(FILES);
        let session = bench.session(json!({})).await;
        let job = bench.run(&session, "rename alpha to omega").await;
        for path in [format!("/api/agent/jobs/{job}"), format!("/api/agent/sessions/{session}/jobs")] {
            let (status, body) = bench.send(Method::Get, &path, Value::Null).await;
            assert_eq!((status, body.to_string().contains("control")), (200, false), "{path}: {body}");
        }
        let (_, snapshot) = bench.get(&format!("/api/agent/sessions/{session}")).await;
        assert!(!snapshot.to_string().contains("control"), "{snapshot}");
    });
}
