//! Parses a text within limits of size and time, on a thread whose stack no text overflows.

use std::ops::ControlFlow;
use std::time::Duration;

use tree_sitter::{ParseOptions, ParseState, Parser, Point};

use crate::clock::Clock;
use crate::language::Language;
use crate::symbol::Outline;
use crate::walk;

/// Limits on one outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the longest text that is parsed. Code takes about 30 times its size in memory, nested brackets 300 times.
    pub bytes_max: usize,
    /// Time after which the work stops. Damaged text takes longer than code.
    pub time_max: Duration,
    /// The most symbols of an outline.
    pub symbols_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: 1 << 20, time_max: Duration::from_secs(1), symbols_max: 5_000 }
    }
}

/// The reason why a text has no outline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// The text is longer than the limit.
    #[error("the text has {n_bytes} bytes, and at most {bytes_max} are parsed")]
    TooLong {
        /// Bytes of the text.
        n_bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Parsing took longer than the limit.
    #[error("parsing took longer than {time_max:?}")]
    TooSlow {
        /// The limit.
        time_max: Duration,
    },
    /// The system has no memory for the thread that parses.
    #[error("the system has no memory to parse the text")]
    NoMemory,
    /// The grammar is not in this build, or has another format than the parser.
    #[error("the grammar of {0:?} is missing or does not fit the parser")]
    Grammar(Language),
}

/// Returns the definitions of a text. A damaged text has those that its grammar recognizes.
///
/// The call blocks its thread up to the limit of time.
///
/// # Errors
///
/// The text is longer than the limits permit, or parsing takes longer.
pub fn outline(language: Language, text: &str, limits: &Limits) -> Result<Outline, OutlineError> {
    let n_bytes = text.len();
    if n_bytes > limits.bytes_max {
        return Err(OutlineError::TooLong { n_bytes, bytes_max: limits.bytes_max });
    }
    on_own_stack(n_bytes, || parse(language, text, limits))
}

/// Runs the work on a thread whose stack no text of this size overflows.
#[cfg(not(target_family = "wasm"))]
fn on_own_stack<T: Send>(
    n_bytes: usize,
    work: impl FnOnce() -> Result<T, OutlineError> + Send,
) -> Result<T, OutlineError> {
    let stack = STACK_BYTES + STACK_BYTES_PER_BYTE * n_bytes;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work);
        thread.map_err(|_| OutlineError::NoMemory)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs the work on the stack of the module. The host catches its overflow and drops the instance.
#[cfg(target_family = "wasm")]
fn on_own_stack<T>(_n_bytes: usize, work: impl FnOnce() -> Result<T, OutlineError>) -> Result<T, OutlineError> {
    work()
}

/// Stack of the thread that parses an empty text.
#[cfg(not(target_family = "wasm"))]
const STACK_BYTES: usize = 1 << 20;

/// Stack for each byte of the text. Tree-sitter releases and merges the states of damaged text by recursion, at most once
/// for each token, and a call takes at most 128 bytes without optimization. The system provides a page of the stack when
/// it is used, so the usual text takes no more memory than on any other thread.
#[cfg(not(target_family = "wasm"))]
const STACK_BYTES_PER_BYTE: usize = 256;

fn parse(language: Language, text: &str, limits: &Limits) -> Result<Outline, OutlineError> {
    let text = with_line_feeds(text);
    let mut parser = Parser::new();
    let grammar = language.grammar().ok_or(OutlineError::Grammar(language))?;
    parser.set_language(&grammar).map_err(|_| OutlineError::Grammar(language))?;
    let clock = Clock::start();
    let has_time = || clock.elapsed() < limits.time_max;
    let mut progress = |_: &ParseState| if has_time() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut rest = |at: usize, _: Point| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    let found = tree.and_then(|tree| walk::symbols(&tree, language, &text, limits.symbols_max, has_time));
    found.ok_or(OutlineError::TooSlow { time_max: limits.time_max })
}

/// Returns the text with a line feed for each carriage return that ends a line alone, because the parser counts line
/// feeds only. No byte moves.
fn with_line_feeds(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            bytes[at] = b'\n';
        }
    }
    bytes
}
