//! Splits text into lines that include their line endings: LF, CRLF or CR.
//!
//! The lines of a text, concatenated, give the text byte for byte. All edits work on such lines, so a line ending that
//! no edit names cannot change.

/// Splits `text` into lines, each with its line ending.
///
/// The last line has no line ending if the text does not end in one. The empty text has no lines.
#[must_use]
pub fn split_lines(text: &str) -> Vec<&str> {
    // Most texts have no CR. For them a search for one byte is enough.
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return lf_lines(text);
    }
    let mut lines = Vec::with_capacity(text.len() / 32 + 1);
    let mut start = 0;
    for end in line_ends(text) {
        lines.push(&text[start..end]);
        start = end;
    }
    lines
}

/// Returns the offset after each line.
///
/// One search over the whole text is used: a separate search for each line takes three times as long.
pub(crate) fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    // The LF of a CRLF ends the line, not its CR.
    let ends_line = move |at: &usize| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
    let ends = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends_line).map(|at| at + 1);
    ends.chain((!text.is_empty() && !text.ends_with(['\n', '\r'])).then_some(text.len()))
}

/// Iterates over the lines that [`split_lines`] returns, without allocating.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None if rest.is_empty() => return None,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Splits `text` at LF only, each line with its LF.
pub(crate) fn lf_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::with_capacity(text.len() / 32 + 1);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1) {
        lines.push(&text[start..end]);
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns whether `text` starts with `prefix`, comparing as [`same_bytes`] does.
pub(crate) fn starts_with(text: &str, prefix: &str) -> bool {
    text.as_bytes().get(..prefix.len()).is_some_and(|start| same_bytes(start, prefix.as_bytes()))
}

/// Returns whether `a` and `b`, which have the same length, are equal.
///
/// In wasm the standard library compares byte by byte; this function compares eight bytes at a time.
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if !cfg!(target_family = "wasm") {
        return a == b;
    }
    let are_equal = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_le_bytes(*a) == u64::from_le_bytes(*b);
    match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_end), Some(b_end)) => {
            a.as_chunks().0.iter().zip(b.as_chunks().0).all(are_equal) && are_equal((a_end, b_end))
        }
        _ => a == b,
    }
}

/// Returns the offset at which line `number` starts. Lines count from 0 and end at LF.
///
/// The line after the last one starts at the end of the text. Returns the number of lines as the error if there are
/// fewer.
pub(crate) fn start_of_line(text: &str, number: usize) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let (mut n_left, mut start) = (number, 0);
    // Counting the LFs of a chunk is many times faster than finding each of them.
    for chunk in bytes.as_chunks().0 {
        let n_ends = count_line_ends(chunk);
        if n_ends >= n_left {
            break;
        }
        (n_left, start) = (n_left - n_ends, start + chunk.len());
    }
    if n_left == 0 {
        return Ok(start);
    }
    for at in memchr::memchr_iter(b'\n', &bytes[start..]) {
        n_left -= 1;
        if n_left == 0 {
            return Ok(start + at + 1);
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        n_left -= 1;
    }
    if n_left == 0 { Ok(text.len()) } else { Err(number - n_left) }
}

/// Number of bytes counted at once. Such sums still fit into a `u8`, so compilers use vector instructions for them.
const COUNTED_BYTES: usize = 240;

fn count_line_ends(bytes: &[u8; COUNTED_BYTES]) -> usize {
    usize::from(bytes.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>())
}

/// Splits one line into its content and its line ending, which may be empty.
#[must_use]
pub fn split_eol(line: &str) -> (&str, &str) {
    let content = line.strip_suffix("\r\n").or_else(|| line.strip_suffix(['\n', '\r'])).unwrap_or(line);
    (content, &line[content.len()..])
}

/// Returns the line ending of the first line that has one. New lines of the text should use it.
#[must_use]
pub fn first_eol(text: &str) -> Option<&str> {
    let at = memchr::memchr2(b'\n', b'\r', text.as_bytes())?;
    Some(if text[at..].starts_with("\r\n") { "\r\n" } else { &text[at..=at] })
}

/// Offsets of the lines of a text, found in one pass.
///
/// Lines are those of [`split_lines`] and count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    // The start of every line, followed by the length of the text.
    bounds: Vec<usize>,
}

