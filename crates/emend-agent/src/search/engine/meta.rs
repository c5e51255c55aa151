//! The native engine: the meta engine of `regex-automata`, which selects the fastest suitable strategy.

use std::ops::Range;

use regex_automata::meta::{Config, Regex};
use regex_automata::{Input, Span};
use regex_syntax::hir::Hir;

use super::{CACHE_BYTES_MAX, CompileError, PROGRAM_BYTES_MAX};

#[derive(Clone, Debug)]
pub(super) struct Engine(Regex);

impl Engine {
    pub(super) fn new(hir: &Hir) -> Result<Self, CompileError> {
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(PROGRAM_BYTES_MAX))
            .hybrid_cache_capacity(CACHE_BYTES_MAX);
        Regex::builder().configure(config).build_from_hir(hir).map(Self).map_err(|error| match error.size_limit() {
            Some(limit) => CompileError::TooLarge { limit },
            None => CompileError::Unsupported { reason: error.to_string() },
        })
    }

    pub(super) fn is_match(&self, haystack: &[u8]) -> bool {
        self.0.is_match(haystack)
    }

    pub(super) fn find(&self, haystack: &[u8], range: Range<usize>) -> Option<Span> {
        self.0.search(&Input::new(haystack).range(range)).map(|found| found.span())
    }
}
