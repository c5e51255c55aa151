//! Line diffs: the ranges of lines in which two texts differ.
//!
//! The result is a shortest edit script if the texts differ little or have up to [`EXACT_LINES_MAX`] lines that could
//! match, and a good one otherwise. The diff reads no clock, so the same texts give the same diff everywhere.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use similar::algorithms::{DiffHook, myers};

use crate::diff::greedy;
use crate::text::line_hash::SeededLineHash;
use crate::text::{same_bytes, split_lines};

/// Number of lines, of both texts together, up to which the diff is guaranteed to be minimal.
///
/// Lines that only one text has do not count, nor do the lines that both texts share at their start and end.
pub const EXACT_LINES_MAX: usize = 8192;

/// Number of deletions and insertions up to which the greedy search runs, which needs no hashing of lines.
const GREEDY_MAX: usize = 256;

/// One range in which two texts differ: the lines `old` of the first became the lines `new` of the second.
///
/// Line indexes count from 0. One of the two ranges may be empty. Everything between two `Op`s is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The lines of the old text.
    pub old: Range<usize>,
    /// The lines of the new text.
    pub new: Range<usize>,
}

/// Returns the differences from `a` to `b` in order, line by line as [`split_lines`] splits them.
///
/// ```
/// use emend_edit::diff::{Op, diff_lines};
/// assert_eq!(diff_lines("a\nb\nc\n", "a\nB\nc\nd\n"), [Op { old: 1..2, new: 1..2 }, Op { old: 3..3, new: 3..4 }]);
/// ```
#[must_use]
pub fn diff_lines(a: &str, b: &str) -> Vec<Op> {
    diff_slices(&split_lines(a), &split_lines(b))
}

/// Returns the differences from `old` to `new` in order. Adjacent ranges are joined.
#[must_use]
pub fn diff_slices<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<Op> {
    ops_between(&Line::all(old), &Line::all(new))
}

/// A line with fast comparison and hashing.
#[derive(Clone, Copy, Eq)]
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn all<T: AsRef<str>>(lines: &'a [T]) -> Vec<Self> {
        lines.iter().map(|line| Self(line.as_ref())).collect()
    }
}

impl PartialEq for Line<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && same_bytes(self.0.as_bytes(), other.0.as_bytes())
    }
}

impl Hash for Line<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_bytes());
    }
}

fn ops_between(old: &[Line<'_>], new: &[Line<'_>]) -> Vec<Op> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_middle = &old_rest[..old_rest.len() - suffix];
    let new_middle = &new_rest[..new_rest.len() - suffix];
    let matches =
        greedy::matches(old_middle, new_middle, GREEDY_MAX).unwrap_or_else(|| match_middle(old_middle, new_middle));
    let mut ops = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (old_index, new_index) in matches.into_iter().chain([(old_middle.len(), new_middle.len())]) {
        if old_index > old_at || new_index > new_at {
            ops.push(Op { old: prefix + old_at..prefix + old_index, new: prefix + new_at..prefix + new_index });
        }
        (old_at, new_at) = (old_index + 1, new_index + 1);
    }
    slide(&mut ops, old, new);
    ops
}

/// Pairs equal lines of two texts: increasing in both, and as many as possible.
fn match_middle(old: &[Line<'_>], new: &[Line<'_>]) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let (old_ids, new_ids, distinct) = intern(old, new);
    // A line that only one side has cannot match. Leaving such lines out keeps the result and saves most of the time.
    let (mut in_old, mut in_new) = (vec![false; distinct], vec![false; distinct]);
    old_ids.iter().for_each(|&id| in_old[id as usize] = true);
    new_ids.iter().for_each(|&id| in_new[id as usize] = true);
    let candidates = |ids: &[u32], other: &[bool]| -> Vec<usize> {
        (0..ids.len()).filter(|&index| other[ids[index] as usize]).collect()
    };
    let (old_kept, new_kept) = (candidates(&old_ids, &in_new), candidates(&new_ids, &in_old));
    let old_values: Vec<u32> = old_kept.iter().map(|&index| old_ids[index]).collect();
    let new_values: Vec<u32> = new_kept.iter().map(|&index| new_ids[index]).collect();
    let mut hook = Matches(Vec::with_capacity(old_values.len().min(new_values.len())));
    let (n, m) = (old_values.len(), new_values.len());
    let Ok(()) = if n + m <= EXACT_LINES_MAX {
        myers::diff_deadline_raw(&mut hook, &old_values, 0..n, &new_values, 0..m, None)
    } else {
        myers::diff(&mut hook, &old_values, 0..n, &new_values, 0..m)
    };
    hook.0.into_iter().map(|(a, b)| (old_kept[a], new_kept[b])).collect()
}

/// Gives equal lines equal numbers, so that the search compares numbers. Also returns the number of distinct lines.
fn intern(old: &[Line<'_>], new: &[Line<'_>]) -> (Vec<u32>, Vec<u32>, usize) {
    let mut ids: HashMap<Line<'_>, u32, SeededLineHash> =
        HashMap::with_capacity_and_hasher(old.len(), SeededLineHash::new());
    let mut number = |line| {
        let next = ids.len() as u32;
        *ids.entry(line).or_insert(next)
    };
    let old_ids = old.iter().copied().map(&mut number).collect();
    let new_ids = new.iter().copied().map(&mut number).collect();
    (old_ids, new_ids, ids.len())
}

/// Collects the pairs of equal items that the search reports.
struct Matches(Vec<(usize, usize)>);

impl DiffHook for Matches {
    type Error = Infallible;

    fn equal(&mut self, old_index: usize, new_index: usize, len: usize) -> Result<(), Infallible> {
        self.0.extend((0..len).map(|step| (old_index + step, new_index + step)));
        Ok(())
    }
}

/// Moves each pure insertion or deletion as far down as equal lines allow, as git does, and joins ranges that then
/// touch.
///
/// Among equally short scripts, readers expect this one: a new function ends with its own closing brace.
fn slide(ops: &mut Vec<Op>, old: &[Line<'_>], new: &[Line<'_>]) {
    for index in (0..ops.len()).rev() {
        let (old_limit, new_limit) =
            ops.get(index + 1).map_or((old.len(), new.len()), |next| (next.old.start, next.new.start));
        let op = &mut ops[index];
        if op.old.is_empty() {
            while op.new.end < new_limit && new[op.new.start] == new[op.new.end] {
                shift_down(op);
            }
        } else if op.new.is_empty() {
            while op.old.end < old_limit && old[op.old.start] == old[op.old.end] {
                shift_down(op);
            }
        }
        if op.old.end == old_limit && op.new.end == new_limit && index + 1 < ops.len() {
            let next = ops.remove(index + 1);
            ops[index] = Op { old: ops[index].old.start..next.old.end, new: ops[index].new.start..next.new.end };
        }
    }
}

fn shift_down(op: &mut Op) {
    op.old = op.old.start + 1..op.old.end + 1;
    op.new = op.new.start + 1..op.new.end + 1;
}
