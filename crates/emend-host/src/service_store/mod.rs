//! The store of the service in one SQLite file: sessions, jobs, events, searches, and the documents of conversations.
//!
//! A commit is one transaction that is on the disk when it resolves. One thread writes and a few read, so no async task
//! waits for the disk. Several processes may share a file: a commit locks it, and each assigns the next numbers.

mod documents;
mod error;
#[cfg(test)]
mod figures;
#[cfg(test)]
#[cfg(unix)]
mod kills;
mod read;
#[cfg(test)]
#[cfg(unix)]
mod review;
mod schema;
#[cfg(test)]
mod tests;
mod threads;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use emend_agent::service::jobs::{Claim, Jobs};
use emend_agent::service::store::{Commit, Committed, EventPage, EventScope, SessionPage, SessionQuery};
use emend_agent::service::{JobRecord, ServiceStore, SessionRecord};
use emend_agent::store::{Store, StoreError, check_name};
use emend_llm::BoxFuture;
use futures::channel::oneshot;
use rusqlite::Connection;
use serde_json::Value;

pub use error::OpenStoreError;

use self::documents::KnownLengths;
use self::error::Failure;
use self::threads::Threads;

/// Number of threads that read.
const READERS: usize = 3;

/// Sessions, jobs, events and conversations in one file.
///
/// The future of a change may be dropped: the change is carried out nevertheless. The documents of [`Store`] are
/// checked for other writers: an append is a conflict if the document has another length than this store has last
/// read or written.
#[derive(Debug)]
pub struct SqliteServiceStore {
    path: PathBuf,
    writer: Threads,
    readers: Threads,
    known: Arc<Mutex<KnownLengths>>,
}

impl SqliteServiceStore {
    /// Opens the file, which is created if it does not exist. Blocks until the file is open.
    ///
    /// # Errors
    ///
    /// [`OpenStoreError`]; the file is unchanged then.
    pub fn open(path: &Path) -> Result<Self, OpenStoreError> {
        let writer = vec![schema::open_writer(path)?];
        let readers = (0..READERS).map(|_| schema::open_reader(path)).collect::<Result<Vec<_>, _>>()?;
        let failed = |error| OpenStoreError::io(path, &error);
        Ok(Self {
            path: path.to_owned(),
            writer: Threads::start("store-writer", writer).map_err(failed)?,
            readers: Threads::start("store-reader", readers).map_err(failed)?,
            known: Arc::default(),
        })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the whole file, which takes time in proportion to its size.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] with the first problem.
    pub async fn check(&self) -> Result<(), StoreError> {
        let check = |connection: &mut Connection| -> Result<String, Failure> {
            Ok(connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?)
        };
        let found = self.read(check).await?;
        if found == "ok" {
            Ok(())
        } else {
            Err(StoreError::Io { name: self.path.display().to_string(), reason: found })
        }
    }

    fn write<'a, T: Send + 'static>(
        &'a self,
        task: impl FnOnce(&mut Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(self.finish(self.writer.run(task), None))
    }

    fn read<'a, T: Send + 'static>(
        &'a self,
        task: impl FnOnce(&mut Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(self.finish(self.readers.run(task), None))
    }

    /// Runs a task on a document in the thread that writes, where the known lengths are in step with the file.
    fn on_document<'a, T: Send + 'static>(
        &'a self,
        name: &'a str,
        task: impl FnOnce(&mut Connection, &mut KnownLengths, &str) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let (known, owned) = (Arc::clone(&self.known), name.to_owned());
        Box::pin(async move {
            check_name(name)?;
            let task = move |connection: &mut Connection| {
                task(connection, &mut known.lock().unwrap_or_else(PoisonError::into_inner), &owned)
            };
            self.finish(self.writer.run(task), Some(name)).await
        })
    }

    async fn finish<T>(
        &self,
        task: oneshot::Receiver<Result<T, Failure>>,
        document: Option<&str>,
    ) -> Result<T, StoreError> {
        match task.await {
            Ok(outcome) => outcome.map_err(|failure| failure.at(&self.path, document)),
            Err(oneshot::Canceled) => {
                let reason = "the thread of the store has ended".to_owned();
                Err(StoreError::Io { name: self.path.display().to_string(), reason })
            }
        }
    }
}

impl ServiceStore for SqliteServiceStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        self.write(move |connection| write::commit(connection, commit))
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        let id = id.to_owned();
        self.read(move |connection| read::session(connection, &id))
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        let query = query.clone();
        self.read(move |connection| read::sessions(connection, &query))
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let id = id.to_owned();
        self.write(move |connection| write::remove_session(connection, &id))
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        let id = id.to_owned();
        self.read(move |connection| read::job(connection, &id))
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        let session_id = session_id.to_owned();
        self.read(move |connection| read::jobs(connection, &session_id))
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        self.read(|connection| read::open_jobs(connection))
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        let runs = runs.to_owned();
        self.read(move |connection| read::jobs_of_runs(connection, &runs))
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        let scope = scope.clone();
        self.read(move |connection| read::events(connection, &scope, after, limit))
    }
}

/// One process has the jobs. It goes on with those of a process that was killed.
impl Jobs for SqliteServiceStore {
    fn recorded<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Vec<(String, Value)>, StoreError>> {
        let id = claim.task_id.clone();
        self.read(move |connection| read::steps(connection, &id))
    }
}

impl Store for SqliteServiceStore {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let lines = lines.to_owned();
        self.on_document(name, move |connection, known, name| documents::append(connection, known, name, &lines))
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.on_document(name, documents::load)
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.read(|connection| documents::names(connection))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.on_document(name, documents::remove)
    }
}
