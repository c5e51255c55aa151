//! Matches paths against globs.
//!
//! `*` and `?` match characters other than `/`. `**` as a whole segment matches any number of segments. `[a-z]`,
//! `[!a-z]` and `[[:alpha:]]` match one character. `{a,b}` matches either alternative. `\` takes the next character
//! literally.
//!
//! Natively a glob becomes a regular expression. A browser has no regex engine where files are listed, so a small matcher runs
//! the parts of the glob there. Both take linear time for every glob. Tests compare them.

#[cfg(any(test, not(target_family = "wasm")))]
mod expression;
mod parts;
#[cfg(any(test, target_family = "wasm"))]
mod program;

#[cfg(not(target_family = "wasm"))]
use expression::Compiled;
use parts::{Braces, Part};
#[cfg(target_family = "wasm")]
use program::Program as Compiled;

/// A compiled glob.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    compiled: Compiled,
    is_negated: bool,
}

/// Why a glob does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// The pattern is empty.
    #[error("the glob is empty")]
    Empty,
    /// A `[` or `{` has no partner.
    #[error("the glob has an unclosed {open}; write \\{open} for the character itself")]
    Unclosed {
        /// The bracket without a partner.
        open: char,
    },
    /// The glob ends in a `\` that escapes nothing.
    #[error("the glob ends in \\, which escapes nothing; write \\\\ for the character itself")]
    TrailingBackslash,
    /// The end of a character range is before its start.
    #[error("the glob has the range {first}-{last}, which runs backwards")]
    Backwards {
        /// The first character of the range.
        first: char,
        /// The last character of the range.
        last: char,
    },
    /// The glob exceeds the limit of its size or nesting.
    #[error("the glob is too large")]
    TooLarge,
}

impl GlobError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> crate::error_code::Code {
        crate::error_code::Code::InvalidArgument
    }
}

impl GlobPattern {
    /// Compiles `glob`. A leading `./` is ignored; a leading `!` inverts the result.
    ///
    /// # Errors
    ///
    /// Returns a [`GlobError`] if the glob is malformed.
    pub fn new(glob: &str) -> Result<Self, GlobError> {
        let (is_negated, glob) = split(glob);
        Ok(Self { compiled: compile(glob, Braces::Alternatives, false)?, is_negated })
    }

    /// Compiles `glob` for names in which upper and lower case are the same.
    pub(crate) fn ignoring_case(glob: &str) -> Result<Self, GlobError> {
        let (is_negated, glob) = split(glob);
        Ok(Self { compiled: compile(glob, Braces::Alternatives, true)?, is_negated })
    }

    /// Compiles a pattern of a `.gitignore`, in which `{`, `}` and `!` have no special meaning.
    pub(crate) fn of_gitignore(pattern: &str) -> Result<Self, GlobError> {
        Ok(Self { compiled: compile(pattern, Braces::Literal, false)?, is_negated: false })
    }

    /// Returns whether the glob starts with `!`.
    pub(crate) fn is_negated(&self) -> bool {
        self.is_negated
    }

    /// Returns whether `path`, a relative path with `/` separators, matches.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        self.compiled.is_match(path) != self.is_negated
    }

    /// Returns whether `path` or its last segment matches. This is the meaning of `*.rs` as a filter on a whole tree.
    #[must_use]
    pub fn is_match_or_name(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        (self.compiled.is_match(path) || self.compiled.is_match(name)) != self.is_negated
    }
}

/// Returns whether a glob is negated, and the glob without its marks.
fn split(glob: &str) -> (bool, &str) {
    let (is_negated, glob) = glob.strip_prefix('!').map_or((false, glob), |rest| (true, rest));
    (is_negated, glob.strip_prefix("./").unwrap_or(glob))
}

fn compile(glob: &str, braces: Braces, ignores_case: bool) -> Result<Compiled, GlobError> {
    Compiled::new(&read(glob, braces)?, ignores_case).ok_or(GlobError::TooLarge)
}

