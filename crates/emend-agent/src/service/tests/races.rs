//! Requests that run while a job ends or begins, at every point in between.

use emend_llm::Shared;
use futures::executor::block_on;
use futures::future::{FutureExt as _, join_all};
use serde_json::{Value, json};

use super::Bench;
use super::yielding::Yielding;
use crate::service::ServiceLimits;
use crate::service::api::Method;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FILES: &str = "//- a.md\nalpha\n";

/// Returns a service over a store whose operations wait.
fn yielding(limits: ServiceLimits) -> Bench {
    Bench::open(Bench::new(FILES).disk.with_store(Shared::new(Yielding::default())), limits)
}

/// Polls of the one side for each poll of the other.
const SPEEDS: [usize; 3] = [1, 4, 16];

/// Sends a request. Tasks are polled `speed` times as often as it.
async fn beside(bench: &Bench, speed: usize, method: Method, path: &str, body: Value) -> (u16, Value) {
    let mut request = Box::pin(bench.send(method, path, body));
    loop {
        if let Some(reply) = (&mut request).now_or_never() {
            return reply;
        }
        bench.work_a_little(speed).await;
    }
}

/// A request at one point of the run of a job, and the end of the job.
struct Point {
    /// Number of polls before the request.
    n_before: usize,
    status: u16,
    reply: Value,
    /// Status of the job at the end.
    end: String,
    /// All events at the end.
    events: Vec<Value>,
}

/// Runs a job, and sends a request at every point of its run.
fn at_every_point(method: Method, path: fn(&str, &str) -> String, mut check: impl FnMut(Point)) {
    SPEEDS.iter().for_each(|&speed| at_every_point_with(speed, method, path, &mut check));
}

fn at_every_point_with(speed: usize, method: Method, path: fn(&str, &str) -> String, check: &mut dyn FnMut(Point)) {
    block_on(async {
        for n_before in 0.. {
            let bench = yielding(ServiceLimits::default());
            let session = bench.session(json!({})).await;
            let job = bench.run(&session, "rename alpha to omega").await;
            bench.work_a_little(n_before).await;
            let was_over = bench.is_idle();
            let (status, reply) = beside(&bench, speed, method, &path(&session, &job), Value::Null).await;
            bench.work().await;
            let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
            let (_, told) = bench.get("/api/agent/events?limit=5000").await;
            let (end, events) =
                (state["status"].as_str().unwrap().to_owned(), told["events"].as_array().unwrap().clone());
            check(Point { n_before, status, reply, end, events });
            if was_over && n_before > 4 {
                println!("{n_before} points");
                assert!(n_before > 20, "the job takes many steps");
                return;
            }
        }
    });
}

#[test]
fn a_poll_of_a_job_never_ends_it() {
    covers("service.jobs");
    at_every_point(
        Method::Get,
        |_, job| format!("/api/agent/jobs/{job}"),
        |Point { n_before, status, reply, end, .. }| {
            assert_eq!((status, end.as_str()), (200, "awaiting_review"), "after {n_before} polls: {reply}");
        },
    );
}

#[test]
fn a_cancellation_ends_the_job_or_says_that_it_came_too_late() {
    let (mut n_cancelled, mut n_late) = (0, 0);
    at_every_point(
        Method::Post,
        |_, job| format!("/api/agent/jobs/{job}/cancel"),
        |Point { n_before, status, reply, end, .. }| {
            // The clock of the test does not wait for the end.
            let is_open = matches!(reply["status"].as_str(), Some("queued" | "running"));
            match (status, end.as_str()) {
                (200, "cancelled") => n_cancelled += 1,
                (200, "awaiting_review") if is_open => {}
                (409, "awaiting_review") => n_late += 1,
                _ => panic!("after {n_before} polls: {status} {reply}, {end}"),
            }
        },
    );
    assert!(n_cancelled > 10 && n_late > 0, "{n_cancelled} cancelled, {n_late} too late");
}

#[test]
fn events_after_the_number_of_a_snapshot_lead_to_the_present_state() {
    at_every_point(
        Method::Get,
        |session, _| format!("/api/agent/sessions/{session}"),
        |Point { n_before, status, reply, events, .. }| {
            assert_eq!(status, 200, "{reply}");
            if reply["job"]["status"] == "awaiting_review" {
                return;
            }
            let mut later = events.iter().filter(|event| event["seq"].as_u64() > reply["seq"].as_u64());
            assert!(later.any(|event| event["type"] == "diff.generated"), "after {n_before} polls: {reply}");
        },
    );
}

#[test]
fn a_session_is_deleted_or_archived_or_gets_a_job() {
    let archive = json!({ "status": "archived" });
    for (method, body) in [(Method::Delete, Value::Null), (Method::Patch, archive)] {
        for (n_before, speed) in (0..40).flat_map(|n_before| SPEEDS.map(|speed| (n_before, speed))) {
            block_on(async {
                let bench = yielding(ServiceLimits::default());
                let session = bench.session(json!({})).await;
                let run = json!({ "session_id": session, "instruction": "rename alpha to omega" });
                let mut start = Box::pin(bench.post("/api/agent/run", run));
                let mut started = None;
                for _ in 0..n_before {
                    started = started.or_else(|| (&mut start).now_or_never());
                }
                let path = format!("/api/agent/sessions/{session}");
                let mut other = Box::pin(bench.send(method, &path, body.clone()));
                let mut changed = None;
                while started.is_none() || changed.is_none() {
                    changed = changed.or_else(|| (&mut other).now_or_never());
                    for _ in 0..speed {
                        started = started.or_else(|| (&mut start).now_or_never());
                    }
                }
                let (changed, started) = (changed.unwrap().0, started.unwrap().0);
                let is_one = matches!((changed, started), (200, 404 | 409) | (409, 202));
                assert!(is_one, "{method:?} {changed}, start {started}, after {n_before} polls");
            });
        }
    }
}

#[test]
fn the_limit_on_sessions_holds_for_requests_at_the_same_time() {
    block_on(async {
        let bench = yielding(ServiceLimits { max_sessions: 3, ..ServiceLimits::default() });
        let replies = join_all((0..12).map(|_| bench.post("/api/agent/sessions", json!({})))).await;
        let made = replies.iter().filter(|(status, _)| *status == 201).count();
        assert_eq!(made, 3, "{replies:?}");
    });
}
