//! Jobs that several workers share, on Absurd: claims with a lease, recorded steps, and waits that hold no worker.
//!
//! A worker claims a job, skips the steps that [`recorded`](PostgresJobs::recorded) returns, and records each further
//! one. If the worker dies, its claim ends and the next worker goes on from what was recorded. Every change begins with
//! the fence of `src/sql/003-jobs.sql`, so a worker that lost its claim changes nothing.

#[cfg(test)]
#[cfg(unix)]
#[cfg(absurd)]
mod host_tests;
#[cfg(test)]
#[cfg(unix)]
#[cfg(absurd)]
mod server_tests;
mod servers;

pub use servers::{RootLock, ServerJobs, ServerOptions};

use emend_agent::store::StoreError;
use serde_json::Value;
use tokio_postgres::types::ToSql;

use crate::database::{Address, Database};
use crate::error::{Failure, LATE, OpenError};

/// Attempts of a job. A claim that ends uses up one, so this is not the number of failures.
const ATTEMPTS: i32 = 1_000;

/// Key of an element that holds JSON as a text, because `jsonb` cannot hold a NUL.
const AS_TEXT: &str = "$json";

/// Why a worker must stop its work on a job, or why the database failed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The claim ended, or the job was cancelled. Another worker may have the job; nothing was changed.
    #[error("the claim of this job is lost: {reason}")]
    Lost {
        /// The message of the database.
        reason: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A job that a worker has claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Id of the job.
    pub task_id: String,
    /// Id of this attempt.
    pub run_id: String,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// Parameters of the job.
    pub params: Value,
}

/// The outcome of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum JobWait {
    /// The answer.
    Ready(Value),
    /// The job sleeps until the answer comes. The worker leaves it; a later claim repeats the wait.
    Suspended,
}

/// The jobs of a database.
#[derive(Clone)]
pub struct PostgresJobs {
    database: Database,
}

pub(crate) fn encoded(value: &Value) -> String {
    let text = value.to_string();
    if text.contains("\\u0000") { serde_json::json!({ AS_TEXT: text }).to_string() } else { text }
}

fn decoded(text: &str) -> Result<Value, serde_json::Error> {
    let value: Value = serde_json::from_str(text)?;
    let inner = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.get(AS_TEXT));
    match inner.and_then(Value::as_str) {
        Some(inner) => serde_json::from_str(inner),
        None => Ok(value),
    }
}

