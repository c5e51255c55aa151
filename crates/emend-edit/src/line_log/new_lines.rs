//! The lines of a write that differ from the text before, found without splitting the rest of the text.

use crate::diff::{Op, diff_slices};
use crate::line_log::log::LineLog;
use crate::line_log::sequence::TokenIx;
use crate::text::{same_bytes, split_lines};

/// Number of unchanged lines after the changed ones that are compared too, because a diff moves changes down over equal
/// lines.
const LINES_BELOW: usize = 32;
/// Number of lines that are compared at once while a text is as before. A large text with one change has many.
const LINES_AT_ONCE: usize = 16;

/// Lines of a new text, and their difference from tokens.
pub(super) struct NewLines<'a> {
    pub(super) lines: Vec<&'a str>,
    /// The ranges of `lines` that are new, and those of all tokens that they replace.
    pub(super) ops: Vec<Op>,
}

impl LineLog {
    /// Returns the lines of `text` around the differences from the text of `tokens`, with the ranges that
    /// [`diff_slices`] finds between all lines.
    ///
    /// Returns `None` if all lines are needed: a token has no line ending, or the text changed nearly everywhere.
    pub(super) fn changed_lines<'a>(&self, tokens: &[TokenIx], text: &'a str) -> Option<NewLines<'a>> {
        let (sequence, bytes) = (&self.sequence, text.as_bytes());
        let is_bare = |token: TokenIx| sequence.is_bare_at(sequence.range(token).end);
        let (mut first, mut start) = (0, 0);
        while let Some(&token) = tokens.get(first) {
            if let Some(block) = tokens.get(first..first + LINES_AT_ONCE).and_then(|block| self.joined(block))
                && bytes.get(start..start + block.len()).is_some_and(|new| same_bytes(new, block))
            {
                (first, start) = (first + LINES_AT_ONCE, start + block.len());
                continue;
            }
            let line = sequence.text(token).as_bytes();
            if is_bare(token) {
                return None;
            }
            // A CR at the end of a token is not the CR of a CRLF.
            let is_same = bytes.get(start..start + line.len()).is_some_and(|new| same_bytes(new, line));
            if !is_same || line.ends_with(b"\r") && bytes.get(start + line.len()) == Some(&b'\n') {
                break;
            }
            (first, start) = (first + 1, start + line.len());
        }
        let (mut last, mut end) = (tokens.len(), text.len());
        while last > first {
            if let Some(from) = last.checked_sub(LINES_AT_ONCE).filter(|&from| from >= first)
                && let Some(block) = self.joined(&tokens[from..last])
                && let Some(at) = end.checked_sub(block.len()).filter(|&at| at > start)
                && bytes[at - 1] == b'\n'
                && same_bytes(&bytes[at..end], block)
            {
                (last, end) = (from, at);
                continue;
            }
            let line = sequence.text(tokens[last - 1]).as_bytes();
            if is_bare(tokens[last - 1]) {
                return None;
            }
            let Some(at) = end.checked_sub(line.len()).filter(|&at| at >= start) else { break };
            let begins_line = match at.checked_sub(1).map(|before| bytes[before]) {
                None | Some(b'\n') => true,
                Some(b'\r') => line != b"\n",
                Some(_) => false,
            };
            if !begins_line || !same_bytes(&bytes[at..end], line) {
                break;
            }
            (last, end) = (last - 1, at);
        }
        if tokens[first..last].iter().any(|&token| is_bare(token)) {
            return None;
        }
        let below = &tokens[last..tokens.len().min(last + LINES_BELOW)];
        let (last, end) =
            below.iter().fold((last, end), |(last, end), &token| (last + 1, end + sequence.text(token).len()));
        let old: Vec<&str> = tokens[first..last].iter().map(|&token| sequence.text(token)).collect();
        let lines = split_lines(&text[start..end]);
        let mut ops = diff_slices(&old, &lines);
        if last < tokens.len() && ops.last().is_some_and(|op| op.old.end == old.len()) {
            return None;
        }
        for op in &mut ops {
            op.old = op.old.start + first..op.old.end + first;
        }
        Some(NewLines { lines, ops })
    }

    /// Returns the text of tokens that are next to each other in the sequence's text and all end in LF; otherwise `None`.
    fn joined(&self, tokens: &[TokenIx]) -> Option<&[u8]> {
        let text = self.sequence.bytes();
        let mut run = self.sequence.range(*tokens.first()?);
        run.end = run.start;
        for &token in tokens {
            let line = self.sequence.range(token);
            if line.start != run.end || line.is_empty() || text[line.end - 1] != b'\n' {
                return None;
            }
            run.end = line.end;
        }
        Some(&text[run])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::line_log::log::View;
    use crate::test_support::cases;

    /// Checks the changed lines against a diff of all lines; returns whether they were found.
    #[track_caller]
    fn check(old: &str, new: &str) -> bool {
        let log = LineLog::new(Some(old));
        let Some(found) = log.changed_lines(&log.tokens_in(View::Visible), new) else { return false };
        let (old_lines, new_lines) = (split_lines(old), split_lines(new));
        let all = diff_slices(&old_lines, &new_lines);
        let before = all.first().map_or(0, |op| op.new.start) - found.ops.first().map_or(0, |op| op.new.start);
        let shifted = |op: &Op| Op { old: op.old.clone(), new: op.new.start + before..op.new.end + before };
        assert_eq!(found.ops.iter().map(shifted).collect::<Vec<_>>(), all, "{old:?} {new:?}");
        for op in &found.ops {
            let shifted = shifted(op);
            assert_eq!(found.lines[op.new.clone()], new_lines[shifted.new], "{old:?} {new:?}");
        }
        true
    }

    #[test]
    fn changed_lines_are_those_of_a_whole_diff() {
        let many = "}\n".repeat(100);
        let numbered: String = (0..40).map(|number| format!("line {number}\n")).collect();
        for (old, new, is_found) in [
            ("", "", true),
            ("a\n", "", true),
            ("", "a\n", true),
            ("a\nb\nc\n", "a\nB\nc\n", true),
            ("a\nb\n", "a\nb", true),
            ("a\r\nb\r\n", "a\nb\r\n", true),
            ("a\rb\r", "a\r\nb\r", true),
            ("\n", "\r\n", true),
            ("a\r\nb\n", "a\r\n\nb\n", true),
            ("a", "a\n", false),
            (&many, &many[2..], true),
            // The changed line ends as the first line of a block of unchanged ones.
            (&numbered, &numbered.replace("line 24\n", "my line 24\n"), true),
            (&numbered, &numbered.replace("line 15\n", "line 15 too\n"), true),
            // The diff moves the deletion down to the end.
            (&format!("x\na\n{many}"), &format!("y\na\n{}", &many[2..]), false),
            (&format!("x\na\n{many}b\n"), &format!("y\na\n{}b\n", &many[2..]), false),
        ] {
            assert_eq!(check(old, new), is_found, "{old:?} {new:?}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop_oneof![4 => Just("}\n"), 3 => Just("a\n"), 2 => Just("b\n"), 1 => Just("a\r\n"), 1 => Just("a\r"), 1 => Just("\n")];
        proptest::collection::vec(line, 0..60).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(cases(20_000))]

        #[test]
        fn any_changed_lines_are_those_of_a_whole_diff(
            before in text(), old in text(), new in text(), after in text(), tail in prop_oneof![Just(""), Just("end")]
        ) {
            check(&format!("{before}{old}{after}"), &format!("{before}{new}{after}{tail}"));
        }
    }
}
