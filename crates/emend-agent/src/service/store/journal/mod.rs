//! A store in memory that a journal of the host makes durable, for browsers and for JavaScript hosts.
//!
//! Each change is one record. The records are applied again when the store is opened, so they lead to the same numbers.
//! A journal that has grown far beyond the content is replaced by the content.

#[cfg(test)]
mod tests;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};
use futures::lock::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::parts::Part;
use super::{Commit, Committed, EventPage, EventScope, MemServiceStore, ServiceStore, SessionPage, SessionQuery};
use crate::service::records::{JobRecord, SessionRecord};
use crate::store::StoreError;

/// Name of the journal in errors.
const NAME: &str = "journal";

/// A journal is replaced when its changes are this many times as large as the content was.
const GROWTH: usize = 4;

/// Size in bytes up to which changes are not worth a replacement.
const CHANGES_MIN: usize = 65_536;

/// Keeps records in order. A host implements it, for example over `IndexedDB`. One store at a time uses a journal, and
/// the host carries out the calls in order.
pub trait Journal: MaybeSend + MaybeSync {
    /// Returns all records. The last one may be incomplete after a crash.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the journal cannot be read.
    fn load(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Appends a record of one line. It is durable once this resolves. A journal of lines starts a new line if the last
    /// one has no line break.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the record is not durable. The store replaces the journal before its next change.
    fn append<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Replaces all records. After a crash the journal has either the old records or the new ones.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the journal still has the old records.
    fn replace<'a>(&'a self, records: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A record of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "records are written and read one at a time")]
enum Entry {
    /// The content after a change, in this number of records, follows. Only the first record is one.
    Content {
        change: u64,
        n_parts: usize,
    },
    Part(Part),
    Commit {
        change: u64,
        commit: Box<Commit>,
    },
    RemoveSession {
        change: u64,
        session_id: String,
    },
}

/// The journal as the store knows it.
#[derive(Default)]
struct Book {
    /// Number of the newest change.
    change: u64,
    /// Whether the records of the journal lead to the content: false after an append whose outcome is unknown.
    is_in_step: bool,
    content_bytes: usize,
    changes_bytes: usize,
}

/// Keeps everything in memory, and each change in a [`Journal`].
///
/// A change is in the journal before a reader sees it.
pub struct JournalServiceStore {
    journal: Shared<dyn Journal>,
    memory: MemServiceStore,
    book: Mutex<Book>,
}

fn failed(reason: String) -> StoreError {
    StoreError::Io { name: NAME.to_owned(), reason }
}

fn record(entry: &Entry) -> Result<String, StoreError> {
    serde_json::to_string(entry).map_err(|error| failed(error.to_string()))
}

impl JournalServiceStore {
    /// Opens the store that a journal describes. An incomplete last record is a change that did not happen.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the journal cannot be read, or with the position of a record that cannot be applied.
    pub async fn open(journal: Shared<dyn Journal>) -> Result<Self, StoreError> {
        let records = journal.load().await?;
        let memory = MemServiceStore::new();
        let mut book = Book { is_in_step: true, ..Book::default() };
        let mut n_parts = 0;
        for (index, text) in records.iter().enumerate() {
            let position = || format!("record {} of {}", index + 1, records.len());
            let entry: Entry = match serde_json::from_str(text) {
                Ok(entry) => entry,
                Err(_) if index + 1 == records.len() && n_parts == 0 => {
                    book.is_in_step = false;
                    break;
                }
                Err(error) => return Err(failed(format!("{} cannot be read: {error}", position()))),
            };
            let is_content = matches!(entry, Entry::Part(_));
            if let Entry::Content { change, n_parts: expected } = entry {
                if index > 0 {
                    return Err(failed(format!("{} is not a change", position())));
                }
                (book.change, n_parts) = (change, expected);
            } else if is_content == (n_parts > 0) && memory.apply_entry(entry, &mut book.change) {
                n_parts -= usize::from(is_content);
            } else {
                return Err(failed(format!("{} does not follow the record before", position())));
            }
            let size = if is_content { &mut book.content_bytes } else { &mut book.changes_bytes };
            *size += text.len();
        }
        if n_parts > 0 {
            return Err(failed(format!("{n_parts} records are missing at the end")));
        }
        Ok(Self { journal, memory, book: Mutex::new(book) })
    }

    /// Waits for the changes before, and makes sure that the journal leads to the content.
    async fn begin(&self) -> Result<MutexGuard<'_, Book>, StoreError> {
        let mut book = self.book.lock().await;
        if !book.is_in_step {
            self.replace(&mut book).await?;
        }
        Ok(book)
    }

    /// Appends the record of the next change. The outcome is unknown if that fails or if the future is dropped.
    async fn append(&self, book: &mut Book, entry: &Entry) -> Result<(), StoreError> {
        let text = record(entry)?;
        book.is_in_step = false;
        self.journal.append(&text).await?;
        book.is_in_step = true;
        book.change += 1;
        book.changes_bytes += text.len();
        Ok(())
    }

    async fn replace(&self, book: &mut Book) -> Result<(), StoreError> {
        let parts = self.memory.parts();
        let mut records = vec![record(&Entry::Content { change: book.change, n_parts: parts.len() })?];
        for part in parts {
            records.push(record(&Entry::Part(part))?);
        }
        let was_in_step = std::mem::replace(&mut book.is_in_step, false);
        if let Err(error) = self.journal.replace(&records).await {
            // The journal has the old records.
            book.is_in_step = was_in_step;
            return Err(error);
        }
        book.is_in_step = true;
        (book.content_bytes, book.changes_bytes) = (records.iter().map(String::len).sum(), 0);
        Ok(())
    }

    /// Replaces a journal that has grown too much.
    async fn compact(&self, book: &mut Book) {
        if book.changes_bytes > CHANGES_MIN && book.changes_bytes > GROWTH * book.content_bytes {
            // The change is in the journal already, so a failure only leaves the journal longer.
            let _ = self.replace(book).await;
        }
    }
}

impl MemServiceStore {
    /// Applies a record. Returns false if it is not the change after `change`.
    fn apply_entry(&self, entry: Entry, change: &mut u64) -> bool {
        let next = *change + 1;
        match entry {
            Entry::Part(part) => {
                self.restore(part);
                return true;
            }
            Entry::Commit { change, commit } if change == next => {
                self.apply(*commit);
            }
            Entry::RemoveSession { change, session_id } if change == next => {
                self.apply_removal(&session_id);
            }
            _ => return false,
        }
        *change = next;
        true
    }
}

impl ServiceStore for JournalServiceStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let mut book = self.begin().await?;
            let entry = Entry::Commit { change: book.change + 1, commit: Box::new(commit.clone()) };
            self.append(&mut book, &entry).await?;
            let done = self.memory.apply(commit);
            self.compact(&mut book).await;
            Ok(done)
        })
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.memory.session(id)
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        self.memory.sessions(query)
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut book = self.begin().await?;
            if self.memory.session(id).await?.is_none() {
                return Ok(false);
            }
            let entry = Entry::RemoveSession { change: book.change + 1, session_id: id.to_owned() };
            self.append(&mut book, &entry).await?;
            let is_removed = self.memory.apply_removal(id);
            self.compact(&mut book).await;
            Ok(is_removed)
        })
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        self.memory.job(id)
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        self.memory.jobs(session_id)
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        self.memory.open_jobs()
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        self.memory.jobs_of_runs(runs)
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        self.memory.events(scope, after, limit)
    }
}
