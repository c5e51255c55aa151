//! The history: the conversation as the session keeps it, its size, its validity, and strategies that make room in it.
//!
//! A history is valid if each message with tool calls is followed directly by one message with exactly one result per
//! call, in order. Providers reject other histories, so every change keeps this property.

mod entry;
mod strategy;
mod validity;

use emend_llm::ContentPart;

pub(crate) use entry::chars_of;
pub use entry::{HistoryEntry, HistoryEntryKind};
pub(crate) use strategy::DUE_PERCENT;
pub use strategy::{ContextStrategy, ContextUse, KeepEverything, PruneOldOutputs};
pub use validity::{is_valid, repaired};
pub(crate) use validity::{refusal, result};

use entry::{CHARS_PER_TOKEN, n_chars};

/// The conversation of one session.
#[derive(Default)]
pub(crate) struct History {
    entries: Vec<HistoryEntry>,
    chars: u64,
    /// Number of responses of the whole session, pruned ones included.
    n_responses: u64,
    /// Number of replacements of all entries; between two replacements, `entries` only grows.
    generation: u64,
}

impl History {
    pub(crate) fn new(entries: Vec<HistoryEntry>) -> Self {
        let n_responses = entries.iter().filter(|entry| entry.kind == HistoryEntryKind::Assistant).count() as u64;
        Self { chars: n_chars(&entries), entries, n_responses, generation: 0 }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    pub(crate) fn n_responses(&self) -> u64 {
        self.n_responses
    }

    /// Returns whether a call with this id exists.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        let parts = self.entries.iter().flat_map(|entry| &entry.message.content);
        parts.into_iter().any(|part| matches!(part, ContentPart::ToolCall(call) if call.id == id))
    }

    /// Returns the estimated number of tokens, at four characters per token.
    pub(crate) fn tokens(&self) -> u64 {
        self.chars / CHARS_PER_TOKEN
    }

    pub(crate) fn push(&mut self, entry: HistoryEntry) {
        self.chars += chars_of(&entry.message);
        self.n_responses += u64::from(entry.kind == HistoryEntryKind::Assistant);
        self.entries.push(entry);
    }

    /// Replaces all entries, as a context strategy does. The number of responses stays.
    pub(crate) fn replace(&mut self, entries: Vec<HistoryEntry>) {
        self.chars = n_chars(&entries);
        self.entries = entries;
        self.generation += 1;
    }
}
