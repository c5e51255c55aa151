//! Where conversations are kept between runs: a [`Store`] of documents that only grow.
//!
//! A store knows nothing of sessions; what is in a document is in [`Record`]. When a session saves, and how it is
//! resumed and forked, is the session's.

mod memory;
mod read;
mod record;
mod summary;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};

pub use memory::MemStore;
pub use record::{Document, ForkedFrom, Header, ReadError, Record, VERSION, read_document, write_records};
pub use summary::{Summary, summaries};

use crate::error_code::Code;

/// Why a store failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A document's name is not one word of letters, digits, `-`, `_` and `.`.
    #[error("{name:?} cannot name a document")]
    BadName {
        /// The name.
        name: String,
    },
    /// Reading or writing failed.
    #[error("{name}: {reason}")]
    Io {
        /// The document.
        name: String,
        /// What the system said.
        reason: String,
    },
}

impl StoreError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::BadName { .. } => Code::InvalidArgument,
            Self::Io { .. } => Code::IoError,
        }
    }
}

/// Keeps documents of lines. Implementations are shared by sessions; one session writes one document.
pub trait Store: MaybeSend + MaybeSync {
    /// Adds lines, each with its line break, at the end of a document, which is made if it is not there. They are safe
    /// once this resolves. If the document ends in the middle of a line (a crash), the new lines begin a new one.
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a document, `None` if there is none.
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Returns the names of all documents, sorted.
    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Removes a document. Returns whether there was one.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Checks that a name can be a document's: one word, so that it means the same to every store.
///
/// # Errors
///
/// [`StoreError::BadName`].
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
/// What the store says.
pub async fn list_sessions(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let mut names = store.names().await?;
    names.retain(|name| !name.contains('.'));
    Ok(names)
}

/// Removes a session with everything kept for it. Returns whether there was one.
///
/// # Errors
///
/// What the store says.
pub async fn remove_session(store: &dyn Store, id: &str) -> Result<bool, StoreError> {
    check_name(id)?;
    let outputs = format!("{id}.");
    for name in store.names().await?.iter().filter(|name| name.starts_with(&outputs)) {
        store.remove(name).await?;
    }
    store.remove(id).await
}
