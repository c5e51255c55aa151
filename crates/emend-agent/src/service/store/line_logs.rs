//! Line logs on the disk before the commits that refer to them.
//!
//! Pending edits and rejected hunks change no file, so the workspace alone would save them with the next write to the
//! disk. After a crash, a job would await the review of hunks that no longer exist.

use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Shared};

use super::{Commit, Committed, EventPage, EventScope, ServiceStore, SessionPage, SessionQuery};
use crate::service::records::{JobRecord, SessionRecord};
use crate::store::StoreError;
use crate::workspace::{SaveSnapshot, Workspace};

/// A store that saves the line logs of a workspace before each commit, if they have changed.
pub struct LineLogStore {
    store: Shared<dyn ServiceStore>,
    workspace: Shared<Workspace>,
    saver: Shared<dyn SaveSnapshot>,
    /// Revision of the workspace as it was saved last.
    saved: Mutex<u64>,
}

impl LineLogStore {
    /// Returns `store` for a workspace whose present line logs are saved.
    #[must_use]
    pub fn new(store: Shared<dyn ServiceStore>, workspace: Shared<Workspace>, saver: Shared<dyn SaveSnapshot>) -> Self {
        let saved = Mutex::new(workspace.revision());
        Self { store, workspace, saver, saved }
    }

    fn save(&self) -> Result<(), StoreError> {
        let mut saved = self.saved.lock();
        if *saved == self.workspace.revision() {
            return Ok(());
        }
        let whole = || self.workspace.snapshot();
        let snapshot = whole();
        let failed = |error: crate::environment::EnvError| StoreError::Io {
            name: "line logs".to_owned(),
            reason: error.to_string(),
        };
        self.saver.save(&snapshot, &whole).map_err(failed)?;
        *saved = snapshot.revision();
        Ok(())
    }
}

impl ServiceStore for LineLogStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            self.save()?;
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

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        self.store.events(scope, after, limit)
    }
}
