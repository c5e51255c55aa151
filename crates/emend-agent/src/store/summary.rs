//! Summaries of saved sessions, for lists.

use emend_edit::size::compact_sort::sort_by;
use serde::Serialize;

use super::{Document, ForkedFrom, ReadError, Store, StoreError, list_sessions, read_document};
use crate::history::HistoryEntryKind;

/// The summary of a saved session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Id of the session.
    pub id: String,
    /// Start in milliseconds since 1970.
    pub began_ms: u64,
    /// Time of the last entry in milliseconds since 1970; the start if there is none.
    pub last_ms: u64,
    /// Provider at the start.
    pub provider: String,
    /// Model at the start.
    pub model: String,
    /// First line of the first user message.
    pub title: String,
    /// Number of history entries.
    pub n_turns: usize,
    /// Session that this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Why the session cannot be read; then only the id is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Summary {
    fn of(id: String, read: Result<Document, ReadError>) -> Self {
        let Document { header, entries, .. } = match read {
            Ok(document) => document,
            Err(error) => return Self { id, problem: Some(error.to_string()), ..Self::default() },
        };
        let first = entries.iter().find(|entry| entry.kind == HistoryEntryKind::User);
        let text = first.map(|entry| entry.message.text()).unwrap_or_default();
        Self {
            id,
            began_ms: header.at_ms,
            last_ms: entries.last().map_or(header.at_ms, |entry| entry.at_ms.max(header.at_ms)),
            provider: header.provider,
            model: header.model,
            title: text.trim_start().lines().next().unwrap_or_default().to_owned(),
            n_turns: entries.len(),
            forked_from: header.forked_from,
            problem: None,
        }
    }
}

/// Returns the sessions of a store, most recently used first.
///
/// # Errors
///
/// An error of the store. A session that cannot be read is listed last, with its problem.
pub async fn summaries(store: &dyn Store) -> Result<Vec<Summary>, StoreError> {
    let mut summaries = Vec::new();
    for id in list_sessions(store).await? {
        // Skips a session that has been removed since.
        if let Some(text) = store.load(&id).await? {
            summaries.push(Summary::of(id, read_document(&text)));
        }
    }
    sort_by(&mut summaries, |a, b| b.last_ms.cmp(&a.last_ms).then_with(|| a.id.cmp(&b.id)));
    Ok(summaries)
}

#[cfg(test)]
mod tests {
    use emend_llm::Message;
    use futures::executor::block_on;

    use super::*;
    use crate::history::HistoryEntry;
    use crate::store::{Header, MemStore, Record, VERSION, write_records};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_last_used_comes_first_and_what_cannot_be_read_is_listed_with_the_reason() {
        let store = MemStore::new();
        for (id, began_ms, last_ms) in [("old", 10, 90), ("new", 50, 80), ("empty", 85, 0)] {
            let header = Header {
                version: VERSION,
                id: id.to_owned(),
                at_ms: began_ms,
                provider: "p".to_owned(),
                model: "m".to_owned(),
                forked_from: None,
            };
            let mut records = vec![Record::Session(header)];
            if last_ms > 0 {
                let entry =
                    HistoryEntry::new(HistoryEntryKind::User, last_ms, Message::user(format!("\ntask {id}\nmore")));
                records.push(Record::Entry { index: 0, entry });
            }
            store.insert(id, write_records(&records).unwrap());
        }
        store.insert("old.0123", "an output".to_owned());
        store.insert("other", "{\"version\":9}".to_owned());
        let found = block_on(summaries(&store)).unwrap();
        let shown: Vec<_> =
            found.iter().map(|one| (one.id.as_str(), one.last_ms, one.n_turns, one.title.as_str())).collect();
        assert_eq!(
            shown,
            [("old", 90, 1, "task old"), ("empty", 85, 0, ""), ("new", 80, 1, "task new"), ("other", 0, 0, "")]
        );
        let problem = found[3].problem.as_deref().unwrap();
        assert!(problem.contains("version 9"), "{problem}");
    }
}
