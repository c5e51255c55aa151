//! Finds lines in bytes: their start and end, their number, and the lines around them.
//!
//! Lines end at LF, CRLF or CR, as in `emend_edit::text`. That module splits a whole text; this one reads only the
//! lines near a match.

use memchr::{memchr, memchr_iter, memchr2, memchr2_iter, memrchr2};

/// The byte positions of one line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Position of the first byte.
    pub(super) start: usize,
    /// End of the text, before the line ending.
    pub(super) end: usize,
    /// Start of the next line; equal to `end` only if the file ends without a line ending.
    pub(super) next: usize,
}

impl Line {
    /// Returns the line that contains the byte at `at`; a line ending belongs to its line. Returns `None` behind the
    /// last line.
    pub(super) fn around(content: &[u8], at: usize) -> Option<Self> {
        let start = memrchr2(b'\r', b'\n', content.get(..at)?).map_or(0, |index| index + 1);
        Self::starting(content, start)
    }

    fn starting(content: &[u8], start: usize) -> Option<Self> {
        if start >= content.len() {
            return None;
        }
        let end = memchr2(b'\r', b'\n', &content[start..]).map_or(content.len(), |index| start + index);
        let next = match &content[end..] {
            [b'\r', b'\n', ..] => end + 2,
            [] => end,
            _ => end + 1,
        };
        Some(Self { start, end, next })
    }

    /// Returns the text of the line without its line ending.
    pub(super) fn text<'a>(&self, content: &'a [u8]) -> &'a [u8] {
        &content[self.start..self.end]
    }
}

/// Returns whether `at` is between the CR and the LF of a CRLF, where no line starts.
pub(super) fn is_inside_crlf(content: &[u8], at: usize) -> bool {
    at > 0 && content[at - 1] == b'\r' && content.get(at) == Some(&b'\n')
}

/// Returns the `count` lines before the line that starts at `start`, in file order. The file must have that many.
pub(super) fn before(content: &[u8], start: usize, count: usize) -> Vec<Line> {
    let mut found = Vec::with_capacity(count);
    let mut next = start;
    while found.len() < count && next > 0 {
        let eol = if content[..next].ends_with(b"\r\n") { 2 } else { 1 };
        let end = next - eol;
        let start = memrchr2(b'\r', b'\n', &content[..end]).map_or(0, |index| index + 1);
        found.push(Line { start, end, next });
        next = start;
    }
    found.reverse();
    found
}

/// Returns the lines from `start` on.
pub(super) fn after(content: &[u8], start: usize) -> impl Iterator<Item = Line> {
    let mut next = start;
    std::iter::from_fn(move || {
        let line = Line::starting(content, next)?;
        next = line.next;
        Some(line)
    })
}

/// Counts lines. Each byte is counted once, so queries in file order take linear time.
pub(super) struct Counter<'a> {
    content: &'a [u8],
    // `None` until the first query: most files contain no match and need no count.
    has_cr: Option<bool>,
    counted_to: usize,
    number: usize,
}

impl<'a> Counter<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { content, has_cr: None, counted_to: 0, number: 1 }
    }

    /// Returns the 1-based number of the line that starts at `start`. Each query must be behind the one before.
    pub(super) fn number_at(&mut self, start: usize) -> usize {
        let content = self.content;
        let has_cr = *self.has_cr.get_or_insert_with(|| memchr(b'\r', content).is_some());
        let passed = &content[self.counted_to..start];
        self.number += if has_cr {
            // The CR of a CRLF does not count; its LF does.
            memchr2_iter(b'\r', b'\n', passed)
                .filter(|&index| passed[index] == b'\n' || passed.get(index + 1) != Some(&b'\n'))
                .count()
        } else {
            memchr_iter(b'\n', passed).count()
        };
        self.counted_to = start;
        self.number
    }
}
