//! Runs a parsed pattern over bytes: one interface over the search engine of each host.
//!
//! Natively the engine is the meta engine of `regex-automata`, as in the `regex` crate. A browser loads only `lazy`,
//! which has a fifth of the size. Both find the leftmost match and prefer earlier alternatives; tests compare them.

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

/// Maximum memory of a compiled pattern in bytes, as in the `regex` crate.
const PROGRAM_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Maximum memory of the tables of a running search in bytes.
const CACHE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Regex(host::Engine);

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompileError {
    /// The compiled pattern would take too much memory.
    #[error("Compiled regex exceeds size limit of {limit} bytes.")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The engine does not support the pattern.
    #[error("{reason}")]
    Unsupported {
        /// The message of the engine.
        reason: String,
    },
}

impl Regex {
    /// Compiles `hir`. Matches are found in bytes, so a match may begin or end inside a character if `hir` allows it.
    pub(crate) fn new(hir: &Hir) -> Result<Self, CompileError> {
        host::Engine::new(hir).map(Self)
    }

    /// Returns whether `haystack` contains a match.
    #[cfg(any(test, not(target_family = "wasm")))]
    pub(crate) fn is_match(&self, haystack: &[u8]) -> bool {
        self.0.is_match(haystack)
    }

    /// Returns the start of the first match within `range`. Bytes around the range still count for `\b` and other
    /// assertions.
    pub(crate) fn find_start(&self, haystack: &[u8], range: Range<usize>) -> Option<usize> {
        self.0.find(haystack, range).map(|span| span.start)
    }
}

#[cfg(test)]
mod tests;
