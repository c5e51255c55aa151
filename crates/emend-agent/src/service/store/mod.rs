//! The store of the service: sessions, jobs and events, behind one trait.
//!
//! A store assigns the numbers of events within [`ServiceStore::commit`], which is one transaction. So no two events
//! get one number, also if several services share a store. Conversations are documents of a
//! [`Store`](crate::store::Store), and line logs belong to the workspace.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod documents;
mod journal;
mod kept;
mod line_logs;
mod memory;
mod parts;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use documents::DocumentJournal;
pub use journal::{Journal, JournalServiceStore};
pub use kept::KeptServiceStore;
pub use line_logs::{LineLogStore, SaveLineLogs};
pub use memory::MemServiceStore;

use super::records::{EventRecord, JobRecord, SessionRecord, SessionStatus};
use super::time::Timestamp;
use crate::store::StoreError;

/// An event without its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewEvent {
    /// Type.
    pub kind: String,
    /// Id of the job, if the event belongs to one.
    pub job_id: Option<String>,
    /// Data.
    pub data: Value,
}

/// A change of one session: all of it is stored, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// Time of the change.
    pub at: Timestamp,
    /// The session after the change. The store sets its `cursor`.
    pub session: SessionRecord,
    /// Jobs of the session that changed. The store sets the `cursor` of a job that gets events.
    pub jobs: Vec<JobRecord>,
    /// New events in order. An event belongs to its job if the job is one of this session; an event with the id of
    /// another job belongs to the session only.
    pub events: Vec<NewEvent>,
    /// New text of the conversation, for searches. A match lies within one such text.
    pub text: String,
    /// Jobs of the session to remove with their events.
    pub purged_jobs: Vec<String>,
    /// Maximum number of events to keep for each job; older ones are dropped. 0 means all.
    pub events_per_job_max: u64,
    /// The part of the change that concerns the queue of jobs. It is carried out in the same transaction.
    #[serde(skip)]
    pub work: Option<Box<Work>>,
}

/// A change of the work on one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Id of the job.
    pub job_id: String,
    /// The claim under which the change is made. If it is lost, nothing is stored.
    pub claim: Option<String>,
    /// The lock of the session under which the change is made. If another server has taken it over, nothing is stored.
    pub lock: Option<String>,
    /// Results of steps to record, by the name of the step.
    pub steps: Vec<(String, Value)>,
    /// The change of the job's place in the queue.
    pub change: Option<WorkChange>,
}

/// A change of a job's place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkChange {
    /// The job waits for a server. The key names this wait: a second one with the key has no effect.
    Submit {
        /// The key.
        key: String,
    },
    /// The job waits for an answer, and no server works on it.
    Wait {
        /// Name of the answer.
        answer: String,
    },
    /// The answer is there.
    Answer {
        /// Name of the answer.
        answer: String,
    },
    /// The work on the job has ended.
    End {
        /// The outcome, for programs that read the queue.
        result: Value,
    },
}

/// Returns the form in which stores compare texts: in lower case, with a space in place of each NUL, because databases
/// cannot keep a NUL in a text.
#[must_use]
pub fn search_form(text: &str) -> String {
    text.to_lowercase().replace('\0', " ")
}

/// Result of a commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// The session as stored.
    pub session: SessionRecord,
    /// The changed jobs as stored.
    pub jobs: Vec<JobRecord>,
    /// The new events with their numbers.
    pub events: Vec<EventRecord>,
}

/// The events that a reader wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventScope {
    /// Events of all sessions, numbered by `seq`.
    All,
    /// Events of one session, numbered by `cursor`.
    Session(String),
    /// Events of one job, numbered by the `cursor` of its session.
    Job(String),
}

/// Events after a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPage {
    /// Events in order, at most as many as asked for.
    pub events: Vec<EventRecord>,
    /// Number of the newest dropped event of this scope that a reader after `after` misses or has read; 0 if there is none.
    /// The events of a removed session count only for a reader that has read some of them.
    pub floor: u64,
    /// Number of the newest event of this scope.
    pub last: u64,
}

/// A search for sessions. Newest changes come first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Text that the title or a text of the conversation contains, compared by [`search_form`]; empty for all sessions.
    pub text: String,
    /// Status, if only sessions with this status are wanted.
    pub status: Option<SessionStatus>,
    /// Position after which the page starts: the `next` of the page before.
    pub after: Option<(Timestamp, String)>,
    /// Maximum number of sessions.
    pub limit: usize,
}

/// A page of sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionPage {
    /// Sessions, by time of the last change, newest first; sessions of one time by id.
    pub sessions: Vec<SessionRecord>,
    /// Position of the next page; `None` if this is the last.
    pub next: Option<(Timestamp, String)>,
    /// Number of sessions on all pages.
    pub total: u64,
}

/// Keeps sessions, jobs and events.
///
/// A store answers reads from committed changes only. Every store passes the suite of `conformance`.
pub trait ServiceStore: MaybeSend + MaybeSync {
    /// Stores a change. The events get the next numbers of the session and of the store.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the change is not durable; nothing is stored then.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>>;

    /// Saves changes of the user for which there was no commit, if the store keeps the line logs.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if they are not durable.
    fn save_edits(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>>;

    /// Returns the sessions that match a query, without loading others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>>;

    /// Removes a session with its jobs and events. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the session still exists.
    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns a job.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>>;

    /// Returns the jobs of a session, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>>;

    /// Returns the jobs of all sessions that have not ended, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>>;

    /// Returns the jobs of all sessions that have one of these workspace runs, oldest first, without loading others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>>;

    /// Returns up to `limit` events of a scope after the number `after`, with the range of numbers that the store has.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the store cannot be read.
    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>>;
}
