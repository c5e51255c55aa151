//! A journal in documents of a [`Store`], such as the store of conversations of a browser.
//!
//! Each replacement begins a document with the next number. Its first line says how many records replace the old ones, so
//! a document that a crash left incomplete is recognized, and the one before it is still there.

use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Shared};

use super::Journal;
use crate::store::{Store, StoreError};

/// Keeps records in the documents `NAME-1`, `NAME-2` and so on, one at a time.
pub struct DocumentJournal {
    store: Shared<dyn Store>,
    name: &'static str,
    /// Number of the present document.
    number: Mutex<u64>,
}

impl DocumentJournal {
    /// Returns the journal with this name. The name contains a dot, so that it is not the id of a session.
    #[must_use]
    pub fn new(store: Shared<dyn Store>, name: &'static str) -> Self {
        Self { store, name, number: Mutex::new(0) }
    }

    fn document(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }

    /// Returns the numbers of the documents, newest first.
    async fn numbers(&self) -> Result<Vec<u64>, StoreError> {
        let names = self.store.names().await?;
        let number = |name: &String| name.strip_prefix(self.name)?.strip_prefix('-')?.parse().ok();
        let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// Removes all documents but one.
    async fn keep_only(&self, kept: u64) -> Result<(), StoreError> {
        for number in self.numbers().await? {
            if number != kept {
                self.store.remove(&self.document(number)).await?;
            }
        }
        Ok(())
    }
}

/// Returns the records of a document; `None` if its replacement is incomplete.
fn records(text: &str) -> Option<Vec<String>> {
    let (first, rest) = text.split_once('\n')?;
    let n_replaced: usize = first.parse().ok()?;
    let n_whole = rest.matches('\n').count();
    (n_whole >= n_replaced).then(|| rest.lines().map(str::to_owned).collect())
}

impl Journal for DocumentJournal {
    fn load(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            for number in self.numbers().await? {
                let name = self.document(number);
                let text = self.store.load(&name).await?.unwrap_or_default();
                if let Some(records) = records(&text) {
                    *self.number.lock() = number;
                    return Ok(records);
                }
                // The document before it has everything.
                self.store.remove(&name).await?;
            }
            Ok(Vec::new())
        })
    }

    fn append<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let number = *self.number.lock();
            if number == 0 {
                self.store.append(&self.document(1), &format!("0\n{record}\n")).await?;
                *self.number.lock() = 1;
                return Ok(());
            }
            self.store.append(&self.document(number), &format!("{record}\n")).await
        })
    }

    fn replace<'a>(&'a self, records: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let number = *self.number.lock() + 1;
            let mut lines = format!("{}\n", records.len());
            for record in records {
                lines.push_str(record);
                lines.push('\n');
            }
            // A former attempt may have left a part.
            self.store.remove(&self.document(number)).await?;
            self.store.append(&self.document(number), &lines).await?;
            *self.number.lock() = number;
            // The new document counts from now on; an old one that stays is removed with the next replacement.
            let _ = self.keep_only(number).await;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::store::MemStore;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn texts(records: &[&str]) -> Vec<String> {
        records.iter().map(|record| (*record).to_owned()).collect()
    }

    #[test]
    fn records_are_kept_and_replaced() {
        block_on(async {
            let store: Shared<dyn Store> = Shared::new(MemStore::new());
            let open = || DocumentJournal::new(Shared::clone(&store), "service.x");
            let journal = open();
            assert_eq!(journal.load().await, Ok(Vec::new()));
            journal.append("a").await.unwrap();
            journal.append("b").await.unwrap();
            assert_eq!(open().load().await, Ok(texts(&["a", "b"])));
            let journal = open();
            journal.load().await.unwrap();
            journal.replace(&texts(&["c", "d"])).await.unwrap();
            journal.append("e").await.unwrap();
            assert_eq!(open().load().await, Ok(texts(&["c", "d", "e"])));
            assert_eq!(store.names().await, Ok(texts(&["service.x-2"])));
        });
    }

    #[test]
    fn an_incomplete_replacement_leaves_the_old_records() {
        covers("service.kept");
        block_on(async {
            for part in ["", "2", "2\n", "2\nc", "2\nc\n", "2\nc\nd"] {
                let store: Shared<dyn Store> = Shared::new(MemStore::new());
                store.append("service.x-1", "0\na\nb\n").await.unwrap();
                store.append("service.x-2", part).await.unwrap();
                let journal = DocumentJournal::new(Shared::clone(&store), "service.x");
                assert_eq!(journal.load().await, Ok(texts(&["a", "b"])), "{part:?}");
                journal.replace(&texts(&["c", "d"])).await.unwrap();
                assert_eq!(DocumentJournal::new(store, "service.x").load().await, Ok(texts(&["c", "d"])), "{part:?}");
            }
        });
    }
}
