//! Commands: the request to an environment's shell, and its result.
//!
//! The environment starts, stops and reads processes; approvals are decided before. [`Capture`] keeps output of any
//! size in bounded memory, for implementations of environments.

use std::collections::{BTreeMap, VecDeque};

use emend_llm::{MaybeSend, MaybeSync};

use crate::environment::FilePath;

/// A command for the environment's shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The command line, as a user would type it.
    pub command: String,
    /// Working directory, as [`resolve`](crate::environment::ExecutionEnvironment::resolve) returned it.
    pub working_dir: FilePath,
    /// Environment variables, in addition to those of the environment; these take precedence.
    pub env_vars: BTreeMap<String, String>,
    /// Timeout in milliseconds.
    pub timeout_ms: u64,
}

/// The result of a command. A non-zero status is an ordinary result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecResult {
    /// Standard output, without its middle if it exceeded the limit.
    pub stdout: String,
    /// Standard error, with the same limit.
    pub stderr: String,
    /// Number of bytes of both streams that were dropped.
    pub n_bytes_dropped: u64,
    /// Exit status; 128 plus the signal number after a signal.
    pub exit_code: i32,
    /// Whether the command was ended at its timeout.
    pub timed_out: bool,
    /// Whether the command was ended by a cancellation.
    pub cancelled: bool,
    /// Number of processes that the command left behind; they were ended with it.
    pub n_left_behind: usize,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// A file with marks that change with its content, for comparison without reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Path relative to the root.
    pub path: FilePath,
    /// Size in bytes.
    pub size: u64,
    /// Three numbers, for example mtime and ctime in nanoseconds and the inode. As far as the environment can tell, at
    /// least one changes whenever the content changes.
    pub marks: [u64; 3],
}

/// An output stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives the output of a command while it runs. Any function of the stream and the text implements it.
///
/// The output is for observers: an environment may drop parts that arrive faster than they are taken. The result holds
/// everything that is kept.
pub trait OutputSink: MaybeSend + MaybeSync {
    /// Receives the next piece, in whole characters.
    fn output(&self, stream: OutputStream, text: &str);
}

impl<F: Fn(OutputStream, &str) + MaybeSend + MaybeSync> OutputSink for F {
    fn output(&self, stream: OutputStream, text: &str) {
        self(stream, text);
    }
}

/// Returns the text that the model reads below the output of a command that timed out. `parameter` is the exposed name of
/// the parameter that sets a longer timeout.
///
/// Models and programs may have learned this text, so it does not change.
#[must_use]
pub fn timeout_text(timeout_ms: u64, parameter: &str) -> String {
    format!(
        "[ERROR: Command timed out after {timeout_ms}ms. Partial output is shown above.\nYou can retry with a longer \
         timeout by setting the {parameter} parameter.]"
    )
}

/// Keeps the beginning and the end of an output stream.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half_max: usize,
    n_dropped: u64,
}

impl Capture {
    /// Maximum memory for one output stream of a command in bytes.
    pub const BYTES_MAX: usize = 1 << 20;

    /// Returns a capture of at most `bytes_max` bytes, half of them from the beginning.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half_max: bytes_max / 2, n_dropped: 0 }
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half_max - self.head.len()));
        self.head.extend_from_slice(head);
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.half_max));
        let n_over = (self.tail.len() + rest.len()).saturating_sub(self.half_max);
        self.tail.drain(..n_over);
        self.tail.extend(rest);
        self.n_dropped += (skipped.len() + n_over) as u64;
    }

    /// Returns the number of bytes dropped so far.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// Returns the output as text. A line states the size of a gap; invalid UTF-8 is replaced by U+FFFD.
    #[must_use]
    pub fn into_text(self) -> String {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.n_dropped == 0 {
            // A character may extend over the boundary of both halves.
            head.extend(tail);
            return lossy(head);
        }
        let missing = format!("\n[... {} bytes of output were not kept ...]\n", self.n_dropped);
        lossy(head) + &missing + &lossy(tail)
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Decodes bytes that arrive in pieces to text, without splitting characters.
#[derive(Debug, Default)]
pub struct TextStream {
    rest: Vec<u8>,
}

impl TextStream {
    /// Returns the text of all complete characters so far. Invalid UTF-8 is replaced by U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let n_whole = match std::str::from_utf8(&self.rest) {
            // Only an incomplete character at the very end has to wait.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.rest.len() - n_begun(&self.rest),
            Ok(text) => text.len(),
        };
        let later = self.rest.split_off(n_whole);
        lossy(std::mem::replace(&mut self.rest, later))
    }
}

/// Returns the number of trailing bytes that are an incomplete character.
fn n_begun(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    (from..bytes.len())
        .find(|&at| {
            std::str::from_utf8(&bytes[at..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .map_or(0, |at| bytes.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(pieces: &[&str], bytes_max: usize, expected: &str, n_dropped: u64) {
        let mut capture = Capture::new(bytes_max);
        pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
        assert_eq!(capture.n_dropped(), n_dropped);
        assert_eq!(capture.into_text(), expected);
    }

    #[test]
    fn beginning_and_end_are_kept() {
        check(&["abc", "def"], 6, "abcdef", 0);
        check(&["abcdef"], 6, "abcdef", 0);
        check(&["", "a", "", "ü"], 4, "aü", 0);
        check(&["abcdefg"], 6, "abc\n[... 1 bytes of output were not kept ...]\nefg", 1);
        check(&["ab", "cdefghij", "k", "l"], 6, "abc\n[... 6 bytes of output were not kept ...]\njkl", 6);
        check(&["a\u{20ac}b"], 4, "a\u{fffd}\n[... 1 bytes of output were not kept ...]\n\u{fffd}b", 1);
    }

    #[test]
    fn memory_stays_bounded_whatever_comes() {
        let mut capture = Capture::new(1000);
        for _ in 0..10_000 {
            capture.push(&[b'x'; 777]);
        }
        assert_eq!(capture.n_dropped(), 7_770_000 - 1000);
        assert!(capture.head.capacity() + capture.tail.capacity() < 8_000);
    }

    #[test]
    fn characters_come_whole() {
        let mut stream = TextStream::default();
        let text = "aü€😀\u{fffd}z";
        let shown: String = text.as_bytes().chunks(1).map(|byte| stream.push(byte)).collect();
        assert_eq!(shown, text);
        assert_eq!(stream.push(b"\xff\xe2\x82"), "\u{fffd}");
        assert_eq!(stream.push(b"\xacb"), "€b");
    }

    #[test]
    fn the_time_that_was_up_is_named_as_specified() {
        assert_eq!(
            timeout_text(10_000, "timeout_ms"),
            "[ERROR: Command timed out after 10000ms. Partial output is shown above.\nYou can retry with a longer \
             timeout by setting the timeout_ms parameter.]"
        );
    }
}
