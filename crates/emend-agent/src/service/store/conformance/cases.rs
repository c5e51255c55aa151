//! Fixed cases: one function for each rule.

use serde_json::json;

use super::samples::{event, job, session};
use crate::service::records::{EventRecord, JobRecord, JobStatus, SessionStatus};
use crate::service::store::{Commit, EventScope, ServiceStore, SessionQuery};
use crate::service::time::Timestamp;

pub(super) async fn numbers_have_no_gaps(store: &dyn ServiceStore) {
    for round in 0..3_u64 {
        for id in ["a", "b"] {
            let job_id = format!("job_{id}");
            let commit = Commit {
                at: Timestamp(round),
                session: session(id, round, id),
                jobs: vec![job(&job_id, id, JobStatus::Running)],
                events: vec![event("one", Some(&job_id)), event("two", None)],
                ..Commit::default()
            };
            let done = store.commit(commit).await.unwrap();
            assert_eq!(done.session.cursor, round * 2 + 2, "cursor of {id}");
            assert_eq!(done.jobs[0].cursor, round * 2 + 1, "cursor of the job of {id}");
            assert_eq!(store.session(id).await.unwrap(), Some(done.session));
            assert_eq!(store.job(&job_id).await.unwrap().as_ref(), done.jobs.first());
        }
    }
    let scopes = [
        (EventScope::All, (1..=12).collect::<Vec<u64>>()),
        (EventScope::Session("a".to_owned()), (1..=6).collect()),
        (EventScope::Job("job_b".to_owned()), vec![1, 3, 5]),
        (EventScope::Job("none".to_owned()), vec![]),
    ];
    for (scope, expected) in scopes {
        let number = |event: &EventRecord| match scope {
            EventScope::All => event.seq,
            _ => event.cursor,
        };
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let page = store.events(&scope, after, 2).await.unwrap();
            assert!(page.events.len() <= 2, "a page has at most as many events as asked for");
            assert_eq!(page.last, expected.last().copied().unwrap_or_default(), "{scope:?}");
            assert_eq!(page.floor, 0, "{scope:?}");
            let Some(last) = page.events.last() else { break };
            after = number(last);
            found.extend(page.events.iter().map(number));
        }
        assert_eq!(found, expected, "{scope:?}");
    }
    let page = store.events(&EventScope::All, 11, 10).await.unwrap();
    let last = &page.events[0];
    assert_eq!((last.kind.as_str(), last.session_id.as_str(), last.job_id.as_deref()), ("two", "b", None));
    assert_eq!((last.data.clone(), last.ts), (json!({"kind": "two"}), Timestamp(2)));
}

pub(super) async fn pages_and_searches(store: &dyn ServiceStore) {
    for n in 0..7_u64 {
        let mut record = session(&format!("s{n}"), n / 2, &format!("Title {n}"));
        record.status = if n == 3 { SessionStatus::Archived } else { SessionStatus::Active };
        let text = if n == 5 { "Ähnlich: the 100% Quick_brown fox\n" } else { "" };
        store.commit(Commit { session: record, text: text.to_owned(), ..Commit::default() }).await.unwrap();
    }
    let ids = |found: &crate::service::store::SessionPage| -> Vec<String> {
        found.sessions.iter().map(|session| session.session_id.clone()).collect()
    };
    let mut query = SessionQuery { limit: 3, ..SessionQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = store.sessions(&query).await.unwrap();
        assert_eq!(page.total, 7);
        all.extend(ids(&page));
        if page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    assert_eq!(all, ["s6", "s4", "s5", "s2", "s3", "s0", "s1"]);
    let table = [
        ("title 3", None, vec!["s3"]),
        ("title 3", Some(SessionStatus::Active), vec![]),
        ("QUICK_BROWN", None, vec!["s5"]),
        ("quickxbrown", None, vec![]),
        ("100%", None, vec!["s5"]),
        ("ähnlich", None, vec!["s5"]),
        ("ÄHNLICH", None, vec!["s5"]),
        ("x\nsec", None, vec![]),
        ("OX\n", None, vec!["s5"]),
        ("x", None, vec!["s5"]),
        ("\"", None, vec![]),
        ("' or 1 = 1", None, vec![]),
        ("", Some(SessionStatus::Archived), vec!["s3"]),
    ];
    for (text, status, expected) in table {
        let query = SessionQuery { text: text.to_owned(), status, after: None, limit: 10 };
        let page = store.sessions(&query).await.unwrap();
        assert_eq!(ids(&page), expected, "{text}");
        assert_eq!((page.total, page.next), (expected.len() as u64, None), "{text}");
    }
}

pub(super) async fn old_events_are_dropped(store: &dyn ServiceStore) {
    let events = (0..5).map(|_| event("x", Some("j"))).chain([event("y", None)]).collect();
    let jobs = vec![job("j", "s", JobStatus::Running)];
    let first =
        Commit { session: session("s", 0, ""), jobs: jobs.clone(), events, events_per_job_max: 3, ..Commit::default() };
    store.commit(first).await.unwrap();
    for (scope, numbers) in [
        (EventScope::Job("j".to_owned()), vec![3, 4, 5]),
        (EventScope::Session("s".to_owned()), vec![3, 4, 5, 6]),
        (EventScope::All, vec![3, 4, 5, 6]),
    ] {
        let page = store.events(&scope, 0, 10).await.unwrap();
        assert_eq!(page.events.iter().map(|event| event.cursor).collect::<Vec<_>>(), numbers, "{scope:?}");
        assert_eq!((page.floor, page.last), (2, *numbers.last().unwrap()), "{scope:?}");
    }
    let purge = Commit { session: session("s", 0, ""), purged_jobs: vec!["j".to_owned()], ..Commit::default() };
    store.commit(purge).await.unwrap();
    assert_eq!(store.job("j").await.unwrap(), None);
    let page = store.events(&EventScope::Session("s".to_owned()), 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.floor, page.last), (1, 5, 6));
}

