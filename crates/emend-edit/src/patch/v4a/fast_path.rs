//! The fast path for the common case: every hunk matches word for word, and every line of the file ends in LF.
//!
//! Searching the bytes of a hunk's lines is several times faster than comparing line by line. A hunk whose lines have
//! trailing whitespace also qualifies if the file has none: exact matching cannot succeed, and trimmed matching is
//! then a byte search.
//!
//! All other cases are left to [`super::apply()`], errors included. A property test checks that both give the same
//! result.

use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::diff::LineKind;
use crate::locate::leniency::Leniency;
use crate::patch::model::AppliedHunk;
use crate::patch::v4a::model::{V4aHunk, V4aResult};
use crate::size::compact_sort::sort_by_key;
use crate::text::BOM;
use crate::text::line_hash::line_hash;

/// Applies `hunks` to `before` if each has old lines and exactly one verbatim place, ignoring trailing whitespace of
/// hunks if the file has none. Returns `None` otherwise.
pub(super) fn apply(before: &str, hunks: &[V4aHunk]) -> Option<V4aResult> {
    // In other texts a byte search would miss the first or last line, which may be a second place.
    let is_plain_text =
        before.ends_with('\n') && !before.starts_with(BOM) && memchr::memchr(b'\r', before.as_bytes()).is_none();
    let is_plain = |hunk: &V4aHunk| {
        let loose_anchor = hunk.anchors.iter().any(|anchor| ends_in_whitespace(anchor));
        !hunk.end_of_file && !loose_anchor && hunk.lines.old().next().is_some()
    };
    if !is_plain_text || !hunks.iter().all(is_plain) {
        return None;
    }
    let written = PatternLines::of(hunks);
    if written.loose.contains(&true) && has_trailing_whitespace(before) {
        return None;
    }
    let frequency = Frequency::of(&written);
    let pattern = |lines| Pattern::new(&written, lines, &frequency);
    let mut found = Vec::with_capacity(hunks.len());
    let mut cursor = 0;
    for index in 0..hunks.len() {
        let (mut from, mut first) = (cursor, None);
        for anchor in written.anchors(index) {
            let mut anchor = pattern(anchor);
            let Search::Found(start) = anchor.find(before, from..before.len()) else { return None };
            from = start + anchor.text.len();
            first.get_or_insert((anchor, start));
        }
        let text = written.text_of(written.old(index));
        let near = first.as_ref().and_then(|_| find_near(before, from, text));
        let (start, searched) = match near {
            Some(start) => (start, None),
            None => {
                let mut lines = pattern(written.old(index));
                let Search::Found(start) = lines.find(before, from..before.len()) else { return None };
                (start, Some((lines, start)))
            }
        };
        cursor = start + text.len();
        // Another place would be below another first anchor, or anywhere if there is no anchor.
        let (key, key_start) = first.or(searched)?;
        found.push((start..cursor, key, key_start));
    }
    let mut limit = before.len();
    for ((place, key, key_start), hunk) in found.iter_mut().zip(hunks).rev() {
        if hunk.lines.changes() && key.find(before, *key_start + 1..limit) != Search::NotFound {
            return None;
        }
        limit = place.start;
    }
    let places: Vec<Range<usize>> = found.into_iter().map(|(place, ..)| place).collect();
    Some(build(before, hunks, &written.loose, &places))
}

/// Returns the offset of `lines` if they are in the few lines from byte `from` on, which is the start of a line.
///
/// Most hunks are near their anchor, and looking there takes less time than preparing a search.
fn find_near(text: &str, from: usize, lines: &str) -> Option<usize> {
    const LINES_MAX: usize = 16;
    let ends = memchr::memchr_iter(b'\n', &text.as_bytes()[from..]).map(|at| from + at + 1);
    std::iter::once(from).chain(ends).take(LINES_MAX).find(|&start| text[start..].starts_with(lines))
}

/// Returns whether a line that ends in LF has trailing whitespace.
fn has_trailing_whitespace(text: &str) -> bool {
    const CHUNK_BYTES: usize = 4096;
    let bytes = text.as_bytes();
    let (mut start, mut rest) = (0, bytes);
    while rest.len() > 1 {
        let chunk = &rest[..rest.len().min(CHUNK_BYTES)];
        // Without branches, this checks many bytes at a time. Only a negative result is certain.
        let may_be_whitespace = |byte: u8| !(0x21..0x80).contains(&byte) && byte != b'\n';
        let suspect = |found, (&last, &end): (&u8, &u8)| found | (may_be_whitespace(last) & (end == b'\n'));
        if chunk.iter().zip(&chunk[1..]).fold(false, suspect) {
            let mut ends = memchr::memchr_iter(b'\n', &chunk[1..]).map(|at| start + 1 + at);
            if ends.any(|end| bytes[end - 1] != b'\n' && ends_in_whitespace(&text[..end])) {
                return true;
            }
        }
        start += chunk.len() - 1;
        rest = &bytes[start..];
    }
    false
}

