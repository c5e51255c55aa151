//! The small engine: a lazy DFA, and an NFA simulation for the cases in which the DFA gives up.
//!
//! The DFA gives up if a pattern needs more states than its cache holds, and at a non-ASCII character if the pattern
//! uses `\b` with Unicode rules. The simulation is slower, takes linear time too, and never gives up.

use std::cell::RefCell;
use std::ops::Range;

use regex_automata::hybrid::dfa;
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Anchored, HalfMatch, Input, MatchError, MatchKind, Span};
use regex_syntax::hir::Hir;

use super::{CACHE_BYTES_MAX, CompileError, PROGRAM_BYTES_MAX};

#[derive(Clone, Debug)]
pub(super) struct Engine {
    /// `None` if even the smallest cache would be too large.
    lazy: Option<Lazy>,
    simulation: PikeVM,
    /// Created on first use. A browser has one thread, and a search never starts inside another.
    caches: RefCell<Caches>,
}

/// The first DFA finds the end of a match; the second one runs backwards from there and finds its start.
#[derive(Clone, Debug)]
struct Lazy {
    forward: dfa::DFA,
    reverse: dfa::DFA,
}

#[derive(Clone, Debug, Default)]
struct Caches {
    forward: Option<dfa::Cache>,
    reverse: Option<dfa::Cache>,
    simulation: Option<pikevm::Cache>,
}

impl Engine {
    pub(super) fn new(hir: &Hir) -> Result<Self, CompileError> {
        let nfa = compile(hir, false)?;
        let lazy = Lazy::new(&nfa, compile(hir, true)?);
        let simulation = PikeVM::new_from_nfa(nfa).map_err(|error| unsupported(&error))?;
        Ok(Self { lazy, simulation, caches: RefCell::default() })
    }

    #[cfg(test)]
    pub(super) fn is_match(&self, haystack: &[u8]) -> bool {
        let input = Input::new(haystack).earliest(true);
        let caches = &mut *self.caches.borrow_mut();
        match self.lazy.as_ref().map(|lazy| lazy.find_end(caches, &input)) {
            Some(Ok(end)) => end.is_some(),
            Some(Err(_)) | None => self.simulate(caches, &input).is_some(),
        }
    }

    pub(super) fn find(&self, haystack: &[u8], range: Range<usize>) -> Option<Span> {
        let input = Input::new(haystack).range(range);
        let caches = &mut *self.caches.borrow_mut();
        match self.lazy.as_ref().map(|lazy| lazy.find(caches, &input)) {
            Some(Ok(found)) => found,
            Some(Err(_)) | None => self.simulate(caches, &input),
        }
    }

    /// Returns whether the DFA gives up on `haystack`.
    #[cfg(test)]
    pub(super) fn gives_up(&self, haystack: &[u8]) -> bool {
        let caches = &mut *self.caches.borrow_mut();
        self.lazy.as_ref().is_none_or(|lazy| lazy.find(caches, &Input::new(haystack)).is_err())
    }

    fn simulate(&self, caches: &mut Caches, input: &Input<'_>) -> Option<Span> {
        let cache = caches.simulation.get_or_insert_with(|| self.simulation.create_cache());
        let mut slots = [None; 2];
        self.simulation.search_slots(cache, input, &mut slots)?;
        match slots {
            [Some(start), Some(end)] => Some(Span { start: start.get(), end: end.get() }),
            _ => None,
        }
    }
}

impl Lazy {
    fn new(nfa: &NFA, reverse: NFA) -> Option<Self> {
        let config = dfa::Config::new()
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES_MAX)
            // The simulation is faster if the cache is cleared again and again.
            .minimum_cache_clear_count(Some(3))
            .minimum_bytes_per_state(Some(10));
        let build = |config: dfa::Config, nfa| dfa::Builder::new().configure(config).build_from_nfa(nfa).ok();
        let forward = build(config.clone().match_kind(MatchKind::LeftmostFirst), nfa.clone())?;
        // The longest backward match is the leftmost start.
        let reverse = build(config.match_kind(MatchKind::All), reverse)?;
        Some(Self { forward, reverse })
    }

    fn find_end(&self, caches: &mut Caches, input: &Input<'_>) -> Result<Option<HalfMatch>, MatchError> {
        let cache = caches.forward.get_or_insert_with(|| self.forward.create_cache());
        self.forward.try_search_fwd(cache, input)
    }

    fn find(&self, caches: &mut Caches, input: &Input<'_>) -> Result<Option<Span>, MatchError> {
        let Some(end) = self.find_end(caches, input)?.map(|end| end.offset()) else { return Ok(None) };
        let cache = caches.reverse.get_or_insert_with(|| self.reverse.create_cache());
        let back = input.clone().range(input.start()..end).anchored(Anchored::Yes).earliest(false);
        let start = self.reverse.try_search_rev(cache, &back)?;
        // A start exists, because the forward search began there.
        Ok(start.map(|start| Span { start: start.offset(), end }))
    }
}

fn compile(hir: &Hir, reverse: bool) -> Result<NFA, CompileError> {
    // A reverse program may not hold captures; of the forward program only the whole match is needed.
    let captures = if reverse { WhichCaptures::None } else { WhichCaptures::Implicit };
    let config = thompson::Config::new()
        .utf8(false)
        .reverse(reverse)
        .nfa_size_limit(Some(PROGRAM_BYTES_MAX))
        .shrink(false)
        .which_captures(captures);
    thompson::Compiler::new().configure(config).build_from_hir(hir).map_err(|error| unsupported(&error))
}

fn unsupported(error: &thompson::BuildError) -> CompileError {
    match error.size_limit() {
        Some(limit) => CompileError::TooLarge { limit },
        None => CompileError::Unsupported { reason: error.to_string() },
    }
}
