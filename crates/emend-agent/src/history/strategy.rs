//! Strategies that make room in a history, and the measure of how full the model's context is.

use emend_llm::{BoxFuture, ContentPart, MaybeSend, MaybeSync};

use super::entry::{CHARS_PER_TOKEN, HistoryEntry, HistoryEntryKind};
use crate::tool::{replace_result_text, result_text};

/// Usage of the model's context window, estimated at four characters per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// Estimated tokens of the conversation.
    pub tokens: u64,
    /// Context window of the model in tokens; `None` for models outside the catalogue.
    pub window: Option<u64>,
}

impl ContextUse {
    /// Returns the used part of the window in percent; 0 if the window is unknown.
    #[must_use]
    pub fn percent(&self) -> f64 {
        self.window.map_or(0.0, |window| self.tokens as f64 * 100.0 / window.max(1) as f64)
    }
}

/// Makes room in a history. Called before each model call and by
/// [`Session::compact`](crate::session::Session::compact).
pub trait ContextStrategy: MaybeSend + MaybeSync {
    /// Returns whether to compact before the next call.
    fn is_due(&self, usage: ContextUse) -> bool;

    /// Returns the new entries. They must be a valid history (see [`is_valid`](super::is_valid)); otherwise the session
    /// keeps the old entries and emits a warning.
    fn compact<'a>(&'a self, entries: Vec<HistoryEntry>, usage: ContextUse) -> BoxFuture<'a, Vec<HistoryEntry>>;
}

/// Keeps the history as it is; the host reacts to the warnings.
pub struct KeepEverything;

impl ContextStrategy for KeepEverything {
    fn is_due(&self, _usage: ContextUse) -> bool {
        false
    }

    fn compact<'a>(&'a self, entries: Vec<HistoryEntry>, _usage: ContextUse) -> BoxFuture<'a, Vec<HistoryEntry>> {
        Box::pin(std::future::ready(entries))
    }
}

/// Replaces the text of old tool results by a note, oldest first, because the model can call the tool again. Calls,
/// results and all messages stay. The latest two rounds of results are never changed.
pub struct PruneOldOutputs;

/// Usage in percent at which pruning starts.
pub(crate) const DUE_PERCENT: f64 = 80.0;
/// Usage in percent after pruning. Far below [`DUE_PERCENT`], because each pruning invalidates the provider's prompt
/// cache.
const TARGET_PERCENT: u64 = 50;
/// Number of latest rounds whose results stay whole.
const ROUNDS_KEPT: usize = 2;
/// Results up to this many characters stay: a note would not be shorter.
const CHARS_KEPT: usize = 200;

impl ContextStrategy for PruneOldOutputs {
    fn is_due(&self, usage: ContextUse) -> bool {
        usage.percent() > DUE_PERCENT
    }

    fn compact<'a>(&'a self, mut entries: Vec<HistoryEntry>, usage: ContextUse) -> BoxFuture<'a, Vec<HistoryEntry>> {
        // On request, with room enough, prunes as much as it may.
        let target = if self.is_due(usage) { usage.window.unwrap_or(0) * TARGET_PERCENT / 100 } else { 0 };
        prune(&mut entries, usage.tokens * CHARS_PER_TOKEN, target * CHARS_PER_TOKEN);
        Box::pin(std::future::ready(entries))
    }
}

