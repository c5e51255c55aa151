//! The lines of a file, laid out for searching at a level of leniency.
//!
//! One search takes time linear in the file, whatever the pattern is (Knuth-Morris-Pratt over lines). After searches
//! have passed over the whole file once, an index of lines makes further ones nearly free, so that many hunks that do
//! not match exactly stay linear together. [`crate::locate::placement`] decides which of several matches is meant.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use crate::locate::leniency::{LENIENCIES, Leniency, equal};
use crate::locate::line_buckets::LineBuckets;
use crate::text::split_bom;

/// The lines of a file. A byte-order mark belongs to none of them.
pub(crate) struct LineTable<'a> {
    text: &'a str,
    // The offsets at which each line starts and its content ends.
    lines: Vec<(usize, usize)>,
    /// Number of lines that searches have looked at.
    n_searched: Cell<usize>,
    index: OnceCell<Option<LineBuckets>>,
}

impl<'a> LineTable<'a> {
    /// Splits `text` at LF, CRLF and CR.
    pub(crate) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut start = split_bom(text).0.len();
        let mut lines = Vec::with_capacity(text.len() / 32);
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if at < start {
                continue;
            }
            lines.push((start, at));
            start = at + if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
        }
        if start < text.len() {
            lines.push((start, text.len()));
        }
        Self::of(text, lines)
    }

    /// Splits `text` at LF and CRLF only, as unified diffs count lines.
    pub(crate) fn of_lf_lines(text: &'a str) -> Self {
        let mut start = split_bom(text).0.len();
        let mut lines = Vec::with_capacity(text.len() / 32);
        for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
            let content = &text[start..at];
            lines.push((start, start + content.strip_suffix('\r').unwrap_or(content).len()));
            start = at + 1;
        }
        if start < text.len() {
            lines.push((start, text.len()));
        }
        Self::of(text, lines)
    }

    fn of(text: &'a str, lines: Vec<(usize, usize)>) -> Self {
        Self { text, lines, n_searched: Cell::new(0), index: OnceCell::new() }
    }

    /// Returns the byte-order mark, empty if there is none.
    pub(crate) fn bom(&self) -> &'a str {
        split_bom(self.text).0
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns line `index` without its line ending.
    pub(crate) fn content(&self, index: usize) -> &'a str {
        let (start, end) = self.lines[index];
        &self.text[start..end]
    }

    /// Returns the line ending of line `index`, empty if it has none.
    pub(crate) fn eol(&self, index: usize) -> &'a str {
        &self.text[self.lines[index].1..self.start(index + 1)]
    }

    /// Returns the offset at which line `index` starts. Past the last line this is the length of the text.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.lines.get(index).map_or(self.text.len(), |&(start, _)| start)
    }

    /// Returns the text of the given lines, line endings included.
    pub(crate) fn text(&self, lines: Range<usize>) -> &'a str {
        &self.text[self.start(lines.start)..self.start(lines.end)]
    }

    /// Returns the lines without line endings.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().map(|&(start, end)| &self.text[start..end])
    }

    /// Returns the first line of the first match of `pattern` that lies within `range`.
    pub(crate) fn find(&self, pattern: &[&str], leniency: Leniency, range: Range<usize>) -> Option<usize> {
        let range = range.start..range.end.min(self.len());
        if let Some(starts) = self.index().and_then(|index| index.candidates(pattern, range.clone())) {
            let matches_at =
                |start: usize| pattern.iter().zip(start..).all(|(line, at)| equal(leniency, self.content(at), line));
            return { starts }.find(|&start| matches_at(start));
        }
        let found = self.matches(pattern, leniency, range.clone()).next();
        let looked_at = found.unwrap_or(range.end).saturating_sub(range.start);
        self.n_searched.set(self.n_searched.get() + looked_at);
        found
    }

    /// Returns the index if the searches so far were long enough to make up for building it.
    fn index(&self) -> Option<&LineBuckets> {
        if self.index.get().is_none() && self.n_searched.get() <= self.len() {
            return None;
        }
        self.index.get_or_init(|| LineBuckets::of(self.len(), self.contents())).as_ref()
    }

    /// Returns the first line of every match of `pattern` within `range`, overlapping matches included.
    ///
    /// The empty pattern has no match.
    pub(crate) fn matches<'b>(
        &'b self,
        pattern: &'b [&'b str],
        leniency: Leniency,
        range: Range<usize>,
    ) -> impl Iterator<Item = usize> + use<'a, 'b> {
        let fallback = fallbacks(pattern, leniency);
        let mut matched = 0;
        let lines = range.start..range.end.min(self.len());
        lines.filter_map(move |index| {
            let content = self.content(index);
            while matched > 0 && !equal(leniency, content, pattern[matched]) {
                matched = fallback[matched - 1];
            }
            if pattern.get(matched).is_some_and(|line| equal(leniency, content, line)) {
                matched += 1;
            }
            if matched == 0 || matched < pattern.len() {
                return None;
            }
            matched = fallback[matched - 1];
            Some(index + 1 - pattern.len())
        })
    }

    /// Returns the strictest level at which `pattern` matches at line `start`.
    pub(crate) fn leniency_at(&self, pattern: &[&str], start: usize) -> Option<Leniency> {
        if start + pattern.len() > self.len() {
            return None;
        }
        let matches_at = |leniency| {
            pattern.iter().enumerate().all(|(index, line)| equal(leniency, self.content(start + index), line))
        };
        LENIENCIES.into_iter().find(|&leniency| matches_at(leniency))
    }
}

