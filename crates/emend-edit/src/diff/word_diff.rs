//! Word differences within a line, for display only.
//!
//! Edits, decisions and the line log work on whole lines. No edit is ever applied by words.

use std::ops::Range;

use crate::diff::line_diff::diff_slices;

/// The parts in which an old and a new version of one line differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordSpans {
    /// Byte ranges of the old line that the new line lacks, in order.
    pub old: Vec<Range<usize>>,
    /// Byte ranges of the new line that the old line lacks, in order.
    pub new: Vec<Range<usize>>,
}

/// Returns the words in which two versions of a line differ.
///
/// A word is a run of letters, digits and underscores, or a run of whitespace; any other character is a word of its
/// own. Changes separated only by whitespace are joined. Ranges lie on character boundaries.
///
/// ```
/// use emend_edit::diff::word_spans;
/// let spans = word_spans("let a = f(x);", "let b = f(x);");
/// assert_eq!((spans.old, spans.new), (vec![4..5], vec![4..5]));
/// ```
#[must_use]
pub fn word_spans(old_line: &str, new_line: &str) -> WordSpans {
    let (old_words, new_words) = (words(old_line), words(new_line));
    let old_texts: Vec<&str> = old_words.iter().map(|word| &old_line[word.clone()]).collect();
    let new_texts: Vec<&str> = new_words.iter().map(|word| &new_line[word.clone()]).collect();
    let ops = diff_slices(&old_texts, &new_texts);
    let cover = |words: &[Range<usize>], run: &Range<usize>| match run.is_empty() {
        true => None,
        false => Some(words[run.start].start..words[run.end - 1].end),
    };
    WordSpans {
        old: join(ops.iter().filter_map(|op| cover(&old_words, &op.old)), old_line),
        new: join(ops.iter().filter_map(|op| cover(&new_words, &op.new)), new_line),
    }
}

/// Joins spans that only whitespace separates: changing "the big dog" to "a large cat" is one change, not three.
fn join(spans: impl Iterator<Item = Range<usize>>, line: &str) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if line[last.end..span.start].trim().is_empty() => last.end = span.end,
            _ => joined.push(span),
        }
    }
    joined
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Word,
    Whitespace,
    Other,
}

fn class_of(c: char) -> Class {
    match c {
        c if c.is_alphanumeric() || c == '_' => Class::Word,
        c if c.is_whitespace() => Class::Whitespace,
        _ => Class::Other,
    }
}

fn words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<(Class, Range<usize>)> = Vec::new();
    for (at, c) in line.char_indices() {
        let (class, end) = (class_of(c), at + c.len_utf8());
        match words.last_mut() {
            Some((last, range)) if *last == class && class != Class::Other => range.end = end,
            _ => words.push((class, at..end)),
        }
    }
    words.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_support::cases;

    #[track_caller]
    fn check(old: &str, new: &str, expected: (&[&str], &[&str])) {
        let spans = word_spans(old, new);
        let texts = |line: &str, ranges: &[Range<usize>]| -> Vec<String> {
            ranges.iter().map(|range| line[range.clone()].to_owned()).collect()
        };
        assert_eq!(texts(old, &spans.old), expected.0);
        assert_eq!(texts(new, &spans.new), expected.1);
    }

    #[test]
    fn changed_words_are_found() {
        check("let a = f(x);", "let b = f(x);", (&["a"], &["b"]));
        check("the big dog barks", "the large cat barks", (&["big dog"], &["large cat"]));
        check("f(x)", "f(x, y)", (&[], &[", y"]));
        check("größer als", "großer als", (&["größer"], &["großer"]));
        check("same", "same", (&[], &[]));
        check("", "new", (&[], &["new"]));
        check("a.b", "a,b", (&["."], &[","]));
    }

    proptest! {
        #![proptest_config(cases(2_000))]

        #[test]
        fn the_lines_are_equal_outside_the_spans(old in "[ab_é .,()]{0,16}", new in "[ab_é .,()]{0,16}") {
            let spans = word_spans(&old, &new);
            let rest = |line: &str, ranges: &[Range<usize>]| {
                let mut rest = line.to_owned();
                ranges.iter().rev().for_each(|range| rest.replace_range(range.clone(), ""));
                rest.retain(|c| !c.is_whitespace());
                rest
            };
            prop_assert_eq!(rest(&old, &spans.old), rest(&new, &spans.new));
            for ranges in [&spans.old, &spans.new] {
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
