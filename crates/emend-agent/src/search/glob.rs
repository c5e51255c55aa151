//! Matches paths against globs by translating a glob to a regular expression.
//!
//! `*` and `?` match characters other than `/`. `**` as a whole segment matches any number of segments. `[a-z]`,
//! `[!a-z]` and `[[:alpha:]]` match one character. `{a,b}` matches either alternative. `\` takes the next character
//! literally. The regex engine makes matching linear for every pattern, and makes `?` one character instead of one
//! byte.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use crate::search::engine::Regex;
use crate::search::unicode;

/// A compiled glob.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    regex: Regex,
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
    /// The glob exceeds the size or nesting limit of the regex engine.
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
        Ok(Self { regex: compile(glob, Braces::Alternatives, false)?, is_negated })
    }

    /// Compiles `glob` for names in which upper and lower case are the same.
    pub(crate) fn ignoring_case(glob: &str) -> Result<Self, GlobError> {
        let (is_negated, glob) = split(glob);
        Ok(Self { regex: compile(glob, Braces::Alternatives, true)?, is_negated })
    }

    /// Compiles a pattern of a `.gitignore`, in which `{`, `}` and `!` have no special meaning.
    pub(crate) fn of_gitignore(pattern: &str) -> Result<Self, GlobError> {
        Ok(Self { regex: compile(pattern, Braces::Literal, false)?, is_negated: false })
    }

    /// Returns whether the glob starts with `!`.
    pub(crate) fn is_negated(&self) -> bool {
        self.is_negated
    }

    /// Returns whether `path`, a relative path with `/` separators, matches.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        self.regex.is_match(path.as_bytes()) != self.is_negated
    }

    /// Returns whether `path` or its last segment matches. This is the meaning of `*.rs` as a filter on a whole tree.
    #[must_use]
    pub fn is_match_or_name(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        (self.regex.is_match(path.as_bytes()) || self.regex.is_match(name.as_bytes())) != self.is_negated
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Braces {
    Alternatives,
    Literal,
}

/// Returns whether a glob is negated, and the glob without its marks.
fn split(glob: &str) -> (bool, &str) {
    let (is_negated, glob) = glob.strip_prefix('!').map_or((false, glob), |rest| (true, rest));
    (is_negated, glob.strip_prefix("./").unwrap_or(glob))
}

fn compile(glob: &str, braces: Braces, ignores_case: bool) -> Result<Regex, GlobError> {
    if glob.is_empty() {
        return Err(GlobError::Empty);
    }
    let translated =
        Translator { rest: glob.chars().peekable(), regex: String::new(), open: Vec::new(), braces }.run()?;
    let pattern = format!(r"(?s)\A(?:{translated})\z");
    let hir = match ignores_case {
        true => unicode::parse(&pattern, true).ok(),
        false => regex_syntax::parse(&pattern).ok(),
    };
    let hir = hir.ok_or(GlobError::TooLarge)?;
    Regex::new(&hir).map_err(|_| GlobError::TooLarge)
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    regex: String,
    /// For each open `{`: whether a segment starts at its position.
    open: Vec<bool>,
    braces: Braces,
}

impl Translator<'_> {
    fn run(mut self) -> Result<String, GlobError> {
        let mut starts_segment = true;
        while let Some(char) = self.rest.next() {
            let started = std::mem::replace(&mut starts_segment, char == '/');
            match char {
                '*' if self.rest.peek() == Some(&'*') => starts_segment = self.stars(started),
                '*' => self.regex.push_str("[^/]*"),
                '?' => self.regex.push_str("[^/]"),
                '[' => self.class()?,
                '{' if self.braces == Braces::Alternatives => {
                    self.regex.push_str("(?:");
                    self.open.push(started);
                    starts_segment = started;
                }
                ',' if !self.open.is_empty() => {
                    self.regex.push('|');
                    starts_segment = self.open.last().copied().unwrap_or_default();
                }
                '}' if self.open.pop().is_some() => self.regex.push(')'),
                '\\' => {
                    let escaped = self.rest.next().ok_or(GlobError::TrailingBackslash)?;
                    self.literal(escaped);
                }
                char => self.literal(char),
            }
        }
        if self.open.is_empty() { Ok(self.regex) } else { Err(GlobError::Unclosed { open: '{' }) }
    }

    fn literal(&mut self, char: char) {
        self.regex.push_str(&regex_syntax::escape(char.encode_utf8(&mut [0; 4])));
    }

    /// Translates two or more stars and, if they form a whole segment, the `/` after them. Returns whether a segment
    /// starts behind the translated part.
    fn stars(&mut self, starts_segment: bool) -> bool {
        while self.rest.next_if_eq(&'*').is_some() {}
        let next = self.rest.peek().copied();
        let ends = next.is_none() || (!self.open.is_empty() && matches!(next, Some(',' | '}')));
        if starts_segment && ends {
            self.regex.push_str(".+");
            false
        } else if starts_segment && self.rest.next_if_eq(&'/').is_some() {
            self.regex.push_str("(?:.*/)?");
            true
        } else {
            self.regex.push_str("[^/]*");
            false
        }
    }

    /// Translates a character class whose `[` has been read. A class never matches `/`.
    fn class(&mut self) -> Result<(), GlobError> {
        let unclosed = GlobError::Unclosed { open: '[' };
        let is_negated = self.rest.next_if(|char| matches!(char, '!' | '^')).is_some();
        let mut items = String::new();
        let mut is_first = true;
        loop {
            let char = self.rest.next().ok_or_else(|| unclosed.clone())?;
            match char {
                ']' if !is_first => break,
                '[' if self.rest.peek() == Some(&':') => items.push_str(&self.named_class()),
                char => {
                    let first = self.unescaped(char)?;
                    items.push_str(&self.range(first)?);
                }
            }
            is_first = false;
        }
        let not = if is_negated { "^" } else { "" };
        let _ = write!(self.regex, "[[{not}{items}]&&[^/]]");
        Ok(())
    }

    /// Translates a POSIX class such as `[:alpha:]` whose `[` has been read. Other text is taken character by
    /// character.
    fn named_class(&mut self) -> String {
        const NAMES: [&str; 12] = [
            "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit",
        ];
        let rest: String = self.rest.clone().take(1 + "alnum:]".len() + 1).collect();
        let found = NAMES.into_iter().map(|name| format!(":{name}:]")).find(|class| rest.starts_with(class));
        let Some(class) = found else { return escape_in_class('[') };
        self.rest.nth(class.len() - 1);
        format!("[{class}")
    }

    /// Translates one character of a class, or the range that it starts.
    fn range(&mut self, first: char) -> Result<String, GlobError> {
        let mut ahead = self.rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|char| char != ']');
        if !is_range {
            return Ok(escape_in_class(first));
        }
        self.rest.next();
        let last = self.rest.next().ok_or(GlobError::Unclosed { open: '[' })?;
        let last = self.unescaped(last)?;
        if first > last {
            return Err(GlobError::Backwards { first, last });
        }
        Ok(format!("{}-{}", escape_in_class(first), escape_in_class(last)))
    }

    fn unescaped(&mut self, char: char) -> Result<char, GlobError> {
        if char == '\\' { self.rest.next().ok_or(GlobError::Unclosed { open: '[' }) } else { Ok(char) }
    }
}

fn escape_in_class(char: char) -> String {
    format!(r"\x{{{:x}}}", u32::from(char))
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
