//! Persistence of conversations: a [`Store`] of documents to which lines are appended.
//!
//! A store knows nothing of sessions. [`Record`] defines the content of a document; the session decides when to save,
//! resume and fork.

mod memory;
mod read;
mod record;
mod summary;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};

pub use memory::MemStore;
pub use read::read_message;
pub use record::{Document, ForkedFrom, Header, ReadError, Record, VERSION, read_document, write_records};
pub use summary::{Summary, summaries};

use crate::error_code::Code;

/// Why an operation of a store failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The name of a document is not one word of letters, digits, `-`, `_` and `.`.
    #[error("{name:?} cannot name a document")]
    BadName {
        /// The rejected name.
        name: String,
    },
    /// Reading or writing failed.
    #[error("{name}: {reason}")]
    Io {
        /// Name of the document.
        name: String,
        /// The message of the system.
        reason: String,
    },
    /// Another writer has continued the document. Nothing was written.
    #[error("{name}: another writer has continued this document")]
    Conflict {
        /// Name of the document.
        name: String,
    },
}

impl StoreError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::BadName { .. } => Code::InvalidArgument,
            Self::Io { .. } => Code::IoError,
            Self::Conflict { .. } => Code::Conflict,
        }
    }
}

/// Stores documents of lines. Sessions share a store; each session writes one document.
///
/// A session saves itself in its store after each step and can be resumed from it, also after a crash.
///
/// ```
/// use emend_agent::store::{MemStore, Store, StoreError};
///
/// # futures::executor::block_on(async {
/// let store = MemStore::new();
/// store.append("sess_1", "{\"a\": 1}\n").await?;
/// // A crash cut this line off; the next append starts a new line.
/// store.append("sess_1", "{\"b\"").await?;
/// store.append("sess_1", "{\"c\": 3}\n").await?;
/// assert_eq!(store.load("sess_1").await?.as_deref(), Some("{\"a\": 1}\n{\"b\"\n{\"c\": 3}\n"));
/// assert_eq!(store.append("a/b", "").await, Err(StoreError::BadName { name: "a/b".to_owned() }));
/// # Ok::<(), StoreError>(())
/// # })
/// # .unwrap();
/// ```
pub trait Store: MaybeSend + MaybeSync {
    /// Appends lines, each with its line break, to a document; creates the document if necessary. The lines are durable
    /// once this resolves. If the document ends with an incomplete line (after a crash), the new lines start on a new
    /// line.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadName`] as [`check_name`], [`StoreError::Io`] if the lines are not durable. The session reports
    /// a warning and writes the same lines again later. [`StoreError::Conflict`] if the store knows that another writer
    /// has appended lines since this one loaded or wrote the document. Then the run ends with an error.
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a document; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadName`], or [`StoreError::Io`] if the document exists and cannot be read.
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Returns the names of all documents, sorted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the documents cannot be listed.
    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Removes a document. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadName`], or [`StoreError::Io`] if the document still exists.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Checks the name of a document: one word, so that it means the same in every store.
///
/// # Errors
///
/// Returns [`StoreError::BadName`] for any other name.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || name.len() > 200 || !name.chars().all(is_word) {
        return Err(StoreError::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// Returns the ids of the sessions in a store.
///
/// # Errors
///
/// Returns the error of the store.
pub async fn list_sessions(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let mut names = store.names().await?;
    names.retain(|name| !name.contains('.'));
    Ok(names)
}

/// Removes a session with all its documents. Returns whether it existed.
///
/// # Errors
///
/// Returns the error of the store.
pub async fn remove_session(store: &dyn Store, id: &str) -> Result<bool, StoreError> {
    check_name(id)?;
    let outputs = format!("{id}.");
    for name in store.names().await?.iter().filter(|name| name.starts_with(&outputs)) {
        store.remove(name).await?;
    }
    store.remove(id).await
}
