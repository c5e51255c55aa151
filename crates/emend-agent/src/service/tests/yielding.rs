//! A store whose operations wait, so that the steps of requests and jobs interleave.

use emend_llm::BoxFuture;
use emend_llm::runtime::Mutex;

use crate::service::records::{JobRecord, SessionRecord};
use crate::service::store::{
    Commit, Committed, EventPage, EventScope, MemServiceStore, ServiceStore, SessionPage, SessionQuery,
};
use crate::store::StoreError;
use crate::test_support::wait;

/// A store in memory. Each of its operations returns to the caller once before it begins, and once before its reply.
#[derive(Default)]
pub(super) struct Yielding(MemServiceStore, Mutex<u64>);

impl Yielding {
    /// Returns the number of pages of sessions that were asked for.
    pub(super) fn n_pages(&self) -> u64 {
        *self.1.lock()
    }
}

/// Delegates one operation.
macro_rules! waits {
    ($call:expr) => {
        Box::pin(async move {
            wait(1).await;
            let reply = $call.await;
            wait(1).await;
            reply
        })
    };
}

impl ServiceStore for Yielding {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        waits!(self.0.commit(commit))
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        waits!(self.0.session(id))
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        *self.1.lock() += 1;
        waits!(self.0.sessions(query))
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        waits!(self.0.remove_session(id))
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        waits!(self.0.job(id))
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        waits!(self.0.jobs(session_id))
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        waits!(self.0.open_jobs())
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        waits!(self.0.jobs_of_runs(runs))
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        waits!(self.0.events(scope, after, limit))
    }
}