/// Prunes results, oldest first, until `chars` is at most `target`.
fn prune(entries: &mut [HistoryEntry], mut chars: u64, target: u64) {
    let rounds = entries.iter_mut().filter(|entry| entry.kind == HistoryEntryKind::ToolResults);
    let mut rounds: Vec<&mut HistoryEntry> = rounds.collect();
    let n_old = rounds.len().saturating_sub(ROUNDS_KEPT);
    for entry in &mut rounds[..n_old] {
        for part in &mut entry.message.content {
            if chars <= target {
                return;
            }
            let ContentPart::ToolResult(result) = part else { continue };
            let Some(text) = result_text(&result.content) else { continue };
            let n_chars = text.chars().count();
            if n_chars <= CHARS_KEPT && result.image.is_none() {
                continue;
            }
            let note = format!(
                "[The old output of this call, {n_chars} characters, was removed to save room. Call {} again if you \
                 need it.]",
                result.name
            );
            chars = chars.saturating_sub((n_chars - n_chars.min(note.len())) as u64);
            replace_result_text(&mut result.content, note);
            result.image = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use emend_llm::{Message, ToolCall};
    use futures::executor::block_on;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::history::{chars_of, is_valid, repaired, result};
    use crate::test_support::covers;
    use crate::tool::ResultForm;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Returns rounds of one call each, with outputs of these lengths, after a user message.
    fn rounds(n_chars: &[usize]) -> Vec<HistoryEntry> {
        let mut entries = vec![HistoryEntry::of_message(Message::user("do it"))];
        for (index, n_chars) in n_chars.iter().enumerate() {
            let call = ToolCall {
                id: format!("c{index}"),
                name: "grep".to_owned(),
                arguments: json!({}),
                raw_arguments: None,
                custom: false,
                provider_data: None,
            };
            let results =
                Message::tool_results(vec![result(&call, ResultForm::Text.done("x".repeat(*n_chars)), false)]);
            let mut answer = Message::assistant("");
            answer.content = vec![ContentPart::ToolCall(call)].into();
            entries.extend([HistoryEntry::of_message(answer), HistoryEntry::of_message(results)]);
        }
        entries
    }

    fn pruned(entries: &[HistoryEntry]) -> Vec<bool> {
        let results = entries.iter().filter(|entry| entry.kind == HistoryEntryKind::ToolResults);
        results.map(|entry| format!("{:?}", entry.message).contains("was removed")).collect()
    }

    fn compacted(n_chars: &[usize], tokens: u64, window: u64) -> Vec<bool> {
        let usage = ContextUse { tokens, window: Some(window) };
        let entries = block_on(PruneOldOutputs.compact(rounds(n_chars), usage));
        assert!(is_valid(&entries));
        pruned(&entries)
    }

    #[test]
    fn old_outputs_go_first_and_only_as_many_as_needed() {
        covers("context.compaction");
        let sizes = [4_000, 100, 4_000, 4_000, 4_000, 4_000];
        assert_eq!(compacted(&sizes, 5_025, 6_000), [true, false, true, true, false, false], "down to half");
        assert_eq!(compacted(&sizes, 5_025, 100_000), [true, false, true, true, false, false], "all it may");
        assert_eq!(compacted(&[9_000, 9_000], 4_500, 5_000), [false, false], "the latest two stay");
        assert!(!PruneOldOutputs.is_due(ContextUse { tokens: 80, window: Some(100) }));
        assert!(PruneOldOutputs.is_due(ContextUse { tokens: 81, window: Some(100) }));
        assert!(!PruneOldOutputs.is_due(ContextUse { tokens: 81, window: None }));
    }

    /// Small conversations with missing and misplaced messages.
    fn any_history() -> impl Strategy<Value = Vec<HistoryEntry>> {
        let entry = (0..rounds(&[1, 300, 1]).len()).prop_map(|index| rounds(&[1, 300, 1]).swap_remove(index));
        proptest::collection::vec(entry, 0..9)
    }

    fn config() -> ProptestConfig {
        let cases = if cfg!(target_family = "wasm") { 200 } else { 4_000 };
        ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
    }

    #[test]
    fn a_broken_conversation_is_repaired_and_a_whole_one_left_alone() {
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            config(),
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let n_valid = std::cell::Cell::new(0);
        runner
            .run(&any_history(), |entries| {
                let valid = is_valid(&entries);
                n_valid.set(n_valid.get() + u32::from(valid));
                let whole = repaired(entries.clone(), "lost", ResultForm::Text);
                prop_assert!(is_valid(&whole));
                prop_assert_eq!(repaired(whole.clone(), "lost", ResultForm::Text), whole.clone());
                if valid {
                    prop_assert_eq!(&whole, &entries);
                }
                let said = |entries: &[HistoryEntry]| {
                    let said = entries.iter().filter(|entry| entry.kind != HistoryEntryKind::ToolResults);
                    said.map(|entry| entry.message.clone()).collect::<Vec<_>>()
                };
                prop_assert_eq!(said(&whole), said(&entries), "nothing that was said is lost");
                Ok(())
            })
            .unwrap();
        assert!(n_valid.get() > 20, "{} valid ones among them", n_valid.get());
    }

    #[test]
    fn sizes_count_what_the_model_reads() {
        let sizes: Vec<u64> = rounds(&[10]).iter().map(|entry| chars_of(&entry.message)).collect();
        assert_eq!(sizes, [5, 6, 10]);
    }
}
