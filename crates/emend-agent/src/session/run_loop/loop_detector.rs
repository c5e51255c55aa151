//! Detects a model that repeats its tool calls.

use emend_edit::ContentHash;
use emend_llm::ToolCall;

/// Maximum length of a repeated cycle of calls.
const CYCLE_MAX: usize = 5;

/// The latest calls for one user message. A new user message starts afresh, because a user may ask for the same thing
/// twice.
#[derive(Default)]
pub(in crate::session) struct LoopDetector {
    recent: Vec<ContentHash>,
}

impl LoopDetector {
    /// Records calls in order. Returns whether the last `window` calls repeat a cycle of one to five calls at least
    /// twice. After a hit the recorded calls are cleared, so that the model is warned once and not in every round.
    pub(in crate::session) fn note(&mut self, calls: &[ToolCall], window: usize) -> bool {
        self.recent.extend(calls.iter().map(signature));
        if window < 2 || self.recent.len() < window {
            return false;
        }
        self.recent.drain(..self.recent.len() - window);
        let recent = &self.recent;
        let repeats = |cycle: usize| recent.iter().zip(&recent[cycle..]).all(|(a, b)| a == b);
        let found = (1..=CYCLE_MAX.min(window / 2)).any(repeats);
        if found {
            self.recent.clear();
        }
        found
    }
}

/// Returns the identity of a call: its name and arguments.
fn signature(call: &ToolCall) -> ContentHash {
    ContentHash::of(format!("{}\0{}", call.name, call.arguments).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn call(name: char) -> ToolCall {
        let name = name.to_string();
        let arguments = json!({ "file_path": name });
        ToolCall { id: "1".to_owned(), name, arguments, raw_arguments: None, custom: false, provider_data: None }
    }

    /// Records the calls of each message; returns the messages in which a loop was found, from 1.
    fn found(messages: &str, window: usize) -> Vec<usize> {
        let mut detector = LoopDetector::default();
        let messages = messages.split(' ').enumerate();
        let hits = messages.filter_map(|(index, calls)| {
            let calls: Vec<ToolCall> = calls.chars().map(call).collect();
            detector.note(&calls, window).then_some(index + 1)
        });
        hits.collect()
    }

    #[test]
    fn cycles_of_one_to_five_calls_are_found() {
        assert_eq!(found("a a a a", 4), [4]);
        assert_eq!(found("a a a b", 4), [0; 0]);
        assert_eq!(found("a b a b", 4), [4]);
        assert_eq!(found("abc abc abc", 9), [3]);
        assert_eq!(found("a b c a b c a b c a", 10), [10], "ten is no multiple of three");
        assert_eq!(found("abcde abcde", 10), [2]);
        assert_eq!(found("abcdef abcdef", 12), [0; 0], "six different calls are work");
        assert_eq!(found("aaaaaaaaaa", 10), [1], "in one message");
        assert_eq!(found("aa", 1), [0; 0]);
    }

    #[test]
    fn a_loop_is_told_once_until_it_has_gone_on_as_long_again() {
        covers("loop.detection");
        assert_eq!(found("a a a a a a a a", 4), [4, 8]);
        assert_eq!(found("x y a a a a", 4), [6]);
    }

    /// A direct implementation of the rule: the window repeats a cycle of one, two or three calls.
    fn seed_rule(recent: &[char], window: usize) -> bool {
        let Some(recent) = recent.len().checked_sub(window).map(|at| &recent[at..]) else { return false };
        [1, 2, 3].into_iter().any(|length| {
            window.is_multiple_of(length) && recent.chunks(length).all(|chunk| chunk == &recent[..length])
        })
    }

    #[test]
    fn whatever_the_seeds_rule_finds_is_found() {
        covers("loop.detection");
        let mut n_found = 0;
        for bits in 0..1_u32 << 12 {
            let calls: Vec<char> = (0..12).map(|at| if bits >> at & 1 == 1 { 'a' } else { 'b' }).collect();
            for window in [2, 4, 6, 10] {
                let mut detector = LoopDetector::default();
                let first = calls.iter().position(|name| detector.note(&[call(*name)], window));
                let expected = (1..=12).position(|end| seed_rule(&calls[..end], window));
                // A window of two has no room for a cycle of two.
                if let Some(expected) = expected.filter(|_| window > 2) {
                    assert!(first.is_some_and(|first| first <= expected), "{calls:?} {window}");
                    n_found += 1;
                }
            }
        }
        assert!(n_found > 500, "{n_found} cases with a loop");
    }
}
