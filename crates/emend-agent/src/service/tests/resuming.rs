//! Jobs whose process ends before them, and the requests between servers about jobs.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::{Method, ServiceLimits};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(super) const FILES: &str = "//- a.md\nalpha one\n//- b.md\nalpha two\n";

/// Returns the status of a job.
pub(super) async fn status(bench: &Bench, job: &str) -> String {
    let (_, state) = bench.get(&format!("/api/agent/jobs/{job}")).await;
    state["status"].as_str().unwrap().to_owned()
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
