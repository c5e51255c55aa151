//! The common case, fast: every hunk stands in the file word for word, and the file ends its lines in LF.
//!
//! Searching bytes for a hunk's lines is several times faster than comparing line by line. Whatever is not this plain
//! is left to the general way in [`super`], errors included; a property test holds the two to the same outcome.

use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::edit::{AppliedHunk, Hunk, Pass};
use crate::fingerprint::fingerprint;
use crate::order::sort_by_key;
use crate::text::BOM;
use crate::v4a::Applied;

/// Applies `hunks` to `before` if each has old lines and exactly one place where it stands verbatim.
pub(super) fn apply(before: &str, hunks: &[Hunk]) -> Option<Applied> {
    // Otherwise the first or last line would not be found by its bytes, and might be a second place.
    let is_plain_text =
        before.ends_with('\n') && !before.starts_with(BOM) && memchr::memchr(b'\r', before.as_bytes()).is_none();
    let is_plain = |hunk: &Hunk| !hunk.end_of_file && hunk.lines.old().next().is_some();
    if !is_plain_text || !hunks.iter().all(is_plain) {
        return None;
    }
    let frequency = Frequency::of(hunks);
    let written = Written::of(hunks);
    let pattern = |text| Pattern::new(text, &frequency);
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
        let mut lines = pattern(written.old(index));
        let Search::At(start) = lines.find(before, from..before.len()) else { return None };
        cursor = start + lines.text.len();
        // Another place is below another first anchor, or anywhere if there is none.
        let (key, key_start) = first.unwrap_or((lines, start));
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
    Some(splice(before, hunks, &places))
}

/// How often each line is named by all hunks together: what several name is common in the file too.
struct Frequency(Vec<u64>);

impl Frequency {
    fn of(hunks: &[Hunk]) -> Self {
        let lines = hunks.iter().flat_map(|hunk| hunk.lines.old());
        let mut numbers: Vec<u64> = lines.map(|line| fingerprint(line.as_bytes())).collect();
        numbers.sort_unstable();
        Self(numbers)
    }

    fn count(&self, line: &str) -> usize {
        let wanted = fingerprint(line.as_bytes());
        let start = self.0.partition_point(|&number| number < wanted);
        self.0[start..].iter().take_while(|&&number| number == wanted).count()
    }
}

/// What all hunks search for, as it would stand in a file, in one string.
struct Written {
    text: String,
    /// Of each hunk, where its old lines are; its anchors are before them, each on a line of its own.
    old: Vec<Range<usize>>,
}

impl Written {
    fn of(hunks: &[Hunk]) -> Self {
        let n_bytes = hunks.iter().map(|hunk| hunk.lines.n_bytes() + hunk.lines.len() + 64).sum();
        let mut text = String::with_capacity(n_bytes);
        let mut old = Vec::with_capacity(hunks.len());
        for hunk in hunks {
            let push = |text: &mut String, line: &str| {
                text.push_str(line);
                text.push('\n');
            };
            hunk.anchors.iter().for_each(|anchor| push(&mut text, anchor));
            let start = text.len();
            hunk.lines.old().for_each(|line| push(&mut text, line));
            old.push(start..text.len());
        }
        Self { text, old }
    }

    fn old(&self, hunk: usize) -> &str {
        &self.text[self.old[hunk].clone()]
    }

    fn anchors(&self, hunk: usize) -> impl Iterator<Item = &str> {
        let start = if hunk == 0 { 0 } else { self.old[hunk - 1].end };
        self.text[start..self.old[hunk].start].split_inclusive('\n')
    }
}

/// Lines as they stand in a file, searched for by one of them.
struct Pattern<'a> {
    text: &'a str,
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
    fn new(text: &'a str, frequency: &'a Frequency) -> Self {
        let key = ranked(text, frequency).min_by_key(|(rank, _)| *rank).map_or(0..0, |(_, key)| key);
        let finder = Finder::new(&text.as_bytes()[key.clone()]);
        Self { text, frequency, key, finder, keys: Vec::new(), key_index: 0 }
    }

    /// Searches for another of the lines from now on.
    fn exchange_key(&mut self) {
        if self.keys.is_empty() {
            let mut keys: Vec<_> = ranked(self.text, self.frequency).collect();
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

/// Returns where each of these lines begins to say something, with what it ranks by: what is named seldom is rare, and
/// what is long.
fn ranked(text: &str, frequency: &Frequency) -> impl Iterator<Item = ((usize, Reverse<usize>), Range<usize>)> {
    // What is longer than this is searched for several times slower.
    const KEY_BYTES_MAX: usize = 32;
    let mut line_start = 0;
    text.split_inclusive('\n').map(move |line| {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let start = line_start + content.len() - content.trim_start().len();
        line_start += line.len();
        let key = start..line_start.min(start + KEY_BYTES_MAX);
        ((frequency.count(content), Reverse(key.len())), key)
    })
}

fn splice(before: &str, hunks: &[Hunk], places: &[Range<usize>]) -> Applied {
    let n_added: usize = hunks.iter().map(|hunk| hunk.lines.n_bytes()).sum();
    let mut text = String::with_capacity(before.len() + n_added);
    let mut applied = Vec::with_capacity(hunks.len());
    let (mut next, mut old_line, mut new_line) = (0, 1, 1);
    for (index, (hunk, place)) in hunks.iter().zip(places).enumerate() {
        let kept = &before[next..place.start];
        text.push_str(kept);
        let n_kept = memchr::memchr_iter(b'\n', kept.as_bytes()).count();
        (old_line, new_line) = (old_line + n_kept, new_line + n_kept);
        let mut n_new = 0;
        for line in hunk.lines.new_lines() {
            text.push_str(line);
            text.push('\n');
            n_new += 1;
        }
        let n_old = hunk.lines.old().count();
        applied.push(AppliedHunk {
            number: index + 1,
            old_start: old_line,
            old_lines: n_old,
            new_start: new_line,
            new_lines: n_new,
            matched: Pass::Exact,
        });
        (next, old_line, new_line) = (place.end, old_line + n_old, new_line + n_new);
    }
    text.push_str(&before[next..]);
    Applied { text, hunks: applied }
}
