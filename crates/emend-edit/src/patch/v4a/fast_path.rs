//! The common case, fast: every hunk stands in the file word for word, and the file ends its lines in LF.
//!
//! Searching bytes for a hunk's lines is several times faster than comparing line by line. A hunk with blanks at the ends
//! of its lines is as plain if the file has none there: nothing is equal to its lines, and what they equal but for those
//! blanks is found by its bytes too. Whatever is not this plain is left to the general way in [`super`], errors included;
//! a property test holds the two to the same outcome.

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

/// Applies `hunks` to `before` if each has old lines and exactly one place where it stands verbatim, but for blanks that
/// the file has at the end of no line.
pub(super) fn apply(before: &str, hunks: &[V4aHunk]) -> Option<V4aResult> {
    // Otherwise the first or last line would not be found by its bytes, and might be a second place.
    let is_plain_text =
        before.ends_with('\n') && !before.starts_with(BOM) && memchr::memchr(b'\r', before.as_bytes()).is_none();
    let is_plain = |hunk: &V4aHunk| {
        let blank_anchor = hunk.anchors.iter().any(|anchor| ends_in_blank(anchor));
        !hunk.end_of_file && !blank_anchor && hunk.lines.old().next().is_some()
    };
    if !is_plain_text || !hunks.iter().all(is_plain) {
        return None;
    }
    let written = Written::of(hunks);
    if written.loose.contains(&true) && has_trailing_blanks(before) {
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
            let Search::At(start) = anchor.find(before, from..before.len()) else { return None };
            from = start + anchor.text.len();
            first.get_or_insert((anchor, start));
        }
        let text = written.text_of(written.old(index));
        let near = first.as_ref().and_then(|_| find_near(before, from, text));
        let (start, searched) = match near {
            Some(start) => (start, None),
            None => {
                let mut lines = pattern(written.old(index));
                let Search::At(start) = lines.find(before, from..before.len()) else { return None };
                (start, Some((lines, start)))
            }
        };
        cursor = start + text.len();
        // Another place is below another first anchor, or anywhere if there is none.
        let (key, key_start) = first.or(searched)?;
        found.push((start..cursor, key, key_start));
    }
    let mut limit = before.len();
    for ((place, key, key_start), hunk) in found.iter_mut().zip(hunks).rev() {
        if hunk.lines.changes() && key.find(before, *key_start + 1..limit) != Search::Nowhere {
            return None;
        }
        limit = place.start;
    }
    let places: Vec<Range<usize>> = found.into_iter().map(|(place, ..)| place).collect();
    Some(splice(before, hunks, &written.loose, &places))
}

/// Returns where `lines` stand in the few lines of `text` from byte `from` on, which is where a line starts: most hunks
/// are near their anchor, and to look there takes less than to prepare a search.
fn find_near(text: &str, from: usize, lines: &str) -> Option<usize> {
    const LINES_MAX: usize = 16;
    let ends = memchr::memchr_iter(b'\n', &text.as_bytes()[from..]).map(|at| from + at + 1);
    std::iter::once(from).chain(ends).take(LINES_MAX).find(|&start| text[start..].starts_with(lines))
}

/// Returns whether a line that LF ends has blanks at its end.
fn has_trailing_blanks(text: &str) -> bool {
    const CHUNK_BYTES: usize = 4096;
    let bytes = text.as_bytes();
    let (mut start, mut rest) = (0, bytes);
    while rest.len() > 1 {
        let chunk = &rest[..rest.len().min(CHUNK_BYTES)];
        // Without branches, this goes over many bytes at a time. It is certain only if it sees nothing.
        let may_be_blank = |byte: u8| !(0x21..0x80).contains(&byte) && byte != b'\n';
        let suspect = |found, (&last, &end): (&u8, &u8)| found | (may_be_blank(last) & (end == b'\n'));
        if chunk.iter().zip(&chunk[1..]).fold(false, suspect) {
            let mut ends = memchr::memchr_iter(b'\n', &chunk[1..]).map(|at| start + 1 + at);
            if ends.any(|end| bytes[end - 1] != b'\n' && ends_in_blank(&text[..end])) {
                return true;
            }
        }
        start += chunk.len() - 1;
        rest = &bytes[start..];
    }
    false
}

fn ends_in_blank(line: &str) -> bool {
    match line.as_bytes().last() {
        Some(last) if last.is_ascii() => matches!(last, b'\t'..=b'\r' | b' '),
        _ => line.ends_with(char::is_whitespace),
    }
}