/// Returns for each prefix of `pattern` the length of its longest proper prefix that is also its suffix.
fn fallbacks(pattern: &[&str], leniency: Leniency) -> Vec<usize> {
    let mut fallback = vec![0; pattern.len()];
    let mut matched = 0;
    for index in 1..pattern.len() {
        while matched > 0 && !equal(leniency, pattern[index], pattern[matched]) {
            matched = fallback[matched - 1];
        }
        if equal(leniency, pattern[index], pattern[matched]) {
            matched += 1;
        }
        fallback[index] = matched;
    }
    fallback
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::cases;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn contents_and_line_endings_concatenate_to_the_text() {
        for text in ["", "\u{feff}", "a", "\u{feff}a\r\nb\rc\n\n", "a\r\r\n"] {
            let table = LineTable::new(text);
            let joined: String = (0..table.len()).map(|line| [table.content(line), table.eol(line)].concat()).collect();
            assert_eq!([table.bom(), &joined].concat(), text);
            assert_eq!(table.text(0..table.len()), joined);
            assert_eq!(table.contents().count(), table.len());
        }
    }

    proptest! {
        #![proptest_config(cases(2_000))]

        #[test]
        fn every_match_is_found(file in "[ab ]{0,12}", pattern in "[ab ]{1,4}") {
            let text: String = file.chars().map(|c| format!("{c}\n")).collect();
            let pattern: Vec<String> = pattern.chars().map(String::from).collect();
            let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
            let table = LineTable::new(&text);
            for leniency in LENIENCIES {
                let found: Vec<usize> = table.matches(&pattern, leniency, 0..table.len()).collect();
                let expected: Vec<usize> = (0..(table.len() + 1).saturating_sub(pattern.len()))
                    .filter(|start| pattern.iter().enumerate().all(|(i, line)| equal(leniency, table.content(start + i), line)))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn the_index_does_not_change_the_result(
            file in "[ab \u{2013}-]{0,24}",
            pattern in "[ab -]{1,3}",
            from in 0..8_usize,
            to in 0..26_usize,
        ) {
            let text: String = file.chars().map(|c| format!("{c}\n")).collect();
            let pattern: Vec<String> = pattern.chars().map(String::from).collect();
            let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
            let (plain, indexed) = (LineTable::new(&text), LineTable::new(&text));
            prop_assert!(indexed.index.set(LineBuckets::of(indexed.len(), indexed.contents())).is_ok());
            for leniency in LENIENCIES {
                let found = indexed.find(&pattern, leniency, from..to);
                prop_assert_eq!(found, plain.matches(&pattern, leniency, from..to).next());
            }
        }
    }
}
