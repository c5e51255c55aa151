//! An index of the lines of a file, by their content at the most lenient level.
//!
//! Two lines that are equal at any level are in the same bucket, so a search only looks at the lines of one bucket. It
//! compares them, because different lines may share a bucket.

use std::ops::Range;

use crate::locate::leniency::fold;
use crate::text::line_hash::line_hash;

/// The numbers of all lines, bucket by bucket. Building it takes two sweeps, where sorting would take most of a
/// search.
pub(super) struct LineBuckets {
    /// Where each bucket starts in `lines`, and where the last one ends. The number of buckets is a power of two.
    starts: Vec<u32>,
    /// The numbers of the lines, ascending within a bucket.
    lines: Vec<u32>,
}

impl LineBuckets {
    /// Indexes `n_lines` lines. Returns `None` if their numbers do not fit `u32`.
    pub(super) fn of<'a>(n_lines: usize, lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let n_lines = u32::try_from(n_lines).ok()? as usize;
        let n_buckets = n_lines.next_power_of_two();
        let buckets: Vec<u32> = lines.take(n_lines).map(|line| bucket_of(line, n_buckets) as u32).collect();
        let mut starts = vec![0; n_buckets + 1];
        for &bucket in &buckets {
            starts[bucket as usize] += 1;
        }
        let mut n_before = 0;
        for start in &mut starts {
            n_before += *start;
            *start = n_before;
        }
        // From the last line to the first, the end of each bucket moves down to its start.
        let mut numbers = vec![0; buckets.len()];
        for (number, &bucket) in buckets.iter().enumerate().rev() {
            let place = &mut starts[bucket as usize];
            *place -= 1;
            numbers[*place as usize] = number as u32;
        }
        Some(Self { starts, lines: numbers })
    }

    /// Returns the lines of `range` at which `pattern` may start, ascending.
    ///
    /// Returns `None` if a plain search is at least as fast.
    pub(super) fn candidates(
        &self,
        pattern: &[&str],
        range: Range<usize>,
    ) -> Option<impl Iterator<Item = usize> + use<'_>> {
        let rarest = pattern.iter().enumerate().map(|(offset, line)| (self.lines_like(line), offset));
        let (lines, offset) = rarest.min_by_key(|(lines, _)| lines.len())?;
        // The pattern's line at that offset can only match these lines.
        let last = (range.end + offset).saturating_sub(pattern.len());
        let from = lines.partition_point(|&line| (line as usize) < range.start + offset);
        let lines = &lines[from..];
        let lines = &lines[..lines.partition_point(|&line| line as usize <= last)];
        if lines.len() * pattern.len() > range.len() {
            return None;
        }
        let fits = range.start + pattern.len() <= range.end;
        Some(lines.iter().filter(move |_| fits).map(move |&line| line as usize - offset))
    }

    fn lines_like(&self, line: &str) -> &[u32] {
        let bucket = bucket_of(line, self.starts.len() - 1);
        &self.lines[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

/// Returns the bucket of a line, after trimming and folding it as the most lenient level does.
fn bucket_of(line: &str, n_buckets: usize) -> usize {
    let line = trimmed(line);
    let number = if line.is_ascii() {
        line_hash(line.as_bytes())
    } else {
        line_hash(line.chars().map(fold).collect::<String>().as_bytes())
    };
    number as usize & (n_buckets - 1)
}

/// Trims as `str::trim` does, faster where the outer characters are ASCII.
fn trimmed(line: &str) -> &str {
    let is_whitespace = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let bytes = line.as_bytes();
    let start = bytes.iter().position(|byte| !is_whitespace(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_whitespace(byte)).map_or(start, |last| last + 1);
    let content = &bytes[start..end];
    let is_outside_ascii = |byte: Option<&u8>| byte.is_some_and(|byte| !byte.is_ascii());
    if is_outside_ascii(content.first()) || is_outside_ascii(content.last()) {
        return line.trim();
    }
    &line[start..end]
}
