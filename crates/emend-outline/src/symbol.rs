//! An outline and its symbols.

use std::fmt;

use crate::kind::Kind;

/// The definitions of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The symbols in the order of their first lines.
    pub symbols: Vec<Symbol>,
    /// Whether symbols beyond the limit are missing.
    pub truncated: bool,
}

/// A definition in a text. Its text form is a line of an outline: `  4-9 fn name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name as the text has it, with its qualifiers: `Server.Close`, `shape::area`, `Display for Point`.
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// First line, from 1.
    pub first_line: usize,
    /// Last line, from 1, inclusive.
    pub last_line: usize,
    /// Number of symbols around this one.
    pub depth: usize,
}

impl Symbol {
    /// Returns the name without qualifiers.
    #[must_use]
    pub fn own_name(&self) -> &str {
        match self.kind {
            Kind::Impl => &self.name,
            _ => self.name.rsplit(['.', ':']).next().unwrap_or(&self.name),
        }
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indentation = "  ".repeat(self.depth);
        let (first, last, kind, name) = (self.first_line, self.last_line, self.kind.as_str(), &self.name);
        write!(formatter, "{indentation}{first}-{last} {kind} {name}")
    }
}