impl LineIndex {
    /// Indexes the lines of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut bounds = Vec::with_capacity(text.len() / 32 + 2);
        bounds.push(0);
        bounds.extend(line_ends(text));
        Self { bounds }
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn n_lines(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the byte range of the lines `from..to`, line endings included. Both numbers are clamped to the text.
    #[must_use]
    pub fn range(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let last = self.n_lines();
        let to = to.min(last);
        self.bounds[from.min(to)]..self.bounds[to]
    }

    /// Returns the line that contains the byte at `offset`. An offset past the end belongs to the last line.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.bounds.partition_point(|&start| start <= offset).saturating_sub(1).min(self.n_lines().saturating_sub(1))
    }
}

/// Numbers of lines at ascending offsets of a text. Counting costs less than an index of all lines.
///
/// Lines are those of [`split_lines`] and count from 0.
pub(crate) enum LineCounter<'a> {
    /// A text without CR: the offset up to which lines are counted, and their number.
    Counted { text: &'a str, end: usize, n_ends: usize },
    /// A text with CR.
    Indexed(LineIndex),
}

impl<'a> LineCounter<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        match memchr::memchr(b'\r', text.as_bytes()) {
            None => Self::Counted { text, end: 0, n_ends: 0 },
            Some(_) => Self::Indexed(LineIndex::new(text)),
        }
    }

    /// Returns the line that contains the byte at `offset`, which is not less than that of the call before. An offset
    /// past the end belongs to the last line.
    pub(crate) fn line_at(&mut self, offset: usize) -> usize {
        match self {
            Self::Indexed(index) => index.line_at(offset),
            Self::Counted { text, end, n_ends } => {
                // The line ending of the last line begins no other one.
                let to = offset.min(text.len().saturating_sub(1)).max(*end);
                *n_ends += memchr::memchr_iter(b'\n', &text.as_bytes()[*end..to]).count();
                *end = to;
                *n_ends
            }
        }
    }

    /// Returns the number of lines.
    pub(crate) fn n_lines(&mut self) -> usize {
        match self {
            Self::Indexed(index) => index.n_lines(),
            Self::Counted { text: "", .. } => 0,
            Self::Counted { .. } => self.line_at(usize::MAX) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(split_lines(text), expected);
        assert_eq!(split_lines(text).concat(), text);
    }

    #[test]
    fn lines_own_their_endings() {
        check("", &[]);
        check("a", &["a"]);
        check("a\nb", &["a\n", "b"]);
        check("a\r\nb\rc\n", &["a\r\n", "b\r", "c\n"]);
        check("\n\r\n\r", &["\n", "\r\n", "\r"]);
        assert_eq!(split_eol("a\r\n"), ("a", "\r\n"));
        assert_eq!(split_eol("a\r"), ("a", "\r"));
        assert_eq!(split_eol("a"), ("a", ""));
        assert_eq!(first_eol("a\r\nb\n"), Some("\r\n"));
        assert_eq!(first_eol("a"), None);
    }

    #[test]
    fn the_index_agrees_with_the_lines() {
        for text in ["", "a", "a\n", "\n", "\n\n", "a\nb\n\nç", "a\r\n\rb\n\nç", "\r"] {
            let (index, lines) = (LineIndex::new(text), split_lines(text));
            assert_eq!(index.n_lines(), lines.len());
            let mut offset = 0;
            for (number, line) in lines.iter().enumerate() {
                assert_eq!(&text[index.range(number, number + 1)], *line);
                assert!((offset..offset + line.len()).all(|at| index.line_at(at) == number));
                offset += line.len();
            }
            let mut counter = LineCounter::new(text);
            assert!((0..text.len() + 2).all(|at| counter.line_at(at) == index.line_at(at)), "{text:?}");
            assert_eq!((counter.n_lines(), LineCounter::new(text).n_lines()), (lines.len(), lines.len()));
            assert_eq!(index.range(0, usize::MAX), 0..text.len());
            assert_eq!(index.range(9, 10), text.len()..text.len());
        }
        assert_eq!(LineIndex::new("a\nb").line_at(99), 1);
    }
}
