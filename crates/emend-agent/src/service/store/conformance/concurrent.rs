//! Several writers and readers of one store.

use emend_llm::Shared;
use futures::future::{join, join_all};
use serde_json::json;

use super::samples::{Dice, job, pause, session};
use crate::service::records::{EventRecord, JobStatus};
use crate::service::store::{Commit, EventScope, NewEvent, ServiceStore};

const WRITERS: usize = 6;
const COMMITS: usize = 20;

/// Session of most writers.
const SHARED: &str = "shared";

/// Limit of a page for readers; smaller than the events of some commits.
const PAGE: usize = 3;

fn session_of(writer: usize) -> String {
    if writer.is_multiple_of(3) { format!("own{writer}") } else { SHARED.to_owned() }
}

/// Commits events of a writer, and returns them as stored.
async fn write(store: &dyn ServiceStore, writer: usize) -> Vec<EventRecord> {
    let mut dice = Dice::new(writer as u64);
    let (id, job_id) = (session_of(writer), format!("job{writer}"));
    let mut stored = Vec::new();
    for n in 0..COMMITS {
        let events = (0..1 + dice.below(5))
            .map(|part| NewEvent { kind: "x".to_owned(), job_id: Some(job_id.clone()), data: json!([writer, n, part]) })
            .collect();
        let commit = Commit {
            session: session(&id, n as u64, ""),
            jobs: vec![job(&job_id, &id, JobStatus::Running)],
            events,
            text: format!("text {n} of writer {writer}"),
            ..Commit::default()
        };
        let done = store.commit(commit).await.unwrap();
        let last = done.events.last().unwrap().cursor;
        assert_eq!((done.session.cursor, done.jobs[0].cursor), (last, last));
        let kept = store.session(&id).await.unwrap().unwrap();
        assert!(kept.cursor >= last, "a writer reads its own commit");
        stored.extend(done.events);
        for _ in 0..dice.below(4) {
            pause().await;
        }
    }
    stored
}

/// Follows a scope until the event after which `is_over` returns true.
async fn follow(
    store: &dyn ServiceStore,
    scope: EventScope,
    is_over: impl Fn(&[EventRecord]) -> bool,
) -> Vec<EventRecord> {
    let (mut found, mut after): (Vec<EventRecord>, u64) = (Vec::new(), 0);
    while !is_over(&found) {
        let page = store.events(&scope, after, PAGE).await.unwrap();
        assert!(page.last >= after && page.floor == 0, "{scope:?}: {page:?}");
        let Some(last) = page.events.last() else {
            pause().await;
            continue;
        };
        after = if scope == EventScope::All { last.seq } else { last.cursor };
        found.extend(page.events);
    }
    found
}

/// Returns whether the last events of some writers have come.
fn has_ends(found: &[EventRecord], n_writers: usize) -> bool {
    let is_last = |event: &&EventRecord| event.data[1] == COMMITS - 1 && event.data[2] == 0;
    found.iter().filter(is_last).count() == n_writers
}

/// Checks one empty store through several handles, which may be connections of different processes.
///
/// # Panics
///
/// Panics if a number is missing or given twice, or if a reader misses an event or gets it twice.
pub async fn check_shared<S: ServiceStore>(handles: &[Shared<S>]) {
    let handle = |n: usize| &*handles[n % handles.len()];
    let n_shared = (0..WRITERS).filter(|writer| session_of(*writer) == SHARED).count();
    let scopes = [
        (EventScope::All, WRITERS),
        (EventScope::All, WRITERS),
        (EventScope::Session(SHARED.to_owned()), n_shared),
        (EventScope::Session("own0".to_owned()), 1),
        (EventScope::Job("job1".to_owned()), 1),
    ];
    let writers = join_all((0..WRITERS).map(|writer| write(handle(writer), writer)));
    let readers = join_all(
        scopes
            .iter()
            .enumerate()
            .map(|(n, (scope, n_writers))| follow(handle(n), scope.clone(), move |found| has_ends(found, *n_writers))),
    );
    let (written, read) = join(writers, readers).await;
    for (writer, events) in written.iter().enumerate() {
        let order: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert!(order.is_sorted_by(|a, b| a < b), "the events of writer {writer} keep their order: {order:?}");
    }
    let mut all: Vec<EventRecord> = written.into_iter().flatten().collect();
    all.sort_by_key(|event| event.seq);
    let numbers: Vec<u64> = all.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>(), "numbers of the store");
    for id in ["own0", "own3", SHARED] {
        let cursors: Vec<u64> = all.iter().filter(|event| event.session_id == id).map(|event| event.cursor).collect();
        assert_eq!(cursors, (1..=cursors.len() as u64).collect::<Vec<_>>(), "numbers of {id}");
    }
    for ((scope, _), found) in scopes.iter().zip(read) {
        let is_wanted = |event: &&EventRecord| match scope {
            EventScope::All => true,
            EventScope::Session(id) => event.session_id == *id,
            EventScope::Job(id) => event.job_id.as_ref() == Some(id),
        };
        // A reader stops in the last commit of the last writer, not after it.
        let expected: Vec<&EventRecord> = all.iter().filter(is_wanted).take(found.len()).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{scope:?}");
    }
}