pub(super) async fn jobs_keep_their_order(store: &dyn ServiceStore) {
    for (id, session_id, status) in
        [("z", "s", JobStatus::Completed), ("m", "t", JobStatus::Running), ("a", "s", JobStatus::AwaitingReview)]
    {
        let jobs = vec![job(id, session_id, status)];
        store.commit(Commit { session: session(session_id, 0, ""), jobs, ..Commit::default() }).await.unwrap();
    }
    let ids = |jobs: Vec<JobRecord>| jobs.into_iter().map(|job| job.job_id).collect::<Vec<_>>();
    assert_eq!(ids(store.jobs("s").await.unwrap()), ["z", "a"]);
    assert_eq!(ids(store.open_jobs().await.unwrap()), ["m", "a"]);
    let done = job("m", "t", JobStatus::Failed);
    store.commit(Commit { session: session("t", 0, ""), jobs: vec![done], ..Commit::default() }).await.unwrap();
    assert_eq!(ids(store.open_jobs().await.unwrap()), ["a"]);
}

pub(super) async fn removed_sessions_are_gone(store: &dyn ServiceStore) {
    for id in ["s", "t"] {
        let commit = Commit {
            session: session(id, 0, ""),
            jobs: vec![job(&format!("j{id}"), id, JobStatus::Running)],
            events: vec![event("x", Some(&format!("j{id}")))],
            ..Commit::default()
        };
        store.commit(commit).await.unwrap();
    }
    assert!(store.remove_session("s").await.unwrap());
    assert!(!store.remove_session("s").await.unwrap());
    assert_eq!(store.session("s").await.unwrap(), None);
    assert_eq!(store.job("js").await.unwrap(), None);
    assert_eq!(store.open_jobs().await.unwrap().len(), 1);
    let page = store.events(&EventScope::All, 0, 10).await.unwrap();
    // This reader has not seen the removed session, so it misses nothing.
    assert_eq!((page.events.len(), page.floor, page.last), (1, 0, 2));
}

pub(super) async fn only_readers_of_a_removed_session_miss_events(store: &dyn ServiceStore) {
    // "s" has the events 2 and 4 of all.
    for id in ["a", "s", "a", "s", "a"] {
        let commit = Commit { session: session(id, 0, ""), events: vec![event("x", None)], ..Commit::default() };
        store.commit(commit).await.unwrap();
    }
    assert!(store.remove_session("s").await.unwrap());
    for (after, floor, n_events) in [(0, 0, 3), (1, 0, 2), (2, 4, 2), (3, 4, 1), (4, 4, 1), (5, 4, 0)] {
        let page = store.events(&EventScope::All, after, 10).await.unwrap();
        assert_eq!((page.floor, page.events.len(), page.last), (floor, n_events, 5), "after {after}");
    }
    let page = store.events(&EventScope::Session("a".to_owned()), 0, 10).await.unwrap();
    assert_eq!((page.floor, page.events.len()), (0, 3));
}