fn read(glob: &str, braces: Braces) -> Result<Vec<Part>, GlobError> {
    if glob.is_empty() { Err(GlobError::Empty) } else { parts::read(glob, braces) }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(glob: &str, matching: &[&str], others: &[&str]) {
        let compiled = GlobPattern::new(glob).unwrap();
        for path in matching {
            assert!(compiled.is_match(path), "{glob} should match {path}");
        }
        for path in others {
            assert!(!compiled.is_match(path), "{glob} should not match {path}");
        }
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        check("*.rs", &["a.rs", ".rs"], &["a/b.rs", "a.rsx"]);
        check("**/*.rs", &["a.rs", "a/b.rs", "a/b/c.rs"], &["a.r"]);
        check("src/**", &["src/a", "src/a/b"], &["src", "srca", "a/src/b"]);
        check("src/**/a", &["src/a", "src/b/a", "src/b/c/a"], &["src/ba", "srca"]);
        check("**", &["a", "a/b"], &[]);
        check("a**b", &["ab", "axb"], &["a/b", "ax/b"]);
        check("a/**b", &["a/b", "a/xb"], &["a/x/b"]);
        check("***/a", &["a", "b/c/a"], &["ba"]);
    }

    #[test]
    fn a_question_mark_or_class_is_one_character() {
        check("?.md", &["a.md", "é.md"], &["ab.md", "/.md", ".md"]);
        check("[a-cé]", &["b", "é"], &["d", "ab"]);
        check("[!a-c]", &["d", "]"], &["a", "/"]);
        check("[^a]", &["b"], &["a", "/"]);
        check("[]-]", &["]", "-"], &["a"]);
        check("[a-]", &["a", "-"], &["b"]);
        check(r"[\]\-a]", &["]", "-", "a"], &["\\"]);
        check("[[:digit:]x]", &["7", "x"], &["d", ":"]);
        check("[[:x]", &["[", ":", "x"], &["y"]);
        check("a[/]b", &[], &["a/b"]);
        check("[&&~~-]", &["&", "~", "-"], &["a"]);
    }

    #[test]
    fn braces_are_alternatives_and_nest() {
        check("*.{ts,tsx}", &["a.ts", "a.tsx"], &["a.js", "a.{ts,tsx}"]);
        check("{a,b{c,d}}/e", &["a/e", "bc/e", "bd/e"], &["b/e"]);
        check("{**/a,b}", &["a", "x/a", "b"], &["x/b"]);
        check("a{,b}", &["a", "ab"], &["b"]);
        check("a}b,c", &["a}b,c"], &["a"]);
    }

    #[test]
    fn other_characters_stand_for_themselves() {
        check("a+(b).$^|", &["a+(b).$^|"], &["aab"]);
        check(r"\*\{\n", &["*{n"], &["a{n"]);
        check("./a", &["a"], &["./a"]);
        check("!*.md", &["a.rs", "b/c.md"], &["a.md"]);
        check(r"\!a", &["!a"], &["a"]);
    }

    #[test]
    fn a_name_may_match_instead_of_the_path() {
        let glob = GlobPattern::new("*.rs").unwrap();
        assert!(glob.is_match_or_name("src/a.rs") && !glob.is_match_or_name("src/a.md"));
        let glob = GlobPattern::new("!*.rs").unwrap();
        assert!(!glob.is_match_or_name("src/a.rs") && glob.is_match_or_name("src/a.md"));
    }

    #[test]
    fn malformed_globs_are_refused() {
        for (glob, error) in [
            ("", GlobError::Empty),
            ("!", GlobError::Empty),
            ("a[b", GlobError::Unclosed { open: '[' }),
            ("[]", GlobError::Unclosed { open: '[' }),
            (r"[a\", GlobError::Unclosed { open: '[' }),
            ("a{b", GlobError::Unclosed { open: '{' }),
            (r"a\", GlobError::TrailingBackslash),
            ("[z-a]", GlobError::Backwards { first: 'z', last: 'a' }),
        ] {
            assert_eq!(GlobPattern::new(glob).unwrap_err(), error, "{glob}");
        }
        assert_eq!(GlobPattern::new(&"{".repeat(2_000)).unwrap_err(), GlobError::Unclosed { open: '{' });
        assert_eq!(GlobPattern::new(&("{".repeat(2_000) + &"}".repeat(2_000))).unwrap_err(), GlobError::TooLarge);
    }

    #[test]
    fn many_alternatives_do_not_explode() {
        let glob = GlobPattern::new(&("{a,b,c,d,e,f,g,h}*".repeat(40) + "z")).unwrap();
        assert!(!glob.is_match(&"abcdefgh".repeat(100)));
    }
}
