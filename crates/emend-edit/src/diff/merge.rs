//! Three-way merge and comparison: two texts that were made from a common base.
//!
//! As in git, changes of both sides that overlap or touch conflict unless they are equal. The line log itself needs no
//! merge. Callers use it to rebase onto a changed disk and to show three texts side by side, and tests check the line
//! log against it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::diff::line_diff::{Op, diff_slices};
use crate::text::{first_eol, split_lines};

/// Which sides changed a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Neither side changed it.
    Unchanged,
    /// Only our side changed it.
    Ours,
    /// Only their side changed it.
    Theirs,
    /// Both sides changed it to the same text.
    Same,
    /// Both sides changed it to different texts.
    Conflict,
}

/// A region of the three texts, as ranges of line indexes from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which sides changed it.
    pub kind: RegionKind,
    /// Its lines in the base text.
    pub base: Range<usize>,
    /// Its lines in our text.
    pub ours: Range<usize>,
    /// Its lines in their text.
    pub theirs: Range<usize>,
}

/// The result of a three-way merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merged text, with each conflict between git's conflict markers.
    pub text: String,
    /// Number of conflicts in the text. 0 means that the merge is complete.
    pub conflicts: usize,
}

/// Merges two texts that were made from `base`.
///
/// ```
/// use emend_edit::diff::merge3;
/// let merged = merge3("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n");
/// assert_eq!((merged.text.as_str(), merged.conflicts), ("A\nb\nC\n", 0));
/// ```
#[must_use]
pub fn merge3(base: &str, ours: &str, theirs: &str) -> Merged {
    let lines = [split_lines(base), split_lines(ours), split_lines(theirs)];
    let mut merged = Merged { text: String::new(), conflicts: 0 };
    let eol = first_eol(ours).or_else(|| first_eol(base)).unwrap_or("\n");
    for region in regions_of(&lines[0], &lines[1], &lines[2]) {
        match region.kind {
            RegionKind::Theirs => push_lines(&mut merged.text, &lines[2][region.theirs], eol),
            RegionKind::Conflict => {
                merged.conflicts += 1;
                push_conflict(&mut merged.text, &lines[1][region.ours], &lines[2][region.theirs], eol);
            }
            _ => push_lines(&mut merged.text, &lines[1][region.ours], eol),
        }
    }
    merged
}

/// Compares three texts, and returns consecutive regions that cover all lines of each.
#[must_use]
pub fn compare3(base: &str, ours: &str, theirs: &str) -> Vec<Region> {
    regions_of(&split_lines(base), &split_lines(ours), &split_lines(theirs))
}

fn regions_of(base: &[&str], ours: &[&str], theirs: &[&str]) -> Vec<Region> {
    let (our_ops, their_ops) = (diff_slices(base, ours), diff_slices(base, theirs));
    let (mut our_side, mut their_side) = (Side::new(&our_ops), Side::new(&their_ops));
    let mut regions = Vec::new();
    let mut base_at = 0;
    while let Some(start) = our_side.next_start().into_iter().chain(their_side.next_start()).min() {
        if start > base_at {
            regions.push(Region {
                kind: RegionKind::Unchanged,
                base: base_at..start,
                ours: our_side.map(base_at)..our_side.map(start),
                theirs: their_side.map(base_at)..their_side.map(start),
            });
        }
        let (our_from, their_from) = (our_side.map(start), their_side.map(start));
        // Grow the region until neither side has a change that overlaps or touches it.
        let mut end = start;
        let (mut n_ours, mut n_theirs) = (0, 0);
        loop {
            if let Some(op) = our_side.take_touching(end) {
                (end, n_ours) = (end.max(op.old.end), n_ours + 1);
            } else if let Some(op) = their_side.take_touching(end) {
                (end, n_theirs) = (end.max(op.old.end), n_theirs + 1);
            } else {
                break;
            }
        }
        let (our_range, their_range) = (our_from..our_side.map(end), their_from..their_side.map(end));
        let kind = match (n_ours, n_theirs) {
            (_, 0) => RegionKind::Ours,
            (0, _) => RegionKind::Theirs,
            _ if ours[our_range.clone()] == theirs[their_range.clone()] => RegionKind::Same,
            _ => RegionKind::Conflict,
        };
        regions.push(Region { kind, base: start..end, ours: our_range, theirs: their_range });
        base_at = end;
    }
    if base_at < base.len() {
        regions.push(Region {
            kind: RegionKind::Unchanged,
            base: base_at..base.len(),
            ours: our_side.map(base_at)..ours.len(),
            theirs: their_side.map(base_at)..theirs.len(),
        });
    }
    regions
}

/// An iterator over the changes of one side, in the order of the base.
struct Side<'a> {
    rest: &'a [Op],
    /// A base line and the line of this side that it became, after the changes taken so far.
    taken: (usize, usize),
}

impl<'a> Side<'a> {
    fn new(ops: &'a [Op]) -> Self {
        Self { rest: ops, taken: (0, 0) }
    }

    fn next_start(&self) -> Option<usize> {
        self.rest.first().map(|op| op.old.start)
    }

    /// Takes the next change if it starts at or before the base line `end`.
    fn take_touching(&mut self, end: usize) -> Option<&'a Op> {
        let (op, rest) = self.rest.split_first()?;
        if op.old.start > end {
            return None;
        }
        self.rest = rest;
        self.taken = (op.old.end, op.new.end);
        Some(op)
    }

    /// Returns the line of this side that the base line `at` became. No change may lie between it and the last one
    /// taken.
    fn map(&self, at: usize) -> usize {
        self.taken.1 + (at - self.taken.0)
    }
}

