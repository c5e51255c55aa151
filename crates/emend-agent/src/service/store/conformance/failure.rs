//! Commits that a store refuses, and the whole content of a store for comparisons.

use super::samples::{event, job, session};
use crate::service::records::{EventRecord, JobRecord, JobStatus, SessionRecord};
use crate::service::store::{Commit, EventScope, ServiceStore, SessionQuery};
use crate::store::StoreError;

/// The content of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreDump {
    /// Sessions, as a query without conditions returns them.
    pub sessions: Vec<SessionRecord>,
    /// Jobs of each session.
    pub jobs: Vec<Vec<JobRecord>>,
    /// Open jobs.
    pub open_jobs: Vec<JobRecord>,
    /// Events of the whole store.
    pub events: Vec<EventRecord>,
    /// Floor and last number of the whole store.
    pub range: (u64, u64),
    /// Number and range of the events of each session.
    pub ranges: Vec<(usize, u64, u64)>,
}

/// Reads a whole store.
///
/// # Errors
///
/// The store cannot be read.
pub async fn dump(store: &dyn ServiceStore) -> Result<StoreDump, StoreError> {
    let query = SessionQuery { limit: usize::MAX, ..SessionQuery::default() };
    let sessions = store.sessions(&query).await?.sessions;
    let all = store.events(&EventScope::All, 0, usize::MAX).await?;
    let mut dump = StoreDump {
        open_jobs: store.open_jobs().await?,
        events: all.events,
        range: (all.floor, all.last),
        ..StoreDump::default()
    };
    for session in &sessions {
        dump.jobs.push(store.jobs(&session.session_id).await?);
        let page = store.events(&EventScope::Session(session.session_id.clone()), 0, usize::MAX).await?;
        dump.ranges.push((page.events.len(), page.floor, page.last));
    }
    dump.sessions = sessions;
    Ok(dump)
}

fn commit(title: &str, kinds: &[&str]) -> Commit {
    Commit {
        session: session("s", 1, title),
        jobs: vec![job("j", "s", JobStatus::Running)],
        events: kinds.iter().map(|kind| event(kind, Some("j"))).collect(),
        text: format!("text of {title}"),
        ..Commit::default()
    }
}

/// Checks that a refused commit stores nothing. The store must refuse each commit that has an event of the type
/// `fault`, and no other.
///
/// # Panics
///
/// Panics if a refused commit has left anything behind.
pub async fn check_failure(store: &dyn ServiceStore) {
    store.commit(commit("first", &["a", "b"])).await.unwrap();
    store.commit(Commit { session: session("t", 2, ""), ..Commit::default() }).await.unwrap();
    let before = dump(store).await.unwrap();
    let tries = [
        Commit { jobs: vec![job("k", "s", JobStatus::Queued)], ..commit("second", &["c", "fault"]) },
        Commit { purged_jobs: vec!["j".to_owned()], ..commit("second", &["fault", "c"]) },
        Commit { events_per_job_max: 1, ..commit("second", &["c", "d", "fault"]) },
        Commit { session: session("u", 3, "second"), jobs: vec![], ..commit("", &["fault"]) },
    ];
    for refused in tries {
        let shown = format!("{refused:?}");
        let error = store.commit(refused).await.unwrap_err();
        assert_eq!(error.code().as_str(), "io_error", "{shown}");
        assert_eq!(dump(store).await.unwrap(), before, "{shown}");
        for text in ["second", "text of second"] {
            let query = SessionQuery { text: text.to_owned(), limit: 9, ..SessionQuery::default() };
            assert_eq!(store.sessions(&query).await.unwrap().total, 0, "{shown}");
        }
    }
    let done = store.commit(commit("third", &["e"])).await.unwrap();
    assert_eq!((done.events[0].cursor, done.events[0].seq), (3, 3), "no number is lost");
}
