//! Finds the old text of a replacement, in the strictest way first.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde::Serialize;

use crate::locate::leniency::{Leniency, fold};
use crate::locate::line_table::LineTable;
use crate::text;

/// How the old text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Byte for byte.
    Exact,
    /// With other line endings, another byte-order mark, or no line ending after the last line.
    LineEndings,
    /// With other whitespace at line ends, or with typographic quotes, dashes and spaces instead of ASCII ones.
    #[serde(rename = "look_alikes")]
    UnicodeConfusables,
    /// With another indentation, by the same difference on every line.
    Indentation,
}

/// The places of the old text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) strategy: Strategy,
    /// The places that do not overlap, first to last, as byte ranges of the text.
    pub(super) ranges: Vec<Range<usize>>,
    /// Number of places, overlapping ones included.
    pub(super) n_places: usize,
    /// Whether `old` has a final line ending that the end of the text lacks. It must then not be inserted.
    pub(super) lacks_last_eol: bool,
    /// The indentation of `old` and the one of the text that replaces it.
    pub(super) shift: Option<(String, String)>,
}

/// Finds `old` in `body`. `new` decides whether its indentation can be exchanged too.
pub(super) fn find(body: &str, old: &str, new: &str) -> Option<Found> {
    if old.is_empty() {
        return None;
    }
    verbatim(body, old).or_else(|| without_confusables(body, old)).or_else(|| indented(body, old, new))
}

/// The first two ways: exactly, and with any line endings.
///
/// Both are one search. Lines that differ only in their line endings look the same to a model, so an exact match is
/// unique only if no other place differs from it in line endings alone.
fn verbatim(body: &str, old: &str) -> Option<Found> {
    let (flat_body, flat_old) = (Flat::line_endings(body), Flat::line_endings(old));
    let mut found = search(&flat_body, &flat_old.text);
    let mut lacks_last_eol = false;
    if let Some(line) = flat_old.text.strip_suffix('\n')
        && !line.is_empty()
        && !flat_body.text.ends_with('\n')
        && flat_body.text.ends_with(line)
    {
        lacks_last_eol = found.ranges.is_empty();
        found.n_places += 1;
        let range = flat_body.original(flat_body.text.len() - line.len()..flat_body.text.len());
        // The line ending at which the last place ends may be the one at which this place begins.
        if found.ranges.last().is_none_or(|last| last.end <= range.start) {
            found.ranges.push(range);
        }
    }
    if found.n_places == 0 {
        return None;
    }
    let exact = !lacks_last_eol && found.ranges.iter().all(|range| &body[range.clone()] == old);
    let strategy = if exact { Strategy::Exact } else { Strategy::LineEndings };
    Some(Found { strategy, lacks_last_eol, shift: None, ..found })
}

/// The third way: ignoring whitespace at line ends, with typographic characters folded.
fn without_confusables(body: &str, old: &str) -> Option<Found> {
    let (flat_body, flat_old) = (Flat::without_confusables(body), Flat::without_confusables(old));
    if flat_old.text.trim().is_empty() {
        return None;
    }
    let mut found = search(&flat_body, &flat_old.text);
    // If whitespace was trimmed from the end of `old`, only whitespace may follow the match on its line.
    let last = text::lines(old).last().filter(|line| text::split_eol(line).1.is_empty());
    if last.is_some_and(|line| line.trim_end() != line) {
        let ends_line = |range: &Range<usize>| {
            let rest = &body[range.end..];
            rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())].trim().is_empty()
        };
        found.ranges.retain(ends_line);
        found.n_places = found.ranges.len();
    }
    (found.n_places > 0).then_some(Found { strategy: Strategy::UnicodeConfusables, ..found })
}

/// The fourth way: whole lines whose indentation differs by the same prefix.
fn indented(body: &str, old: &str, new: &str) -> Option<Found> {
    let table = LineTable::new(body);
    let lines: Vec<&str> = text::lines(old).map(|line| text::split_eol(line).0).collect();
    if lines.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let ends_in_eol = old.ends_with(['\n', '\r']);
    let starts: Vec<usize> = table.matches(&lines, Leniency::UnicodeConfusables, 0..table.len()).collect();
    let mut apart: Vec<usize> = Vec::new();
    for &start in &starts {
        if apart.last().is_none_or(|last| last + lines.len() <= start) {
            apart.push(start);
        }
    }
    let mut shifts = apart.iter().map(|&start| {
        let pairs: Vec<_> = lines.iter().zip(start..).map(|(line, at)| (*line, table.content(at))).collect();
        uniform_shift(&pairs)
    });
    let shift = shifts.next()??;
    if shifts.any(|other| other.as_ref() != Some(&shift)) || !can_shift(new, &shift) {
        return None;
    }
    let bytes = |start: usize| {
        let last = start + lines.len() - 1;
        let end = if ends_in_eol { table.start(last + 1) } else { table.start(last) + table.content(last).len() };
        table.start(start)..end
    };
    let ranges: Vec<Range<usize>> = apart.iter().map(|&start| bytes(start)).collect();
    let lacks_last_eol = ends_in_eol && ranges.last().is_some_and(|range| !body[range.clone()].ends_with(['\n', '\r']));
    Some(Found { strategy: Strategy::Indentation, ranges, n_places: starts.len(), lacks_last_eol, shift: Some(shift) })
}

