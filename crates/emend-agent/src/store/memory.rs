//! A store in memory, for tests and for hosts that persist documents themselves.

use std::collections::BTreeMap;

use emend_llm::BoxFuture;
use emend_llm::runtime::{Mutex, MutexGuard};

use super::{Store, StoreError, check_name};

/// Documents in memory.
#[derive(Default)]
pub struct MemStore {
    documents: Mutex<BTreeMap<String, String>>,
}

impl MemStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a document that a host has persisted.
    pub fn insert(&self, name: &str, content: String) {
        self.documents().insert(name.to_owned(), content);
    }

    fn documents(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.documents.lock()
    }

    fn append_now(&self, name: &str, lines: &str) -> Result<(), StoreError> {
        check_name(name)?;
        let mut documents = self.documents();
        let document = documents.entry(name.to_owned()).or_default();
        if !document.is_empty() && !document.ends_with('\n') {
            document.push('\n');
        }
        document.push_str(lines);
        Ok(())
    }
}

impl Store for MemStore {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.append_now(name, lines)))
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(std::future::ready(check_name(name).map(|()| self.documents().get(name).cloned())))
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(std::future::ready(Ok(self.documents().keys().cloned().collect())))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(check_name(name).map(|()| self.documents().remove(name).is_some())))
    }
}
