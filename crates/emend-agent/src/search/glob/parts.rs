//! Reads a glob as a list of parts.

use std::iter::Peekable;
use std::str::Chars;

use super::GlobError;

/// A part of a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A character that stands for itself.
    Char(char),
    /// `?`: one character of a segment.
    One,
    /// `*`: any number of characters of a segment.
    Star,
    /// `**` at the end: the rest of the path, at least one character.
    Rest,
    /// `**/`: any number of whole segments.
    Folders,
    /// `[…]`: one character of a segment.
    Class {
        /// Whether the character is none of `items`.
        is_negated: bool,
        /// The items of the class.
        items: Vec<Item>,
    },
    /// `{`: the first alternative begins.
    Open,
    /// `,`: the next alternative begins.
    Or,
    /// `}`: the last alternative ends.
    Close,
}

/// An item of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The characters from the first to the second one.
    Range(char, char),
    /// A POSIX class, by its name.
    Named(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Braces {
    Alternatives,
    Literal,
}

/// Reads a glob without its `!`.
pub(super) fn read(glob: &str, braces: Braces) -> Result<Vec<Part>, GlobError> {
    Reader { rest: glob.chars().peekable(), parts: Vec::new(), open: Vec::new(), braces }.run()
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    parts: Vec<Part>,
    /// For each open `{`: whether a segment starts at its position.
    open: Vec<bool>,
    braces: Braces,
}

impl Reader<'_> {
    fn run(mut self) -> Result<Vec<Part>, GlobError> {
        let mut starts_segment = true;
        while let Some(char) = self.rest.next() {
            let started = std::mem::replace(&mut starts_segment, char == '/');
            let part = match char {
                '*' if self.rest.peek() == Some(&'*') => {
                    let part = self.stars(started);
                    starts_segment = part == Part::Folders;
                    part
                }
                '*' => Part::Star,
                '?' => Part::One,
                '[' => self.class()?,
                '{' if self.braces == Braces::Alternatives => {
                    self.open.push(started);
                    starts_segment = started;
                    Part::Open
                }
                ',' if !self.open.is_empty() => {
                    starts_segment = self.open.last().copied().unwrap_or_default();
                    Part::Or
                }
                '}' if self.open.pop().is_some() => Part::Close,
                '\\' => Part::Char(self.rest.next().ok_or(GlobError::TrailingBackslash)?),
                char => Part::Char(char),
            };
            self.parts.push(part);
        }
        if self.open.is_empty() { Ok(self.parts) } else { Err(GlobError::Unclosed { open: '{' }) }
    }

    /// Reads two or more stars and, if they form a whole segment, the `/` after them.
    fn stars(&mut self, starts_segment: bool) -> Part {
        while self.rest.next_if_eq(&'*').is_some() {}
        let next = self.rest.peek().copied();
        let ends = next.is_none() || (!self.open.is_empty() && matches!(next, Some(',' | '}')));
        if starts_segment && ends {
            Part::Rest
        } else if starts_segment && self.rest.next_if_eq(&'/').is_some() {
            Part::Folders
        } else {
            Part::Star
        }
    }

    /// Reads a character class whose `[` has been read. A class never matches `/`.
    fn class(&mut self) -> Result<Part, GlobError> {
        let is_negated = self.rest.next_if(|char| matches!(char, '!' | '^')).is_some();
        let mut items = Vec::new();
        loop {
            let char = self.rest.next().ok_or(GlobError::Unclosed { open: '[' })?;
            items.push(match char {
                ']' if !items.is_empty() => break,
                '[' if self.rest.peek() == Some(&':') => self.named_class(),
                char => {
                    let first = self.unescaped(char)?;
                    self.range(first)?
                }
            });
        }
        Ok(Part::Class { is_negated, items })
    }

    /// Reads a POSIX class such as `[:alpha:]` whose `[` has been read. Other text is taken character by character.
    fn named_class(&mut self) -> Item {
        const NAMES: [&str; 12] = [
            "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit",
        ];
        let rest: String = self.rest.clone().take(1 + "alnum:]".len() + 1).collect();
        let is_next = |name: &&str| {
            let after = rest.strip_prefix(':').and_then(|rest| rest.strip_prefix(*name));
            after.is_some_and(|rest| rest.starts_with(":]"))
        };
        let Some(name) = NAMES.into_iter().find(is_next) else { return Item::Range('[', '[') };
        self.rest.nth(name.len() + 2);
        Item::Named(name)
    }

    /// Reads the rest of a range that starts with `first`, if it is one.
    fn range(&mut self, first: char) -> Result<Item, GlobError> {
        let mut ahead = self.rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|char| char != ']');
        if !is_range {
            return Ok(Item::Range(first, first));
        }
        self.rest.next();
        let last = self.rest.next().ok_or(GlobError::Unclosed { open: '[' })?;
        let last = self.unescaped(last)?;
        if first > last { Err(GlobError::Backwards { first, last }) } else { Ok(Item::Range(first, last)) }
    }

    fn unescaped(&mut self, char: char) -> Result<char, GlobError> {
        if char == '\\' { self.rest.next().ok_or(GlobError::Unclosed { open: '[' }) } else { Ok(char) }
    }
}
