//! Adapts the new text to the file: to its line endings, and to its spelling of every line that stays.

use std::ops::Range;

use crate::diff::{Op, diff_slices};
use crate::patch::replace::find::{Found, Strategy};
use crate::text;

/// Returns the replacement for the bytes `range` of `body`, where `old` was found, so that it becomes `new`.
pub(super) fn match_style(body: &str, range: Range<usize>, old: &str, new: &str, found: &Found) -> String {
    let region = &body[range.clone()];
    let has_cr = |text: &str| memchr::memchr(b'\r', text.as_bytes()).is_some();
    if found.strategy == Strategy::Exact && (!has_cr(body) && !has_cr(new) || differ_in_endings_only(old, new)) {
        return new.to_owned();
    }
    let (old, region): (Vec<&str>, Vec<&str>) = (contents(old), text::split_lines(region));
    let new_lines = text::split_lines(new);
    let counterparts = align(&old, &contents(new));
    let nearby = eol_near(body, &range);
    let mut out = String::with_capacity(new.len() + new_lines.len());
    let mut last_eol = None;
    for (index, line) in new_lines.iter().enumerate() {
        let (content, eol) = text::split_eol(line);
        let counterpart = counterparts[index].and_then(|(at, same)| Some((text::split_eol(region.get(at)?), same)));
        match counterpart {
            // On a line of only whitespace, the whitespace that the author writes is intended.
            Some(((kept, _), true)) if content.is_empty() || !content.trim().is_empty() => out.push_str(kept),
            _ => out.push_str(&shifted(content, found)),
        }
        let is_last = index + 1 == new_lines.len();
        if eol.is_empty() || (is_last && found.lacks_last_eol) {
            continue;
        }
        let own = counterpart.map(|((_, eol), _)| eol).filter(|eol| !eol.is_empty());
        let eol = own.or(last_eol).or(nearby).unwrap_or(eol);
        out.push_str(eol);
        last_eol = Some(eol);
    }
    out
}

fn contents(text: &str) -> Vec<&str> {
    text::lines(text).map(|line| text::split_eol(line).0).collect()
}

fn differ_in_endings_only(old: &str, new: &str) -> bool {
    old.len().abs_diff(new.len()) <= old.len() && contents(old) == contents(new)
}

/// Returns the line ending of the line in which `range` starts, or else of the line before.
fn eol_near<'a>(body: &'a str, range: &Range<usize>) -> Option<&'a str> {
    text::first_eol(&body[range.start..]).or_else(|| {
        let before = text::lines(&body[..range.start]).last()?;
        Some(text::split_eol(before).1).filter(|eol| !eol.is_empty())
    })
}

/// Exchanges the indentation of a new line if that of the old text was exchanged.
fn shifted(line: &str, found: &Found) -> String {
    match &found.shift {
        Some((asked, own)) if !line.trim().is_empty() => {
            [own, line.strip_prefix(asked.as_str()).unwrap_or(line)].concat()
        }
        _ => line.to_owned(),
    }
}

/// Returns for each new line the old line that it keeps or replaces, and whether the two are equal.
fn align(old: &[&str], new: &[&str]) -> Vec<Option<(usize, bool)>> {
    let mut counterparts = vec![None; new.len()];
    let mut at = (0, 0);
    let end = Op { old: old.len()..old.len(), new: new.len()..new.len() };
    for op in diff_slices(old, new).into_iter().chain([end]) {
        for (old_line, new_line) in (at.0..op.old.start).zip(at.1..op.new.start) {
            counterparts[new_line] = Some((old_line, true));
        }
        at = (op.old.end, op.new.end);
        for (old_line, new_line) in op.old.zip(op.new) {
            counterparts[new_line] = Some((old_line, false));
        }
    }
    counterparts
}
