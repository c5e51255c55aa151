//! Runs a parsed pattern over bytes: one interface over the engine of each host.
//!
//! Natively it is `regex-automata`'s meta engine, as in the `regex` crate, with all that makes it fast. A browser loads
//! only `lazy`, which weighs a fifth of that. Both find the leftmost match, preferring earlier alternatives; tests
//! compare them.

use std::ops::Range;

use regex_syntax::hir::Hir;

#[cfg(any(test, target_family = "wasm"))]
mod lazy;
#[cfg(not(target_family = "wasm"))]
mod meta;

#[cfg(target_family = "wasm")]
use lazy as host;
#[cfg(not(target_family = "wasm"))]
use meta as host;

/// What a compiled pattern may take, in bytes; the `regex` crate has the same limit.
const PROGRAM_BYTES_MAX: usize = 10 * 1024 * 1024;
/// What its tables may take while it runs, in bytes.
const CACHE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A pattern, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Regex(host::Engine);

/// A pattern that is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompileError {
    /// Compiled, it would take too much memory.
    #[error("Compiled regex exceeds size limit of {limit} bytes.")]
    TooLarge {
        /// How much it may take.
        limit: usize,
    },
    /// Something else that the engine cannot do.
    #[error("{reason}")]
    Unsupported {
        /// What the engine said.
        reason: String,
    },
}

impl Regex {
    /// Compiles `hir`; matches are looked for in bytes, so they may begin and end within a character if it says so.
    pub(crate) fn new(hir: &Hir) -> Result<Self, CompileError> {
        host::Engine::new(hir).map(Self)
    }

    /// Returns whether `haystack` holds a match.
    pub(crate) fn is_match(&self, haystack: &[u8]) -> bool {
        self.0.is_match(haystack)
    }

    /// Returns where the first match within `range` starts; what stands around that still counts for `\b` and its like.
    pub(crate) fn find_start(&self, haystack: &[u8], range: Range<usize>) -> Option<usize> {
        self.0.find(haystack, range).map(|span| span.start)
    }
}

#[cfg(test)]
mod tests;
