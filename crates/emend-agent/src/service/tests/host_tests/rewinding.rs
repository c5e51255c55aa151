//! A rewind, its undo or a rollback whose process is killed: the next process completes it, or tells how it ended.

use futures::FutureExt as _;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::super::Bench;
use crate::test_support::covers;

const NOTES: &str = "//- notes.md\nThe colour of the sky.\nSecond line.\n";

/// Kills a process at each poll of a request, and compares the state that the next one finds.
#[test]
fn a_rewind_killed_at_any_poll_is_made_in_both_parts_or_in_none() {
    covers("service.checkpoints");
    block_on(async {
        for is_undo in [false, true] {
            let (mut n_none, mut n_both) = (0, 0);
            for n_polls in 0..30 {
                let bench = Bench::recording(NOTES);
                let session = bench.session(json!({ "mode": "direct" })).await;
                let job = bench.run(&session, "rename colour to color in notes.md").await;
                bench.work().await;
                let path = format!("/api/agent/sessions/{session}");
                let rewind = json!({ "job_id": job, "files": true });
                if is_undo {
                    assert_eq!(bench.post(&format!("{path}/rewind"), rewind.clone()).await.0, 200);
                }
                let (path_of, body) = match is_undo {
                    true => (format!("{path}/rewind/undo"), Value::Null),
                    false => (format!("{path}/rewind"), rewind),
                };
                {
                    let mut request = Box::pin(bench.post(&path_of, body));
                    for _ in 0..n_polls {
                        if request.as_mut().now_or_never().is_some() {
                            break;
                        }
                    }
                }
                let next = bench.reload().await;
                next.work().await;
                let (_, state) = next.get(&path).await;
                let is_rewound = state["chat"] == json!([]);
                let has_files = next.disk("notes.md").contains("colour");
                assert_eq!(is_rewound, has_files, "undo: {is_undo}, killed after {n_polls} polls: {state}");
                assert_eq!(
                    is_rewound,
                    state["rewound"] != Value::Null,
                    "undo: {is_undo}, after {n_polls} polls: {state}"
                );
                assert_eq!(state["rewinding"], Value::Null);
                if is_rewound == is_undo { n_none += 1 } else { n_both += 1 }
            }
            assert!(n_none > 0 && n_both > 0, "undo: {is_undo}: {n_none} without effect, {n_both} made");
        }
    });
}

/// Kills a process at each poll of a rollback: the next one tells whether it took place.
#[test]
fn a_rollback_killed_at_any_poll_is_told_as_made_or_as_failed() {
    covers("service.checkpoints");
    block_on(async {
        let (mut n_failed, mut n_completed) = (0, 0);
        for n_polls in 0..30 {
            let bench = Bench::recording(NOTES);
            let session = bench.session(json!({ "mode": "direct" })).await;
            let job = bench.run(&session, "rename colour to color in notes.md").await;
            bench.work().await;
            let path = format!("/api/agent/checkpoints/{}/rollback", job.replace("job_", "cp_"));
            let mut is_done = false;
            {
                let mut request = Box::pin(bench.post(&path, json!({ "mode": "hard_all", "save": true })));
                for _ in 0..n_polls {
                    is_done = request.as_mut().now_or_never().is_some();
                    if is_done {
                        break;
                    }
                }
            }
            let next = bench.reload().await;
            next.work().await;
            let (_, events) = next.get("/api/agent/events?limit=5000").await;
            let events = events["events"].as_array().unwrap().clone();
            let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
            let of = |kind: &str| kinds.iter().filter(|known| **known == format!("checkpoint.rollback.{kind}")).count();
            let (started, completed, failed) = (of("started"), of("completed"), of("failed"));
            assert_eq!(started, completed + failed, "killed after {n_polls} polls: {kinds:?}");
            let is_back = next.disk("notes.md").contains("colour");
            assert_eq!(is_back, completed > 0, "killed after {n_polls} polls: {kinds:?}");
            let (_, state) = next.get(&format!("/api/agent/sessions/{session}")).await;
            assert_eq!(state.get("rolling_back"), None);
            n_failed += failed;
            n_completed += usize::from(completed > 0 && !is_done);
        }
        assert!(n_failed > 0 && n_completed > 0, "{n_failed} failed, {n_completed} completed after the kill");
    });
}
