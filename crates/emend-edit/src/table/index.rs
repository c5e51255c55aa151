//! Where lines stand, by what is left of them after the most forgiving pass.
//!
//! Two lines that are equal under any pass have the same fingerprint, so the lines of one fingerprint are all that a
//! search has to look at. They are compared there: a fingerprint proves nothing.

use std::ops::Range;

use super::fold;
use crate::fingerprint::fingerprint;

/// Every line's fingerprint and number, sorted.
pub(super) struct LineIndex {
    entries: Vec<(u64, usize)>,
}

impl LineIndex {
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut entries: Vec<(u64, usize)> =
            lines.enumerate().map(|(number, line)| (fingerprint_of(line), number)).collect();
        entries.sort_unstable();
        Self { entries }
    }

    /// Returns the lines of `range` at which `pattern` can start, in order; none if a plain search is no slower.
    pub(super) fn candidates(&self, pattern: &[&str], range: Range<usize>) -> Option<Vec<usize>> {
        let rarest = pattern.iter().enumerate().map(|(offset, line)| (self.lines_like(line), offset));
        let (lines, offset) = rarest.min_by_key(|(lines, _)| lines.len())?;
        if lines.len() * pattern.len() > range.len() {
            return None;
        }
        let starts = lines.iter().filter_map(|&(_, line)| line.checked_sub(offset));
        Some(starts.filter(|start| range.contains(start) && start + pattern.len() <= range.end).collect())
    }

    fn lines_like(&self, line: &str) -> &[(u64, usize)] {
        let wanted = fingerprint_of(line);
        let start = self.entries.partition_point(|&(found, _)| found < wanted);
        let n = self.entries[start..].partition_point(|&(found, _)| found == wanted);
        &self.entries[start..start + n]
    }
}

/// The number of the folded line between its outer blanks.
fn fingerprint_of(line: &str) -> u64 {
    let line = line.trim();
    if line.is_ascii() {
        fingerprint(line.as_bytes())
    } else {
        fingerprint(line.chars().map(fold).collect::<String>().as_bytes())
    }
}
