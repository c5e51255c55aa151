//! Line logs on the disk before the commits that refer to them.
//!
//! Pending edits and rejected hunks change no file, so the workspace alone would save them with the next write to the
//! disk. After a crash, a job would await the review of hunks that no longer exist.

use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};

use super::{Commit, Committed, EventPage, EventScope, ServiceStore, SessionPage, SessionQuery};
use crate::service::records::{JobRecord, SessionRecord};
use crate::store::StoreError;

/// Saves the line logs of a workspace before a commit, for example by
/// [`Workspace::persist`](crate::workspace::Workspace::persist).
pub trait SaveLineLogs: MaybeSend + MaybeSync {
    /// Saves the line logs, unless they are saved as they are.
    ///
    /// # Errors
    ///
    /// They could not be saved. The commit is not carried out then.
    fn save(&self, commit: &Commit) -> Result<(), StoreError>;
}

impl<F: Fn(&Commit) -> Result<(), StoreError> + MaybeSend + MaybeSync> SaveLineLogs for F {
    fn save(&self, commit: &Commit) -> Result<(), StoreError> {
        self(commit)
    }
}

/// A store that saves the line logs of a workspace before each commit.
pub struct LineLogStore<S> {
    store: Shared<dyn ServiceStore>,
    saver: S,
}

impl<S: SaveLineLogs> LineLogStore<S> {
    /// Returns `store` with `saver`, which is called before each commit.
    #[must_use]
    pub fn new(store: Shared<dyn ServiceStore>, saver: S) -> Self {
        Self { store, saver }
    }
}

impl<S: SaveLineLogs> ServiceStore for LineLogStore<S> {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            self.saver.save(&commit)?;
            self.store.commit(commit).await
        })
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.store.session(id)
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        self.store.sessions(query)
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.remove_session(id)
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        self.store.job(id)
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        self.store.jobs(session_id)
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        self.store.open_jobs()
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        self.store.jobs_of_runs(runs)
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        self.store.events(scope, after, limit)
    }
}