/// Appends lines. A line without a line ending gets `eol` if another line follows.
fn push_lines(text: &mut String, lines: &[&str], eol: &str) {
    for line in lines {
        if !text.is_empty() && !text.ends_with(['\n', '\r']) {
            text.push_str(eol);
        }
        text.push_str(line);
    }
}

fn push_conflict(text: &mut String, ours: &[&str], theirs: &[&str], eol: &str) {
    let ours_marker = format!("<<<<<<< ours{eol}");
    let middle = format!("======={eol}");
    let theirs_marker = format!(">>>>>>> theirs{eol}");
    push_lines(text, &[&ours_marker], eol);
    push_lines(text, ours, eol);
    push_lines(text, &[&middle], eol);
    push_lines(text, theirs, eol);
    push_lines(text, &[&theirs_marker], eol);
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_support::{cases, covers};

    /// Returns a base of distinct lines and two edits of it. The edits may insert equal lines.
    pub(super) fn sides() -> impl Strategy<Value = (String, String, String)> {
        let splices = || vec((any::<prop::sample::Index>(), 0..3_usize, vec(0..4_u8, 0..3)), 0..4);
        let eol = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
        (1..14_usize, splices(), splices(), eol, any::<bool>()).prop_map(|(n_lines, ours, theirs, eol, bare_end)| {
            let base: Vec<String> = (0..n_lines).map(|index| format!("line {index}{eol}")).collect();
            let edit = |splices: &[(prop::sample::Index, usize, Vec<u8>)]| {
                let mut lines = base.clone();
                for (at, n_deleted, new) in splices {
                    let from = at.index(lines.len() + 1);
                    let to = lines.len().min(from + n_deleted);
                    lines.splice(from..to, new.iter().map(|kind| format!("new {kind}{eol}")));
                }
                lines
            };
            let text = |lines: Vec<String>| {
                let text = lines.concat();
                if bare_end { text.trim_end().to_owned() } else { text }
            };
            (text(base.clone()), text(edit(&ours)), text(edit(&theirs)))
        })
    }

    proptest! {
        #![proptest_config(cases(20_000))]

        #[test]
        fn regions_cover_all_three_texts((base, ours, theirs) in sides()) {
            let lines = [split_lines(&base), split_lines(&ours), split_lines(&theirs)];
            let mut at = [0; 3];
            for region in compare3(&base, &ours, &theirs) {
                let ranges = [region.base, region.ours, region.theirs];
                for (side, range) in ranges.iter().enumerate() {
                    prop_assert_eq!(range.start, at[side]);
                    at[side] = range.end;
                }
                let [old, our, their] = [0, 1, 2].map(|side: usize| &lines[side][ranges[side].clone()]);
                let kind = match (old == our, old == their, our == their) {
                    (true, true, _) => RegionKind::Unchanged,
                    (false, true, _) => RegionKind::Ours,
                    (true, false, _) => RegionKind::Theirs,
                    (false, false, true) => RegionKind::Same,
                    (false, false, false) => RegionKind::Conflict,
                };
                prop_assert_eq!(region.kind, kind);
            }
            prop_assert_eq!(at, [0, 1, 2].map(|side: usize| lines[side].len()));
        }

        #[test]
        fn merging_is_symmetric_and_takes_the_only_changed_side((base, ours, theirs) in sides()) {
            prop_assert_eq!(merge3(&base, &base, &theirs), Merged { text: theirs.clone(), conflicts: 0 });
            prop_assert_eq!(merge3(&base, &ours, &base), Merged { text: ours.clone(), conflicts: 0 });
            prop_assert_eq!(merge3(&base, &ours, &ours), Merged { text: ours.clone(), conflicts: 0 });
            let (one, other) = (merge3(&base, &ours, &theirs), merge3(&base, &theirs, &ours));
            prop_assert_eq!(one.conflicts, other.conflicts);
            prop_assert!(one.conflicts > 0 || one.text == other.text);
        }
    }

    #[test]
    fn a_conflict_is_between_markers() {
        covers("compare.three_way");
        let merged = merge3("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc");
        let expected = "a\n<<<<<<< ours\nours\nc\n=======\ntheirs\nc\n>>>>>>> theirs\n";
        assert_eq!(merged, Merged { text: expected.to_owned(), conflicts: 1 });
    }

    #[test]
    fn markers_have_the_line_ending_of_our_text_or_of_the_base() {
        let expected = "a\r\n<<<<<<< ours\r\nours\r\n=======\r\ntheirs\r\n>>>>>>> theirs\r\n";
        for (base, ours, theirs) in
            [("a\r\nb\r\n", "a\r\nours\r\n", "a\r\ntheirs\r\n"), ("a\r\nb", "a\r\nours", "a\r\ntheirs")]
        {
            assert_eq!(merge3(base, ours, theirs), Merged { text: expected.to_owned(), conflicts: 1 }, "{base:?}");
        }
        let merged = merge3("b\r\nc\r\n", "ours", "theirs\r\nc\r\n");
        assert_eq!((merged.text.matches('\n').count(), merged.text.matches("\r\n").count()), (6, 6), "{merged:?}");
    }
}
