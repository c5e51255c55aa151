//! Finds lines in bytes: where one starts and ends, how many came before, which stand around it.
//!
//! Lines end at LF, CRLF or CR, as in `emend_edit::text`, which splits whole texts; here only the lines that matter
//! are looked at.

use memchr::{memchr, memchr_iter, memchr2, memchr2_iter, memrchr2};

/// Where one line stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its first byte.
    pub(super) start: usize,
    /// The end of its text.
    pub(super) end: usize,
    /// The start of the next line; more than `end` unless the file ends without a line ending.
    pub(super) next: usize,
}

impl Line {
    /// Returns the line that holds the byte at `at`, its ending included; `None` behind the last line.
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

    /// Returns the line without its ending.
    pub(super) fn text<'a>(&self, content: &'a [u8]) -> &'a [u8] {
        &content[self.start..self.end]
    }
}

/// Returns whether `at` stands between a CR and its LF, where no line starts.
pub(super) fn is_inside_crlf(content: &[u8], at: usize) -> bool {
    at > 0 && content[at - 1] == b'\r' && content.get(at) == Some(&b'\n')
}

/// Returns the `count` lines that end where the line at `start` begins, in file order. There must be so many.
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

/// Numbers lines. Each byte is counted once, so asking in file order is linear.
pub(super) struct Counter<'a> {
    content: &'a [u8],
    // `None` until the first question: most files hold no match and are never looked at.
    has_cr: Option<bool>,
    counted_to: usize,
    number: usize,
}

impl<'a> Counter<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { content, has_cr: None, counted_to: 0, number: 1 }
    }

    /// Returns the 1-based number of the line that starts at `start`. Later questions must ask further on.
    pub(super) fn number_at(&mut self, start: usize) -> usize {
        let content = self.content;
        let has_cr = *self.has_cr.get_or_insert_with(|| memchr(b'\r', content).is_some());
        let passed = &content[self.counted_to..start];
        self.number += if has_cr {
            // A CR before an LF does not count: its LF does.
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
