//! Makes `edit_file` calls whose old text occurs exactly once in the file.
//!
//! An edit covers whole lines. If they occur elsewhere too, neighbouring lines are added until the text is unique. Due
//! changes in added lines are part of the same edit.

use serde_json::json;

use super::needle::Needle;
use crate::markdown::LineEdit;
use crate::step::PlannedCall;

/// One replacement, and the position of its old text in the text it was made for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Edit {
    /// Returns the call that makes this edit.
    pub(crate) fn call(&self, path: &str) -> PlannedCall {
        PlannedCall::new(
            "edit_file",
            [("file_path", json!(path)), ("old_string", json!(self.old)), ("new_string", json!(self.new))],
        )
    }

    /// Makes the edit and returns the position after the new text.
    pub(crate) fn apply(&self, text: &mut String) -> usize {
        text.replace_range(self.start..self.start + self.old.len(), &self.new);
        self.start + self.new.len()
    }
}

/// A range of whole lines: byte offsets, without the LF of the last line.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    end: usize,
}

impl Window {
    fn around(text: &str, start: usize, end: usize) -> Self {
        Self {
            start: text[..start].rfind('\n').map_or(0, |at| at + 1),
            end: text[end..].find('\n').map_or(text.len(), |at| end + at),
        }
    }

    /// Adds one line, above or below according to `round`, if there is one.
    fn grow(self, text: &str, round: usize) -> Self {
        let can_grow_down = self.end < text.len();
        if can_grow_down && (round.is_multiple_of(2) || self.start == 0) {
            Self::around(text, self.start, self.end + 1)
        } else {
            Self::around(text, self.start.saturating_sub(1), self.end)
        }
    }

    fn is_whole(self, text: &str) -> bool {
        self.start == 0 && self.end == text.len()
    }
}

/// Returns the edit that replaces the first occurrence of `needle` at or after `cursor`.
pub(crate) fn next_substitution(text: &str, cursor: usize, needle: &Needle, to: &str) -> Option<Edit> {
    let first = needle.find(text, cursor)?;
    let changed = |window: Window| {
        let mut window = window;
        let mut new = String::new();
        let mut at = window.start;
        let mut from = first.start;
        while let Some(range) = needle.find(text, from).filter(|range| range.start < window.end) {
            window.end = window.end.max(Window::around(text, range.start, range.end).end);
            new.push_str(&text[at..range.start]);
            new.push_str(to);
            (at, from) = (range.end, range.end);
        }
        new.push_str(&text[at..window.end]);
        (window, new)
    };
    let window = unique(text, Window::around(text, first.start, first.end), |window| changed(window).0);
    let (window, new) = changed(window);
    Some(Edit { start: window.start, old: text[window.start..window.end].to_owned(), new })
}

/// Returns the edit that makes `change` in a text of these lines. The text must not be empty.
pub(crate) fn line_edit(lines: &[&str], change: &LineEdit) -> Edit {
    let (mut range, mut new) = (change.range.clone(), change.lines.as_slice());
    while range.len() > 1 && new.len() > 1 && lines[range.start] == new[0] {
        (range.start, new) = (range.start + 1, &new[1..]);
    }
    while range.len() > 1 && new.len() > 1 && lines[range.end - 1] == new[new.len() - 1] {
        (range.end, new) = (range.end - 1, &new[..new.len() - 1]);
    }
    let mut new: Vec<&str> = new.iter().map(String::as_str).collect();
    if range.is_empty() || new.is_empty() {
        // Whole lines are inserted and removed together with a line ending, so the edit needs a neighbour: the line
        // before, else the line after.
        if range.start > 0 {
            range.start -= 1;
            new.insert(0, lines[range.start]);
        } else if range.end < lines.len() {
            new.push(lines[range.end]);
            range.end += 1;
        }
    }
    let text = lines.join("\n");
    let offset = |line: usize| lines[..line].iter().map(|line| line.len() + 1).sum::<usize>();
    let (start, end) = (offset(range.start), offset(range.end) - 1);
    let window = unique(&text, Window { start, end }, |window| window);
    Edit {
        start: window.start,
        old: text[window.start..window.end].to_owned(),
        new: format!("{}{}{}", &text[window.start..start], new.join("\n"), &text[end..window.end]),
    }
}

/// Grows `window` until its text is not empty and occurs once. `complete` widens it to whole changes.
fn unique(text: &str, window: Window, complete: impl Fn(Window) -> Window) -> Window {
    let mut window = complete(window);
    let mut round = 0;
    while !window.is_whole(text) && !occurs_once(text, window) {
        // A text with many repetitions would need as many searches as it has lines, so later steps are larger.
        for _ in 0..(1 << (round / 8)) {
            window = window.grow(text, round);
            round += 1;
            if window.is_whole(text) {
                break;
            }
        }
        window = complete(window);
    }
    window
}

