//! The state after all jobs: each one ended once, and events have neither gaps nor doubles.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fleet::Fleet;
use super::work::Work;
use super::{is_full, ledger, word};
use crate::support::Project;

/// Events of one page of all sessions, and of one page of a job. Every storm has several pages of both.
fn page_sizes() -> (usize, usize) {
    if is_full() { (500, 10) } else { (40, 5) }
}

/// Kinds of events that each job of the storm has once.
const ONCE: [&str; 6] =
    ["job.queued", "job.started", "tool.call.requested", "tool.call.completed", "message.completed", "job.completed"];

/// Reads all pages of events.
fn pages(fleet: &Fleet<'_>, path: &str, parameter: &str, number: &str, limit: usize) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let page = fleet.get(&format!("{path}?{parameter}={after}&limit={limit}"));
        let page = page["events"].as_array().unwrap();
        let Some(last) = page.last() else { return events };
        let next = last[number].as_u64().unwrap();
        assert!(next > after && page.len() <= limit, "{path} after {after}: {page:?}");
        events.extend(page.iter().cloned());
        after = next;
    }
}

fn numbers(events: &[Value], name: &str) -> Vec<u64> {
    events.iter().map(|event| event[name].as_u64().unwrap()).collect()
}

/// Checks the numbers of the events of all sessions, and each session.
pub(super) fn check_all(work: &Work<'_>, fleet: &Fleet<'_>, project: &Project) {
    let (page_of_all, page_of_job) = page_sizes();
    let events = pages(fleet, "/api/agent/events", "after", "seq", page_of_all);
    assert!(events.len() > page_of_all, "{} events are one page", events.len());
    assert_eq!(numbers(&events, "seq"), (1..=events.len() as u64).collect::<Vec<_>>(), "numbers of all sessions");
    println!("{} events of all sessions without gap or double", events.len());
    let mut by_session: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events {
        by_session.entry(event["session_id"].as_str().unwrap().to_owned()).or_default().push(event);
    }
    // A session whose creator got no answer has no jobs.
    for (id, events) in &by_session {
        assert_eq!(numbers(events, "cursor"), (1..=events.len() as u64).collect::<Vec<_>>(), "cursors of {id}");
    }
    for number in 0..work.n_sessions() {
        check_session(work, fleet, project, number, (&by_session[&work.session_id(number)], page_of_job));
    }
}

/// Checks that each job of a session ended once, and that its events have neither gaps nor doubles. `told` has the events of
/// the session as they are among those of all sessions; they are read again in pages of this size.
fn check_session(
    work: &Work<'_>,
    fleet: &Fleet<'_>,
    project: &Project,
    number: usize,
    (told, page): (&[Value], usize),
) {
    let id = work.session_id(number);
    let words: Vec<String> = (0..work.jobs_per_session()).map(|job| word(number, job)).collect();
    let ledger = project.read(&ledger(number));
    let expected: String = words.iter().map(|word| format!("{word}\n")).collect();
    let jobs = fleet.get(&format!("/api/agent/sessions/{id}/jobs"));
    let jobs = jobs["jobs"].as_array().unwrap();
    if ledger != format!("BEGIN\n{expected}END\n") {
        // The order of the attempts tells at which point one was cut off.
        jobs.iter().for_each(|job| println!("{job}"));
        told.iter().for_each(|event| println!("  {event}"));
    }
    assert_eq!(ledger, format!("BEGIN\n{expected}END\n"), "ledger of {id}");
    assert_eq!(jobs.len(), words.len(), "{id}: {jobs:?}");
    for job in jobs {
        let job_id = job["job_id"].as_str().unwrap();
        let path = format!("/api/agent/jobs/{job_id}/events");
        let events = pages(fleet, &path, "cursor", "cursor", page);
        assert!(events.len() > page, "{job_id}: {events:?}");
        let of_job: Vec<Value> = told.iter().filter(|event| event["job_id"] == job_id).cloned().collect();
        assert_eq!(numbers(&events, "seq"), numbers(&of_job, "seq"), "events of {job_id}");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        events.iter().for_each(|event| *counts.entry(event["type"].as_str().unwrap()).or_default() += 1);
        for kind in ONCE {
            assert_eq!(counts.get(kind), Some(&1), "{kind} of {job_id}: {counts:?}");
        }
        assert_eq!(events.last().unwrap()["type"], "job.completed", "{job_id}");
        assert!(!counts.contains_key("job.failed") && !counts.contains_key("job.cancelled"), "{job_id}: {counts:?}");
    }
}
