//! Jobs as a queue: who runs a job, and the recorded steps from which another process goes on.
//!
//! [`ServiceStore::commit`](super::ServiceStore::commit) changes the queue: its [`Work`](super::store::Work) submits a job,
//! records steps and ends the work, in the transaction of the events. This trait has the rest. The store in memory and the
//! one in SQLite belong to one server, which runs what it accepts. An engine that several servers share implements
//! `is_shared` and the methods after it; each server then claims jobs for a time.

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};
use serde_json::Value;

use crate::store::StoreError;

/// The right of this process to work on a job for some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// Id of the claim, for [`Work::claim`](super::store::Work::claim); empty in a service that shares no jobs.
    pub id: String,
    /// Id of the job in the queue.
    pub task_id: String,
    /// Parameters: `job_id`, or `instruction` and perhaps `session_id` for a job that another program has submitted.
    pub params: Value,
    /// Number of the attempt, from 1.
    pub attempt: u64,
}

/// The reason why the queue was woken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Sessions that changed; `None` if the queue cannot tell.
    pub sessions: Option<Vec<String>>,
    /// Whether jobs may wait for a server.
    pub has_work: bool,
    /// Whether [`Jobs::untold`] may have changed.
    pub has_untold: bool,
}

/// Counts of changes that no event tells, by all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    /// Changes of files by the user.
    pub n_edits: u64,
    /// Removed sessions.
    pub n_removed: u64,
}

/// A lock that ends when it is dropped.
pub trait Held: MaybeSend + MaybeSync {
    /// Returns the name under which a commit proves that the lock was not taken over meanwhile.
    fn proof(&self) -> String;
}

/// The jobs of a service.
pub trait Jobs: MaybeSend + MaybeSync {
    /// Returns the recorded steps of a job with their results.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn recorded<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Vec<(String, Value)>, StoreError>>;

    /// Returns whether several servers share the jobs.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the time in milliseconds after which a claim must be renewed.
    fn renewal_ms(&self) -> u64 {
        u64::MAX
    }

    /// Claims up to `n` jobs.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn claim(&self, _n: usize) -> BoxFuture<'_, Result<Vec<Claim>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Prolongs a claim.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if the claim is lost; others may pass.
    fn renew<'a>(&'a self, _claim: &'a Claim) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Gives a claim back, so that another server can take the job at once.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the claim then ends by itself.
    fn release<'a>(&'a self, _claim: &'a Claim) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Ends a claimed job that cannot be run, because its parameters are wrong. The result has the reason.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the job is then claimed again.
    fn refuse<'a>(&'a self, _claim: &'a Claim, _result: Value) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Waits for changes by other servers. Changes between two calls count for the next one.
    fn woken(&self) -> BoxFuture<'_, Woken> {
        Box::pin(std::future::pending())
    }

    /// Tells the other servers that the user changed files and that no event says so.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn tell_edit(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the changes so far that no event tells.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn untold(&self) -> BoxFuture<'_, Result<Untold, StoreError>> {
        Box::pin(std::future::ready(Ok(Untold::default())))
    }

    /// Waits until no other server changes a session, or until one that does has stopped to renew its lock.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    fn lock<'a>(&'a self, _session_id: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn Held>>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl Claim {
    /// Returns the claim of a job in a service that shares no jobs.
    pub(super) fn of(job_id: &str) -> Self {
        let params = serde_json::json!({ "job_id": job_id });
        Self { id: String::new(), task_id: job_id.to_owned(), params, attempt: 1 }
    }
}