fn ends_in_whitespace(line: &str) -> bool {
    match line.as_bytes().last() {
        Some(last) if last.is_ascii() => matches!(last, b'\t'..=b'\r' | b' '),
        _ => line.ends_with(char::is_whitespace),
    }
}

/// Returns an old line of a hunk as it is in a file without trailing whitespace.
fn as_in_file(line: &str, is_loose: bool) -> &str {
    if is_loose { line.trim_end() } else { line }
}

/// How often each line occurs in all hunks together. A line that several hunks have is probably common in the file
/// too.
struct Frequency(Vec<u64>);

impl Frequency {
    fn of(written: &PatternLines) -> Self {
        let mut hashes: Vec<u64> = written.lines.iter().map(|line| line.hash).collect();
        hashes.sort_unstable();
        Self(hashes)
    }

    fn count(&self, line: &Line) -> usize {
        let start = self.0.partition_point(|&hash| hash < line.hash);
        self.0[start..].iter().take_while(|&&hash| hash == line.hash).count()
    }
}

/// The lines that all hunks search for, as they would be in the file, in one string.
struct PatternLines {
    text: String,
    lines: Vec<Line>,
    /// For each hunk, the range of its old lines. Its anchors are before them.
    old: Vec<Range<usize>>,
    /// For each hunk, whether its old lines have trailing whitespace, which is left out here.
    loose: Vec<bool>,
}

/// One of these lines.
struct Line {
    /// Its range in [`PatternLines::text`], its LF included.
    bytes: Range<usize>,
    /// The hash of its content.
    hash: u64,
}

impl PatternLines {
    fn of(hunks: &[V4aHunk]) -> Self {
        let n_bytes = hunks.iter().map(|hunk| hunk.lines.n_bytes_max() + hunk.lines.len() + 64).sum();
        let n_lines = hunks.iter().map(|hunk| hunk.lines.len() + hunk.anchors.len()).sum();
        let n_hunks = hunks.len();
        let mut written = Self {
            text: String::with_capacity(n_bytes),
            lines: Vec::with_capacity(n_lines),
            old: Vec::with_capacity(n_hunks),
            loose: Vec::with_capacity(n_hunks),
        };
        for hunk in hunks {
            hunk.anchors.iter().for_each(|anchor| written.push(anchor));
            let start = written.lines.len();
            let is_loose = hunk.lines.old().any(ends_in_whitespace);
            hunk.lines.old().for_each(|line| written.push(as_in_file(line, is_loose)));
            written.old.push(start..written.lines.len());
            written.loose.push(is_loose);
        }
        written
    }

    fn push(&mut self, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.text.push('\n');
        self.lines.push(Line { bytes: start..self.text.len(), hash: line_hash(line.as_bytes()) });
    }

    /// Returns the old lines of a hunk.
    fn old(&self, hunk: usize) -> &[Line] {
        &self.lines[self.old[hunk].clone()]
    }

    /// Returns these lines as they would be in the file.
    fn text_of(&self, lines: &[Line]) -> &str {
        match lines {
            [first, .., last] => &self.text[first.bytes.start..last.bytes.end],
            [line] => &self.text[line.bytes.clone()],
            [] => "",
        }
    }

    fn anchors(&self, hunk: usize) -> impl Iterator<Item = &[Line]> {
        let start = if hunk == 0 { 0 } else { self.old[hunk - 1].end };
        self.lines[start..self.old[hunk].start].chunks(1)
    }
}

/// A search for consecutive lines, which searches for one of them.
struct Pattern<'a> {
    text: &'a str,
    lines: &'a [Line],
    frequency: &'a Frequency,
    /// The range in `text` of the line that is searched for, from its first non-whitespace character; at first the
    /// rarest line.
    key: Range<usize>,
    finder: Finder<'a>,
    /// These ranges for all lines, the probably rarest first. Filled when the first line occurs elsewhere too.
    keys: Vec<Range<usize>>,
    key_index: usize,
}

