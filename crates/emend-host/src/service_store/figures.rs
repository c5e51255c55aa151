//! Figures of the store. Bounds are wide, because other work shares the machine; the figures are printed.

use std::time::{Duration, Instant};

use emend_agent::service::store::{Commit, EventScope, NewEvent, SessionQuery};
use emend_agent::service::{JobRecord, JobStatus, ServiceStore as _, SessionRecord, Timestamp};
use futures::executor::block_on;
use serde_json::json;
use tempfile::TempDir;

use super::SqliteServiceStore;

const SESSIONS: u64 = 2_000;
const EVENTS: usize = 100_000;
const EVENTS_PER_COMMIT: usize = 500;

/// Calls `run` and prints the median and the 95th percentile. Returns the latter.
fn time(what: &str, n: u64, mut run: impl FnMut(u64)) -> Duration {
    let mut times: Vec<Duration> = (0..n)
        .map(|n| {
            let begun = Instant::now();
            run(n);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let (p50, p95) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    println!("{what}: p50 {p50:.1?}, p95 {p95:.1?}");
    p95
}

fn commit(id: u64, n_events: usize) -> Commit {
    let (session_id, job_id) = (format!("session-{id:036}"), format!("job-{id}"));
    let job = JobRecord {
        job_id: job_id.clone(),
        session_id: session_id.clone(),
        status: JobStatus::Running,
        ..JobRecord::default()
    };
    let data = json!({ "tool": "edit_file", "arguments": { "path": "src/lib.rs", "text": "x".repeat(100) } });
    let event = NewEvent { kind: "tool.call.completed".to_owned(), job_id: Some(job_id), data };
    Commit {
        at: Timestamp(id),
        session: SessionRecord {
            session_id,
            title: format!("Rename the function {id}"),
            updated_at: Timestamp(id),
            ..SessionRecord::default()
        },
        jobs: vec![job],
        events: vec![event; n_events],
        text: format!("Rename the function number {id} in all files, and test it.\n"),
        ..Commit::default()
    }
}

/// Returns the memory of this process in MiB, where the system tells it.
fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1_024
}

#[test]
fn large_stores_answer_at_once() {
    let around = TempDir::new().unwrap();
    let path = around.path().join("emend.db");
    let store = SqliteServiceStore::open(&path).unwrap();
    let wide = Duration::from_secs(2);
    // The store is filled without waiting for the disk.
    let wait = |name: &'static str| {
        block_on(store.write(move |connection| Ok(connection.pragma_update(None, "synchronous", name)?))).unwrap();
    };
    wait("off");
    time("commit of 2 events without fsync", SESSIONS, |n| drop(block_on(store.commit(commit(n, 2))).unwrap()));
    let n_commits = (EVENTS / EVENTS_PER_COMMIT) as u64;
    time("commit of 500 events without fsync", n_commits, |_| {
        drop(block_on(store.commit(commit(7, EVENTS_PER_COMMIT))).unwrap());
    });
    wait("full");
    assert!(time("commit of 2 events", 50, |_| drop(block_on(store.commit(commit(8, 2))).unwrap())) < wide);
    let before = memory_mib();
    let mut query = SessionQuery { limit: 50, ..SessionQuery::default() };
    let p95 = time("page of 50 from 2,000 sessions", SESSIONS / 50, |_| {
        let page = block_on(store.sessions(&query)).unwrap();
        assert_eq!((page.sessions.len(), page.total), (50, SESSIONS));
        query.after = page.next;
    });
    assert!(p95 < wide && query.after.is_none(), "{p95:?}");
    let all = SessionQuery { limit: 2_000, ..SessionQuery::default() };
    time("all 2,000 sessions", 20, |_| assert_eq!(block_on(store.sessions(&all)).unwrap().sessions.len(), 2_000));
    for (text, total) in [("NUMBER 1234 in", 1), ("function number 77", 11), ("zz", 0)] {
        let query = SessionQuery { text: text.to_owned(), limit: 50, ..SessionQuery::default() };
        let p95 = time(&format!("search for {text:?}"), 20, |_| {
            assert_eq!(block_on(store.sessions(&query)).unwrap().total, total, "{text}");
        });
        assert!(p95 < wide, "{p95:?}");
    }
    for scope in [EventScope::All, EventScope::Job("job-7".to_owned())] {
        let p95 = time(&format!("page of 500 from 100,000 events, {scope:?}"), 100, |n| {
            let after = 4_500 + n * 900;
            assert_eq!(block_on(store.events(&scope, after, 500)).unwrap().events.len(), 500);
        });
        assert!(p95 < wide, "{p95:?}");
    }
    let size_mib = std::fs::metadata(&path).unwrap().len() >> 20;
    println!("file {size_mib} MiB; memory {before} MiB before the reads, {} MiB after", memory_mib());
}