impl PostgresJobs {
    /// Opens a migrated database that has Absurd.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open(address: &Address) -> Result<Self, OpenError> {
        Ok(Self { database: Database::open(address).await? })
    }

    async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<tokio_postgres::Row>, ClaimError> {
        self.database.rows(sql, params).await.map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> ClaimError {
        match failure.state().filter(|state| LATE.contains(state)) {
            Some(_) => ClaimError::Lost { reason: failure.into_store_error("job").to_string() },
            None => ClaimError::Store(failure.into_store_error(self.database.name())),
        }
    }

    fn value(&self, text: &str) -> Result<Value, ClaimError> {
        decoded(text).map_err(|error| self.failed(error.into()))
    }

    /// Adds a job unless one with the key exists, and returns its id.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn submit(&self, key: &str, params: &Value) -> Result<String, ClaimError> {
        let sql = "SELECT emend.submit_job($1, $2::text::jsonb, $3)::text";
        let rows = self.rows(sql, &[&key, &encoded(params), &ATTEMPTS]).await?;
        Ok(rows.first().map(|row| row.get(0)).unwrap_or_default())
    }

    /// Claims up to `n` jobs for `lease_s` seconds. A broken connection may leave a claim without a worker until its
    /// end.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn claim(&self, worker: &str, n: i32, lease_s: i32) -> Result<Vec<Claim>, ClaimError> {
        let sql = "SELECT task_id::text, run_id::text, attempt, params::text
            FROM absurd.claim_task('emend', $1, $2, $3)";
        let rows = self.rows(sql, &[&worker, &lease_s, &n]).await?;
        let claim = |row: &tokio_postgres::Row| {
            let params = self.value(row.get(3))?;
            Ok(Claim { task_id: row.get(0), run_id: row.get(1), attempt: row.get(2), params })
        };
        rows.iter().map(claim).collect()
    }

    /// Returns the recorded steps of a job with their results.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn recorded(&self, claim: &Claim) -> Result<Vec<(String, Value)>, ClaimError> {
        let sql = "SELECT checkpoint_name, state::text
            FROM absurd.get_task_checkpoint_states('emend', $1::text::uuid, $2::text::uuid) ORDER BY updated_at";
        let rows = self.rows(sql, &[&claim.task_id, &claim.run_id]).await?;
        rows.iter().map(|row| Ok((row.get(0), self.value(row.get(1))?))).collect()
    }

    /// Records the result of a step under a name that the worker gives it, for example `llm:<n>` or `tool:<call_id>`.
    ///
    /// # Errors
    ///
    /// [`ClaimError`].
    pub async fn record(&self, claim: &Claim, step: &str, result: &Value) -> Result<(), ClaimError> {
        let sql = "SELECT emend.record_step($1::text::uuid, $2, $3::text::jsonb)";
        self.rows(sql, &[&claim.run_id, &step, &encoded(result)]).await.map(drop)
    }

    /// Prolongs a claim to `lease_s` seconds from now.
    ///
    /// # Errors
    ///
    /// [`ClaimError`].
    pub async fn renew(&self, claim: &Claim, lease_s: i32) -> Result<(), ClaimError> {
        let sql = "SELECT emend.renew_claim($1::text::uuid, $2)";
        self.rows(sql, &[&claim.run_id, &lease_s]).await.map(drop)
    }

    /// Waits for an answer without holding a worker. `step` names this wait within the job.
    ///
    /// # Errors
    ///
    /// [`ClaimError`].
    pub async fn wait_for(&self, claim: &Claim, step: &str, event: &str) -> Result<JobWait, ClaimError> {
        let sql = "SELECT should_suspend, payload::text
            FROM absurd.await_event('emend', $1::text::uuid, $2::text::uuid, $3, $4)";
        let rows = self.rows(sql, &[&claim.task_id, &claim.run_id, &step, &event]).await?;
        match rows.first().map(|row| (row.get::<_, bool>(0), row.get::<_, Option<&str>>(1))) {
            Some((false, payload)) => Ok(JobWait::Ready(self.value(payload.unwrap_or("null"))?)),
            _ => Ok(JobWait::Suspended),
        }
    }

    /// Answers a wait. The first answer counts.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn answer(&self, event: &str, answer: &Value) -> Result<(), ClaimError> {
        self.rows("SELECT emend.answer($1, $2::text::jsonb)", &[&event, &encoded(answer)]).await.map(drop)
    }

    /// Ends a job with its result.
    ///
    /// # Errors
    ///
    /// [`ClaimError`]. `Lost` may also mean that the job has ended and the answer was lost; [`result`](Self::result)
    /// tells.
    pub async fn end(&self, claim: &Claim, result: &Value) -> Result<(), ClaimError> {
        let sql = "SELECT emend.end_job($1::text::uuid, $2::text::jsonb)";
        self.rows(sql, &[&claim.run_id, &encoded(result)]).await.map(drop)
    }

    /// Cancels a job, also one that a worker has claimed.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn cancel(&self, task_id: &str) -> Result<(), ClaimError> {
        self.rows("SELECT absurd.cancel_task('emend', $1::text::uuid)", &[&task_id]).await.map(drop)
    }

    /// Returns the state of a job and its result.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Store`].
    pub async fn result(&self, task_id: &str) -> Result<Option<(String, Value)>, ClaimError> {
        let sql = "SELECT state, result::text FROM absurd.get_task_result('emend', $1::text::uuid)";
        let rows = self.rows(sql, &[&task_id]).await?;
        let read =
            |row: &tokio_postgres::Row| Ok((row.get(0), self.value(row.get::<_, Option<&str>>(1).unwrap_or("null"))?));
        rows.first().map(read).transpose()
    }
}
