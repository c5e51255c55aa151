//! The store of the service in PostgreSQL: sessions, jobs, events and searches.
//!
//! A change is one statement that carries a number of its own. If the connection breaks before the answer, the change
//! is repeated with the same number, and the database answers what it answered first.

mod commit;
#[cfg(test)]
#[cfg(unix)]
mod host_tests;
mod read;

use emend_agent::service::store::{Commit, Committed, EventPage, EventScope, SessionPage, SessionQuery};
use emend_agent::service::{JobRecord, ServiceStore, SessionRecord};
use emend_agent::store::StoreError;
use emend_llm::BoxFuture;

use crate::database::{Address, Database};
use crate::error::OpenError;

/// Sessions, jobs and events in a PostgreSQL database.
///
/// Its futures need a tokio runtime. The future of a change may be dropped: the change is carried out nevertheless.
pub struct PostgresServiceStore {
    database: Database,
}

impl PostgresServiceStore {
    /// Opens a migrated database beside other users of it.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open(address: &Address) -> Result<Self, OpenError> {
        Ok(Self { database: Database::open(address).await? })
    }

    /// Runs a change to its end, also if the returned future is dropped.
    fn change<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let task = tokio::spawn(change);
        Box::pin(async move {
            task.await.unwrap_or_else(|error| {
                Err(StoreError::Io { name: self.database.name().to_owned(), reason: error.to_string() })
            })
        })
    }
}

impl ServiceStore for PostgresServiceStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        let database = self.database.clone();
        self.change(async move { commit::commit(&database, commit).await })
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        Box::pin(read::session(&self.database, id))
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        Box::pin(read::sessions(&self.database, query))
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (database, id) = (self.database.clone(), id.to_owned());
        self.change(async move { commit::remove_session(&database, &id).await })
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        Box::pin(read::job(&self.database, id))
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(read::jobs(&self.database, session_id))
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(read::open_jobs(&self.database))
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(read::jobs_of_runs(&self.database, runs))
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        Box::pin(read::events(&self.database, scope, after, limit))
    }
}
