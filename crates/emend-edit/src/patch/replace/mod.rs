//! Replaces one string by another, with as much leniency as cannot lead to a wrong place.
//!
//! The old text is searched in four ways, strictest first, and the first way that finds anything decides: exactly;
//! with any line ending for any other; ignoring whitespace at line ends and folding typographic characters; and with
//! one indentation exchanged for another on every line. Similar text is never enough. The new text goes into the
//! original bytes: lines that are in both strings keep the file's spelling and line endings. [`crate::patch::plan()`]
//! decides whether a file may be created.

mod error;
mod find;
mod match_style;

pub use error::ReplaceError;

pub use find::Strategy;

use std::ops::Range;

use serde::Serialize;

use crate::locate::leniency::Leniency;
use crate::locate::placeholder::is_worded_placeholder;
use crate::patch::model::AppliedHunk;
use crate::text::{LineCounter, same_bytes, split_bom};
use find::Found;

/// A text after a string was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// The new text.
    pub text: String,
    /// Number of places replaced.
    pub count: usize,
    /// How they were found.
    pub strategy: Strategy,
    /// The first and last line of each place in the old text, from 1.
    pub lines: Vec<(usize, usize)>,
    /// Number of lines that each place gained.
    lines_gained: isize,
}

impl Replaced {
    /// Returns each place as a hunk of whole lines.
    #[must_use]
    pub fn applied_hunks(&self) -> Vec<AppliedHunk> {
        let matched = match self.strategy {
            Strategy::Exact | Strategy::LineEndings => Leniency::Exact,
            Strategy::UnicodeConfusables => Leniency::UnicodeConfusables,
            Strategy::Indentation => Leniency::Whitespace,
        };
        let hunk = |(index, &(first, last)): (usize, &(usize, usize))| AppliedHunk {
            number: index + 1,
            old_start: first,
            old_lines: last + 1 - first,
            new_start: first.saturating_add_signed(self.lines_gained * isize::try_from(index).unwrap_or(isize::MAX)),
            new_lines: (last + 1 - first).saturating_add_signed(self.lines_gained),
            matched,
        };
        self.lines.iter().enumerate().map(hunk).collect()
    }
}

/// Replaces `old` by `new` in `before`: its only occurrence, or every one if `replace_all` is set.
///
/// `old` may have LF where the file has CRLF, and may end in a line ending that the file's last line lacks, because
/// models see files that way. Line endings in `new` become those of the file.
///
/// # Errors
/// Fails if `old` is empty, equals `new`, is not found or is found more than once, and if either text contains a
/// placeholder for omitted text (`// ... rest unchanged ...`).
///
/// ```
/// use emend_edit::patch::replace::{replace, Strategy};
/// let replaced = replace("a\r\nb\r\n", "a\nb", "a\nx\nb", false).unwrap();
/// assert_eq!(replaced.text, "a\r\nx\r\nb\r\n");
/// assert_eq!(replaced.strategy, Strategy::LineEndings);
/// ```
pub fn replace(before: &str, old: &str, new: &str, replace_all: bool) -> Result<Replaced, ReplaceError> {
    if old == new {
        return Err(ReplaceError::NoChange);
    }
    if old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    }
    if let Some(placeholder) = added_placeholder(old, new) {
        return Err(ReplaceError::LeavesOut { placeholder, in_new: true });
    }
    let (bom, body) = split_bom(before);
    let (old, new) = (split_bom(old).1, split_bom(new).1);
    let found = find::find(body, old, new).filter(|found| found.n_places > 0);
    let Some(found) = found else { return Err(error::why_not_found(body, old, new)) };
    if found.n_places > 1 && !replace_all {
        return Err(error::ambiguous(body, &found));
    }
    let text = build(bom, body, old, new, &found);
    if text.len() == before.len() && same_bytes(text.as_bytes(), before.as_bytes()) {
        return Err(ReplaceError::NoChange);
    }
    let mut lines = LineCounter::new(body);
    let number = |range: &Range<usize>| {
        let first = lines.line_at(range.start) + 1;
        (first, lines.line_at(range.end.saturating_sub(1).max(range.start)) + 1)
    };
    let numbers = found.ranges.iter().map(number).collect();
    let n_lines_now = LineCounter::new(&text).n_lines().cast_signed();
    let lines_gained = (n_lines_now - lines.n_lines().cast_signed()) / found.ranges.len().max(1).cast_signed();
    Ok(Replaced { text, count: found.ranges.len(), strategy: found.strategy, lines: numbers, lines_gained })
}

/// Returns the first line of `new` that stands for omitted text, unless `old` has it too.
fn added_placeholder(old: &str, new: &str) -> Option<String> {
    let is_added = |line: &&str| is_worded_placeholder(line) && !old.contains(line.trim());
    new.lines().find(is_added).map(|line| line.trim().to_owned())
}

fn build(bom: &str, body: &str, old: &str, new: &str, found: &Found) -> String {
    let mut text = String::with_capacity(bom.len() + body.len() + new.len());
    text.push_str(bom);
    let mut end = 0;
    for range in &found.ranges {
        text.push_str(&body[end..range.start]);
        text.push_str(&match_style::match_style(body, range.clone(), old, new, found));
        end = range.end;
    }
    text.push_str(&body[end..]);
    text
}

#[cfg(test)]
mod tests;