/// Returns an old line of a hunk as a file without blanks at line ends has it.
fn as_in_file(line: &str, is_loose: bool) -> &str {
    if is_loose { line.trim_end() } else { line }
}

/// How often each line is named by all hunks together: what several name is common in the file too.
struct Frequency(Vec<u64>);

impl Frequency {
    fn of(written: &Written) -> Self {
        let mut numbers: Vec<u64> = written.lines.iter().map(|line| line.number).collect();
        numbers.sort_unstable();
        Self(numbers)
    }

    fn count(&self, line: &Line) -> usize {
        let start = self.0.partition_point(|&number| number < line.number);
        self.0[start..].iter().take_while(|&&number| number == line.number).count()
    }
}

/// What all hunks search for, as it would stand in a file, in one string.
struct Written {
    text: String,
    lines: Vec<Line>,
    /// Of each hunk, which of the lines are its old ones; its anchors are before them.
    old: Vec<Range<usize>>,
    /// Of each hunk, whether its old lines were written with blanks at their ends, which are left out here.
    loose: Vec<bool>,
}

/// A line that is searched for.
struct Line {
    /// Where it is in [`Written::text`], its LF included.
    bytes: Range<usize>,
    /// The fingerprint of its content.
    number: u64,
}

impl Written {
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
            let is_loose = hunk.lines.old().any(ends_in_blank);
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
        self.lines.push(Line { bytes: start..self.text.len(), number: line_hash(line.as_bytes()) });
    }

    /// The old lines of a hunk.
    fn old(&self, hunk: usize) -> &[Line] {
        &self.lines[self.old[hunk].clone()]
    }

    /// These lines as they would stand in a file.
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

/// Lines as they stand in a file, searched for by one of them.
struct Pattern<'a> {
    text: &'a str,
    lines: &'a [Line],
    frequency: &'a Frequency,
    /// Where the line that is searched for begins to say something, as a place in `text`; at first the rarest.
    key: Range<usize>,
    finder: Finder<'a>,
    /// Where all lines do, those likely to be rare first. Made when the first one turns out to stand elsewhere too.
    keys: Vec<Range<usize>>,
    key_index: usize,
}

/// What searching came to.
#[derive(PartialEq, Eq)]
enum Search {
    At(usize),
    Nowhere,
    /// Each of the lines stands in too many other places for this to be fast.
    Unclear,
}

impl<'a> Pattern<'a> {
    fn new(written: &'a Written, lines: &'a [Line], frequency: &'a Frequency) -> Self {
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

    /// Finds the first place within `range` that is whole lines and equal to the pattern.
    ///
    /// A line that stands in other places is exchanged for the next one, until one proves rare.
    fn find(&mut self, text: &str, range: Range<usize>) -> Search {
        const MISSES_MAX: usize = 32;
        let bytes = text.as_bytes();
        let mut start_from = range.start;
        for _ in 0..MISSES_MAX {
            let from = start_from + self.key.start;
            let Some(at) = bytes.get(from..range.end).and_then(|rest| self.finder.find(rest)) else {
                return Search::Nowhere;
            };
            let start = start_from + at;
            let is_whole = start == 0 || bytes[start - 1] == b'\n';
            if is_whole && bytes[start..range.end].starts_with(self.text.as_bytes()) {
                return Search::At(start);
            }
            start_from = start + 1;
            self.exchange_key();
        }
        Search::Unclear
    }
}

/// Returns where in `text`, which these lines are, each begins to say something, with what it ranks by: what is named
/// seldom is rare, and what is long.
fn ranked(
    text: &str,
    lines: &[Line],
    frequency: &Frequency,
) -> impl Iterator<Item = ((usize, Reverse<usize>), Range<usize>)> {
    // What is longer than this is searched for several times slower.
    const KEY_BYTES_MAX: usize = 32;
    let first = lines.first().map_or(0, |line| line.bytes.start);
    lines.iter().map(move |line| {
        let (start, end) = (line.bytes.start - first, line.bytes.end - first);
        let start = end - 1 - text[start..end - 1].trim_start().len();
        let key = start..end.min(start + KEY_BYTES_MAX);
        ((frequency.count(line), Reverse(key.len())), key)
    })
}

fn splice(before: &str, hunks: &[V4aHunk], loose: &[bool], places: &[Range<usize>]) -> V4aResult {
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
