//! Merges an edit of the user with what others have written since the text that the user edited.

use emend_edit::diff::{RegionKind, compare3};
use emend_edit::text::{first_eol, split_lines};

use crate::HAS_SERVICE;

/// Returns the lines of a conflict: those of `our` side, unless one side has only inserted lines after those of `before`. No line
/// of one side is then in the way of the other, so both stay. Inserted lines that both sides have are not repeated.
fn resolved<'a, 'b>(before: &[&str], our: &'a [&'b str], their: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str]) {
    // The last line of a text may lack its line ending.
    let is_same = |(a, b): (&&str, &&str)| a.trim_end_matches(['\n', '\r']) == b.trim_end_matches(['\n', '\r']);
    let inserted = |side: &'a [&'b str]| {
        let is_kept = side.len() >= before.len() && side.iter().zip(before).all(is_same);
        is_kept.then(|| &side[before.len()..])
    };
    let has = |lines: &[&str], part: &[&str]| (0..lines.len()).any(|at| lines[at..].starts_with(part));
    match (inserted(our), inserted(their)) {
        (Some(ours), Some(theirs)) if has(theirs, ours) => (their, &[]),
        (Some(ours), Some(theirs)) if has(ours, theirs) => (our, &[]),
        (Some(ours), _) => (their, ours),
        (None, Some(theirs)) => (our, theirs),
        (None, None) => (our, &[]),
    }
}

/// Lines that another author wrote since the text that the user edited, and that the edit of the user replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedLines {
    /// Line of the merged text that stands in their place, from 1.
    pub line: usize,
    /// The replaced lines, with their line endings.
    pub text: String,
}

/// Adds a replaced line. Lines in the place of one merged line belong together.
fn add_replaced(replaced: &mut Vec<ReplacedLines>, line: usize, text: &str) {
    if !HAS_SERVICE {
        return;
    }
    match replaced.last_mut() {
        Some(last) if last.line == line => last.text.push_str(text),
        _ => replaced.push(ReplacedLines { line, text: text.to_owned() }),
    }
}

/// Merges the changes of `ours` and `theirs` to `base`. On conflicting lines, those of `ours` stay, and lines that one side
/// has only inserted beside them. `replaced` gets the lines of `theirs` that are not in the result.
///
/// Changes of neighbouring lines are one region for the comparison. If neither side changed the number of lines, each line
/// is merged by itself, so that typing in a line leaves an edit of the next line alone.
pub(super) fn favouring_ours(base: &str, ours: &str, theirs: &str, replaced: &mut Vec<ReplacedLines>) -> String {
    let (base_lines, our_lines, their_lines) = (split_lines(base), split_lines(ours), split_lines(theirs));
    let eol = first_eol(ours).or_else(|| first_eol(theirs)).unwrap_or("\n");
    let mut merged = String::with_capacity(ours.len().max(theirs.len()));
    let mut n_lines = 0;
    for region in compare3(base, ours, theirs) {
        let (before, our, their) = (&base_lines[region.base], &our_lines[region.ours], &their_lines[region.theirs]);
        let is_conflict = region.kind == RegionKind::Conflict;
        let (lines, more) = match region.kind {
            RegionKind::Theirs => (their, &[][..]),
            RegionKind::Conflict => resolved(before, our, their),
            _ => (our, &[][..]),
        };
        let is_by_line = is_conflict && before.len() == our.len() && before.len() == their.len();
        let first = n_lines + 1;
        for (at, line) in lines.iter().chain(more).enumerate() {
            let line = if is_by_line && *line == before[at] { &their[at] } else { line };
            if !merged.is_empty() && !merged.ends_with(['\n', '\r']) {
                merged.push_str(eol);
            }
            merged.push_str(line);
            n_lines += 1;
        }
        if is_by_line {
            for (at, line) in their.iter().enumerate() {
                if *line != before[at] && our[at] != before[at] && line != &our[at] {
                    add_replaced(replaced, first + at, line);
                }
            }
        } else if is_conflict {
            for line in their {
                if !before.contains(line) && !lines.contains(line) && !more.contains(line) {
                    add_replaced(replaced, first, line);
                }
            }
        }
    }
    merged
}
