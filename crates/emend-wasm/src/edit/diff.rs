//! Diffs of two texts, as numbers that point into both.
//!
//! JavaScript already has both texts. It needs the offsets of their lines and the pairing of old and new lines. Copying
//! every line across would take longer than computing the diff.

use emend_edit::diff::{self, HunkLine, LineKind, Names, TextHunk, WordSpans, hunks_of, unified};
use emend_edit::text::split_lines;
use wasm_bindgen::prelude::*;

use super::{count, input_slots};

/// Returns the hunks between two texts.
///
/// For each hunk: `old_start, old_lines, new_start, new_lines`, the number of its lines, and for each line its kind (0
/// context, 1 removed, 2 added) and where it starts and ends in its text, in UTF-16 code units; context lines point into
/// the old text. With `with_words`, each line is followed by the number of its spans and their bounds within the line.
///
/// The old text is in slot 0 of [`super::input_slots`], the new text in slot 1. JavaScript passes the number of UTF-8 bytes
/// and of UTF-16 code units of each: if they are equal, byte offsets and code unit offsets are the same.
#[wasm_bindgen(js_name = diffHunks)]
pub fn diff_hunks(
    old_bytes: u32,
    old_units: u32,
    new_bytes: u32,
    new_units: u32,
    context: u32,
    with_words: bool,
) -> Result<Vec<u32>, JsValue> {
    let (old, new) = (input_slots::take(0, old_bytes)?, input_slots::take(1, new_bytes)?);
    Ok(numbers_of((&old, old_units), (&new, new_units), context, with_words))
}

fn numbers_of(
    (old, old_units): (&str, u32),
    (new, new_units): (&str, u32),
    context: u32,
    with_words: bool,
) -> Vec<u32> {
    let (old_lines, new_lines) = (split_lines(old), split_lines(new));
    let (mut old_offsets, mut new_offsets) =
        (LineOffsets::new(old, old_units, &old_lines), LineOffsets::new(new, new_units, &new_lines));
    let mut out = Vec::new();
    for hunk in hunks_of(&old_lines, &new_lines, count(context)) {
        let bounds = [hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, hunk.lines.len()];
        out.extend(bounds.map(|number| number as u32));
        let mut spans = if with_words { spans_of(&hunk) } else { Vec::new() };
        for (index, line) in hunk.lines.iter().enumerate() {
            let (start, end) = match (line.old, line.new) {
                (Some(number), _) => old_offsets.of_line(number),
                (None, Some(number)) => new_offsets.of_line(number),
                (None, None) => (0, 0),
            };
            out.extend([kind_number(line.kind), start, end]);
            if let Some(spans) = spans.get_mut(index) {
                out.push(spans.len() as u32 / 2);
                out.append(spans);
            }
        }
    }
    out
}

fn kind_number(kind: LineKind) -> u32 {
    match kind {
        LineKind::Context => 0,
        LineKind::Removed => 1,
        LineKind::Added => 2,
    }
}

/// Converts line numbers of a text to offsets in UTF-16 code units.
struct LineOffsets<'a> {
    text: &'a str,
    lines: &'a [&'a str],
    /// Whether offsets in bytes equal offsets in UTF-16 code units.
    is_ascii: bool,
    /// The last converted offset in bytes, from which the next conversion continues.
    bytes: usize,
    /// The same offset in UTF-16 code units.
    units: u32,
}