/// The result of a search.
#[derive(PartialEq, Eq)]
enum Search {
    Found(usize),
    NotFound,
    /// Each of the lines occurs in too many other places for this search to be fast.
    TooCommon,
}

impl<'a> Pattern<'a> {
    fn new(written: &'a PatternLines, lines: &'a [Line], frequency: &'a Frequency) -> Self {
        let text = written.text_of(lines);
        let key = ranked(text, lines, frequency).min_by_key(|(rank, _)| *rank).map_or(0..0, |(_, key)| key);
        let finder = Finder::new(&text.as_bytes()[key.clone()]);
        Self { text, lines, frequency, key, finder, keys: Vec::new(), key_index: 0 }
    }

    /// Searches for another of the lines from now on.
    fn exchange_key(&mut self) {
        if self.keys.is_empty() {
            let mut keys: Vec<_> = ranked(self.text, self.lines, self.frequency).collect();
            sort_by_key(&mut keys, |(rank, _)| *rank);
            self.keys = keys.into_iter().map(|(_, key)| key).collect();
        }
        if self.keys.len() > 1 {
            self.key_index = (self.key_index + 1) % self.keys.len();
            self.key = self.keys[self.key_index].clone();
            self.finder = Finder::new(&self.text.as_bytes()[self.key.clone()]);
        }
    }

    /// Finds the first place within `range` that consists of whole lines and equals the pattern.
    ///
    /// A line that occurs in other places is exchanged for the next one, until one proves rare.
    fn find(&mut self, text: &str, range: Range<usize>) -> Search {
        const MISSES_MAX: usize = 32;
        let bytes = text.as_bytes();
        let mut start_from = range.start;
        for _ in 0..MISSES_MAX {
            let from = start_from + self.key.start;
            let Some(at) = bytes.get(from..range.end).and_then(|rest| self.finder.find(rest)) else {
                return Search::NotFound;
            };
            let start = start_from + at;
            let is_whole = start == 0 || bytes[start - 1] == b'\n';
            if is_whole && bytes[start..range.end].starts_with(self.text.as_bytes()) {
                return Search::Found(start);
            }
            start_from = start + 1;
            self.exchange_key();
        }
        Search::TooCommon
    }
}

/// Returns the range in `text` of each of these lines from its first non-whitespace character, and its rank: lines
/// with few occurrences come first, then long lines.
fn ranked(
    text: &str,
    lines: &[Line],
    frequency: &Frequency,
) -> impl Iterator<Item = ((usize, Reverse<usize>), Range<usize>)> {
    // Searching for longer texts is several times slower.
    const KEY_BYTES_MAX: usize = 32;
    let first = lines.first().map_or(0, |line| line.bytes.start);
    lines.iter().map(move |line| {
        let (start, end) = (line.bytes.start - first, line.bytes.end - first);
        let start = end - 1 - text[start..end - 1].trim_start().len();
        let key = start..end.min(start + KEY_BYTES_MAX);
        ((frequency.count(line), Reverse(key.len())), key)
    })
}

fn build(before: &str, hunks: &[V4aHunk], loose: &[bool], places: &[Range<usize>]) -> V4aResult {
    let n_added: usize = hunks.iter().map(|hunk| hunk.lines.n_bytes_max()).sum();
    let mut text = String::with_capacity(before.len() + n_added);
    let mut applied = Vec::with_capacity(hunks.len());
    let (mut next, mut old_line, mut new_line) = (0, 1, 1);
    for (index, ((hunk, &is_loose), place)) in hunks.iter().zip(loose).zip(places).enumerate() {
        let kept = &before[next..place.start];
        text.push_str(kept);
        let n_kept = memchr::memchr_iter(b'\n', kept.as_bytes()).count();
        (old_line, new_line) = (old_line + n_kept, new_line + n_kept);
        let mut n_new = 0;
        let mut n_old = 0;
        for (kind, line) in hunk.lines.iter() {
            n_old += usize::from(kind != LineKind::Added);
            if kind != LineKind::Removed {
                text.push_str(as_in_file(line, is_loose && kind == LineKind::Context));
                text.push('\n');
                n_new += 1;
            }
        }
        applied.push(AppliedHunk {
            number: index + 1,
            old_start: old_line,
            old_lines: n_old,
            new_start: new_line,
            new_lines: n_new,
            matched: if is_loose { Leniency::TrailingWhitespace } else { Leniency::Exact },
        });
        (next, old_line, new_line) = (place.end, old_line + n_old, new_line + n_new);
    }
    text.push_str(&before[next..]);
    V4aResult { text, hunks: applied }
}
