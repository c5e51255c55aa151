//! Patterns that another module runs: the regex engine of a browser, which the first pattern loads.
//!
//! That module has the whole matcher, so its results are those of every other host.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};

use super::MatcherError;
use crate::error_code::Code;

/// A compiled pattern in another module.
pub trait Pattern: MaybeSend + MaybeSync {
    /// Returns the result of [`Matcher::match_starts`](super::Matcher::match_starts).
    ///
    /// # Errors
    ///
    /// The module failed.
    fn match_starts(&self, content: &[u8], max: usize) -> Result<Vec<usize>, MatcherError>;
}

/// Compiles patterns in another module.
pub trait Patterns {
    /// Compiles a pattern, and loads the module if necessary.
    ///
    /// # Errors
    ///
    /// The pattern does not compile, or the module cannot be loaded.
    fn load(&self, pattern: &str, case_insensitive: bool)
    -> BoxFuture<'static, Result<Box<dyn Pattern>, MatcherError>>;
}

thread_local! {
    static PATTERNS: RefCell<Option<Shared<dyn Patterns>>> = const { RefCell::new(None) };
}

/// Sets the module that compiles patterns.
pub fn connect(patterns: Shared<dyn Patterns>) {
    PATTERNS.with(|slot| slot.replace(Some(patterns)));
}

pub(super) async fn load(pattern: &str, case_insensitive: bool) -> Result<Shared<Elsewhere>, MatcherError> {
    let loading = PATTERNS.with(|slot| slot.borrow().as_ref().map(|patterns| patterns.load(pattern, case_insensitive)));
    let Some(loading) = loading else {
        let message = "this program has no regular expressions; search for plain text".to_owned();
        return Err(MatcherError { code: Code::Unsupported, message });
    };
    Ok(Shared::new(Elsewhere { pattern: loading.await?, failure: Mutex::new(None) }))
}

/// A pattern of another module, and its first failure.
pub(super) struct Elsewhere {
    pattern: Box<dyn Pattern>,
    failure: Mutex<Option<MatcherError>>,
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Elsewhere")
    }
}

impl Elsewhere {
    /// As [`Pattern::match_starts`]; empty after a failure, which [`Self::checked`] reports.
    pub(super) fn match_starts(&self, content: &[u8], max: usize) -> Vec<usize> {
        self.pattern.match_starts(content, max).unwrap_or_else(|error| {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            Vec::new()
        })
    }

    pub(super) fn checked(&self) -> Result<(), MatcherError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::search::{Finder, Matcher, SearchLimits};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// The other module, which fails for a file that contains a word.
    struct Other(Matcher);

    impl Pattern for Other {
        fn match_starts(&self, content: &[u8], max: usize) -> Result<Vec<usize>, MatcherError> {
            match memchr::memmem::find(content, b"broken") {
                Some(_) => Err(MatcherError { code: Code::Internal, message: "the module is dead".to_owned() }),
                None => Ok(self.0.match_starts(content, max)),
            }
        }
    }

    fn elsewhere(pattern: &str) -> Matcher {
        let here = Matcher::new(pattern, false).unwrap();
        let other = Elsewhere { pattern: Box::new(Other(here.clone())), failure: Mutex::new(None) };
        Matcher { finder: Finder::Elsewhere(Shared::new(other)), ..here }
    }

    #[test]
    fn the_result_is_that_of_the_engine_here() {
        for pattern in ["a", "^", "$", "x*", r"\bb|^a", "(?i)STRASSE|é"] {
            let (here, there) = (Matcher::new(pattern, false).unwrap(), elsewhere(pattern));
            for content in ["", "a\nb\nab", "a\r\n\r\rb\r\nba", "a\0b", "strasse\né\n\na b"] {
                for (max_matches, context_lines) in [(0, 0), (1, 1), (2, 0), (usize::MAX, 2)] {
                    let limits = SearchLimits { max_matches, context_lines, max_line_bytes: 4 };
                    let (found, expected) =
                        (there.search(content.as_bytes(), limits), here.search(content.as_bytes(), limits));
                    assert_eq!(found, expected, "{pattern:?} in {content:?}, {limits:?}");
                }
            }
            assert_eq!(there.checked(), Ok(()));
        }
    }

    struct Others;

    impl Patterns for Others {
        fn load(&self, pattern: &str, case: bool) -> BoxFuture<'static, Result<Box<dyn Pattern>, MatcherError>> {
            let loaded = Matcher::new(pattern, case).map_err(MatcherError::from);
            Box::pin(async move { Ok(Box::new(Other(loaded?)) as Box<dyn Pattern>) })
        }
    }

    #[test]
    fn a_pattern_is_compiled_in_the_module_that_is_connected() {
        let code = |pattern: &str| block_on(load(pattern, false)).map(|_| ()).map_err(|error| error.code);
        assert_eq!(code("a+"), Err(Code::Unsupported));
        connect(Shared::new(Others));
        assert_eq!(code("("), Err(Code::InvalidArgument));
        assert_eq!(block_on(load("a+", true)).unwrap().match_starts(b"b\nbA", 9), [3]);
    }

    #[test]
    fn a_failure_is_reported_after_the_search() {
        let there = elsewhere("a");
        let limits = SearchLimits { max_matches: 9, context_lines: 0, max_line_bytes: 100 };
        let clone = there.clone();
        assert_eq!(clone.search(b"a broken", limits), []);
        assert_eq!(clone.search(b"a", limits).len(), 1);
        assert_eq!(there.checked().map_err(|error| error.code), Err(Code::Internal));
    }
}