/// Returns the prefixes to exchange if every pair of lines differs by the same ones.
fn uniform_shift(pairs: &[(&str, &str)]) -> Option<(String, String)> {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let indents: Vec<(String, String)> = pairs
        .iter()
        .filter(|(asked, _)| !asked.trim().is_empty())
        .map(|(asked, found)| (indent(asked), indent(found)))
        .collect();
    // The shortest indentation of the old text is the prefix of all its lines, if they share one.
    let (asked, found) = indents.iter().min_by_key(|(asked, _)| asked.len())?;
    let same = |(other_asked, other_found): &(String, String)| {
        let rest = other_asked.strip_prefix(asked.as_str());
        rest.is_some() && rest == other_found.strip_prefix(found.as_str())
    };
    indents.iter().all(same).then(|| (asked.clone(), found.clone()))
}

/// Returns whether the indentation of `new` can be exchanged without doubt.
///
/// It cannot if a line lacks the prefix to be exchanged, nor if all lines already have the indentation of the file.
fn can_shift(new: &str, (asked, found): &(String, String)) -> bool {
    let lines: Vec<&str> = text::lines(new).filter(|line| !line.trim().is_empty()).collect();
    let deepens = found.len() > asked.len() && found.starts_with(asked.as_str());
    let fits_already = deepens && lines.iter().all(|line| line.starts_with(found.as_str()));
    lines.is_empty() || (lines.iter().all(|line| line.starts_with(asked.as_str())) && !fits_already)
}

/// A simplified text that is being written.
#[derive(Default)]
struct FlatBuilder {
    text: String,
    skips: Vec<(usize, usize)>,
}

impl FlatBuilder {
    fn push_eol(&mut self, eol: &str) {
        if !eol.is_empty() {
            self.text.push('\n');
            self.skip(eol.len() - 1);
        }
    }

    fn skip(&mut self, n_bytes: usize) {
        if n_bytes > 0 {
            let before = self.skips.last().map_or(0, |&(_, skipped)| skipped);
            self.skips.push((self.text.len(), before + n_bytes));
        }
    }

    fn finish(self) -> Flat<'static> {
        Flat { text: Cow::Owned(self.text), skips: self.skips }
    }
}

/// A simplified text, with a mapping back to the original bytes.
struct Flat<'a> {
    text: Cow<'a, str>,
    /// For each place where the simplified text is shorter: its length up to there, and the bytes left out so far.
    skips: Vec<(usize, usize)>,
}

impl<'a> Flat<'a> {
    /// Writes every line ending as LF.
    fn line_endings(text: &'a str) -> Self {
        if memchr::memchr(b'\r', text.as_bytes()).is_none() {
            return Self { text: Cow::Borrowed(text), skips: Vec::new() };
        }
        let mut flat = FlatBuilder::default();
        for line in text::lines(text) {
            let (content, eol) = text::split_eol(line);
            flat.text.push_str(content);
            flat.push_eol(eol);
        }
        flat.finish()
    }

    /// Also leaves out whitespace at line ends and folds typographic characters.
    fn without_confusables(text: &str) -> Self {
        let mut flat = FlatBuilder { text: String::with_capacity(text.len()), skips: Vec::new() };
        for line in text::lines(text) {
            let (content, eol) = text::split_eol(line);
            let kept = content.trim_end();
            let ending = if eol.is_empty() { "" } else { &line[kept.len()..] };
            for c in kept.chars() {
                let folded = fold(c);
                flat.text.push(folded);
                flat.skip(c.len_utf8() - folded.len_utf8());
            }
            // Whitespace before a line ending belongs to it. At the end of the text it belongs to nothing.
            flat.push_eol(ending);
        }
        flat.finish()
    }

    /// Returns the original byte range of a range of the simplified text.
    fn original(&self, flat: Range<usize>) -> Range<usize> {
        let skipped = |offset: usize| {
            let index = self.skips.partition_point(|&(at, _)| at <= offset);
            index.checked_sub(1).map_or(0, |index| self.skips[index].1)
        };
        flat.start + skipped(flat.start)..flat.end + skipped(flat.end)
    }
}

fn search(body: &Flat, old: &str) -> Found {
    let finder = memmem::Finder::new(old);
    let bytes = body.text.as_bytes();
    let starts: Vec<usize> = finder.find_iter(bytes).collect();
    let mut n_places = starts.len();
    if let [only] = starts[..]
        && finder.find(&bytes[only + 1..]).is_some()
    {
        // It overlaps itself: `aa` occurs twice in `aaa`.
        n_places = 2;
    }
    let ranges = starts.into_iter().map(|start| body.original(start..start + old.len())).collect();
    Found { strategy: Strategy::Exact, ranges, n_places, lacks_last_eol: false, shift: None }
}