fn occurs_once(text: &str, window: Window) -> bool {
    let old = &text[window.start..window.end];
    if old.is_empty() {
        return false;
    }
    let elsewhere = |from: usize| text[from..].find(old).map(|at| from + at);
    let behind_first_char = |at: usize| at + text[at..].chars().next().map_or(1, char::len_utf8);
    elsewhere(0) == Some(window.start) && elsewhere(behind_first_char(window.start)).is_none()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::config;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Makes all edits, checks that each old text occurs once, and returns the text and the number of edits.
    #[track_caller]
    fn substitute(text: &str, from: &str, to: &str) -> (String, usize) {
        let needle = Needle { text: from.to_owned(), whole: true };
        let mut text = text.to_owned();
        let (mut cursor, mut count) = (0, 0);
        while let Some(edit) = next_substitution(&text, cursor, &needle, to) {
            assert_eq!(text.matches(&edit.old).count(), 1, "{edit:?}");
            cursor = edit.apply(&mut text);
            count += 1;
            assert!(count < 10_000);
        }
        (text, count)
    }

    #[track_caller]
    fn check(text: &str, expected: &str, edits: usize) {
        assert_eq!(substitute(text, "A", "B"), (expected.to_owned(), edits));
    }

    #[test]
    fn old_texts_occur_once() {
        check("A", "B", 1);
        check("A A\nx\nA", "B B\nx\nB", 2);
        check("A\nA\nA\n", "B\nB\nB\n", 1);
        check("A\nx\nA\ny\n", "B\nx\nB\ny\n", 2);
        check("\n\nA\n\nA\n\n", "\n\nB\n\nB\n\n", 1);
        check("AA\nA", "AA\nB", 1);
    }

    #[test]
    fn a_new_name_that_contains_the_old_one_is_not_replaced_again() {
        assert_eq!(substitute("use A;\nx A\n", "A", "c::A"), ("use c::A;\nx c::A\n".to_owned(), 2));
    }

    #[track_caller]
    fn check_lines(text: &str, range: std::ops::Range<usize>, new: &[&str], old: &str) {
        let lines: Vec<&str> = text.split('\n').collect();
        let change = LineEdit { range: range.clone(), lines: new.iter().map(|line| (*line).to_owned()).collect() };
        let edit = line_edit(&lines, &change);
        assert_eq!(edit.old, old);
        let mut edited = text.to_owned();
        edit.apply(&mut edited);
        assert_eq!(edited, [&lines[..range.start], new, &lines[range.end..]].concat().join("\n"));
    }

    #[test]
    fn lines_are_replaced_and_inserted() {
        check_lines("a\nb\nc", 1..2, &["x", "y"], "b");
        check_lines("a\nb\nc", 0..3, &["a", "x", "c"], "b");
        check_lines("a\nb\nc", 3..3, &["x"], "c");
        check_lines("a\nb\nc", 0..0, &["x"], "a");
        check_lines("a\n\nb\n\nb", 3..3, &["x"], "b\n");
        check_lines("a\na\na", 1..1, &["x"], "a\na\na");
    }

    #[test]
    fn a_file_of_one_line_repeated_needs_few_edits() {
        let (text, edits) = substitute(&"A\n".repeat(5_000), "A", "B");
        assert_eq!(text, "B\n".repeat(5_000));
        assert_eq!(edits, 1);
    }

    #[test]
    fn edits_equal_a_replacement_of_every_name() {
        let line = prop::sample::select(vec!["", "A", "A A", "AA", "x", "A x", "x A-b", "é A"]);
        let lines = prop::collection::vec(line, 0..12);
        let to = prop::sample::select(vec!["B", "A B", "AA", ""]);
        proptest!(config(2_000), |(lines in lines, to in to)| {
            let text = lines.join("\n");
            let words = text.split_inclusive([' ', '\n']).map(|word| {
                let bare = word.trim_end_matches([' ', '\n']);
                if bare == "A" { word.replacen('A', to, 1) } else { word.to_owned() }
            });
            let expected: String = words.collect();
            prop_assert_eq!(substitute(&text, "A", to).0, expected);
        });
    }

    #[test]
    fn line_edits_equal_a_replacement_of_the_lines() {
        let lines = || prop::collection::vec(prop::sample::select(vec!["", "a", "b", "aa"]), 0..8);
        let inputs = (lines(), lines(), lines(), lines());
        proptest!(config(2_000), |((before, old, after, new) in inputs)| {
            let all = [before.clone(), old.clone(), after.clone()].concat();
            prop_assume!(all.iter().any(|line| !line.is_empty()) && !(old.is_empty() && new.is_empty()));
            let range = before.len()..before.len() + old.len();
            let change = LineEdit { range, lines: new.iter().map(|line| (*line).to_owned()).collect() };
            let edit = line_edit(&all, &change);
            let mut text = all.join("\n");
            prop_assert!(!edit.old.is_empty());
            prop_assert_eq!(text.matches(&edit.old).count(), 1);
            edit.apply(&mut text);
            prop_assert_eq!(text, [before, new, after].concat().join("\n"));
        });
    }
}