impl<'a> LineOffsets<'a> {
    fn new(text: &'a str, units: u32, lines: &'a [&'a str]) -> Self {
        Self { text, lines, is_ascii: text.len() == units as usize, bytes: 0, units: 0 }
    }

    /// Returns the start and end of line `number`, counted from 1. Calls must be in order of lines.
    fn of_line(&mut self, number: usize) -> (u32, u32) {
        let Some(line) = self.lines.get(number - 1) else { return (0, 0) };
        // Each line is a slice of the text.
        let start = line.as_ptr().addr() - self.text.as_ptr().addr();
        if self.is_ascii {
            return (start as u32, (start + line.len()) as u32);
        }
        self.units += utf16_len(&self.text[self.bytes..start]);
        self.bytes = start;
        (self.units, self.units + utf16_len(line))
    }
}

fn utf16_len(text: &str) -> u32 {
    text.chars().map(|c| c.len_utf16() as u32).sum()
}

/// Returns, for each line of a hunk, the ranges in which it differs from its counterpart.
///
/// A run of removed lines and the following run of added lines are paired one by one if both have the same length.
fn spans_of(hunk: &TextHunk) -> Vec<Vec<u32>> {
    let lines = &hunk.lines;
    let mut spans = vec![Vec::new(); lines.len()];
    let run = |lines: &[HunkLine], kind| lines.iter().take_while(|line| line.kind == kind).count();
    let mut at = 0;
    while at < lines.len() {
        let n_removed = run(&lines[at..], LineKind::Removed);
        let n_added = run(&lines[at + n_removed..], LineKind::Added);
        if n_removed == n_added {
            for index in at..at + n_removed {
                let (old, new) = (&lines[index].text, &lines[index + n_removed].text);
                let WordSpans { old: in_old, new: in_new } = diff::word_spans(old, new);
                spans[index] = in_utf16(old, &in_old);
                spans[index + n_removed] = in_utf16(new, &in_new);
            }
        }
        at += (n_removed + n_added).max(1);
    }
    spans
}

fn in_utf16(text: &str, ranges: &[std::ops::Range<usize>]) -> Vec<u32> {
    ranges.iter().flat_map(|range| [utf16_len(&text[..range.start]), utf16_len(&text[..range.end])]).collect()
}

/// Returns the ranges in which two versions of a line differ: the number of ranges in the old line, their bounds, then the
/// bounds of the ranges in the new line.
#[wasm_bindgen(js_name = wordSpans)]
pub fn word_spans(old: &str, new: &str) -> Vec<u32> {
    let spans = diff::word_spans(old, new);
    let mut out = vec![spans.old.len() as u32];
    out.extend(in_utf16(old, &spans.old));
    out.extend(in_utf16(new, &spans.new));
    out
}

/// Returns a unified diff, empty if the texts are equal.
#[wasm_bindgen(js_name = unifiedDiff)]
pub fn unified_diff(
    old_bytes: u32,
    new_bytes: u32,
    context: u32,
    old_name: &str,
    new_name: &str,
) -> Result<String, JsValue> {
    let (old, new) = (input_slots::take(0, old_bytes)?, input_slots::take(1, new_bytes)?);
    Ok(unified(&old, &new, count(context), Names { old: old_name, new: new_name }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// A text with its number of UTF-16 code units, as JavaScript passes it.
    fn given(text: &str) -> (&str, u32) {
        (text, utf16_len(text))
    }

    #[track_caller]
    fn check(old: &str, new: &str, with_words: bool, expected: &[u32]) {
        assert_eq!(numbers_of(given(old), given(new), 1, with_words), expected);
    }

    #[test]
    fn lines_are_given_as_offsets() {
        check("same\n", "same\n", true, &[]);
        check("a\nb\nc\n", "a\nx\nc\n", false, &[1, 3, 1, 3, 4, 0, 0, 2, 1, 2, 4, 2, 2, 4, 0, 4, 6]);
        check("", "new", false, &[0, 0, 1, 1, 1, 2, 0, 3]);
    }

    #[test]
    fn offsets_count_utf16_code_units() {
        check("🦀é\nold", "🦀é\nnew", false, &[1, 2, 1, 2, 3, 0, 0, 4, 1, 4, 7, 2, 4, 7]);
        check("🦀 a\n", "🦀 b\n", true, &[1, 1, 1, 1, 2, 1, 0, 5, 1, 3, 4, 2, 0, 5, 1, 3, 4]);
    }

    #[test]
    fn words_are_compared_only_where_lines_are_counterparts() {
        check("a\nb\n", "x\n", true, &[1, 2, 1, 1, 3, 1, 0, 2, 0, 1, 2, 4, 0, 2, 0, 2, 0]);
        assert_eq!(word_spans("let a = 1", "let b = 1"), [1, 4, 5, 4, 5]);
    }

    #[test]
    fn a_context_larger_than_the_texts_includes_all_lines() {
        assert_eq!(numbers_of(given("a\nb\n"), given("a\nc\n"), u32::MAX, false)[..5], [1, 2, 1, 2, 3]);
    }
}
