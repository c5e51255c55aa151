//! A glob as a regular expression.

use std::fmt::Write as _;

use super::parts::{Item, Part};
use crate::search::engine::Regex;
use crate::search::unicode;

/// A glob that the regex engine runs.
#[derive(Clone, Debug)]
pub(super) struct Compiled(Regex);

impl Compiled {
    /// Returns `None` if the glob is too large for the engine.
    pub(super) fn new(parts: &[Part], ignores_case: bool) -> Option<Self> {
        let mut pattern = r"(?s)\A(?:".to_owned();
        for part in parts {
            write(&mut pattern, part);
        }
        pattern.push_str(r")\z");
        let hir = match ignores_case {
            true => unicode::parse(&pattern, true).ok(),
            false => regex_syntax::parse(&pattern).ok(),
        };
        Regex::new(&hir?).ok().map(Self)
    }

    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path.as_bytes())
    }
}

fn write(pattern: &mut String, part: &Part) {
    match part {
        Part::Char(char) => pattern.push_str(&regex_syntax::escape(char.encode_utf8(&mut [0; 4]))),
        Part::One => pattern.push_str("[^/]"),
        Part::Star => pattern.push_str("[^/]*"),
        Part::Rest => pattern.push_str(".+"),
        Part::Folders => pattern.push_str("(?:.*/)?"),
        Part::Class { is_negated, items } => {
            pattern.push_str(if *is_negated { "[[^" } else { "[[" });
            for item in items {
                let _ = match *item {
                    Item::Range(first, last) if first == last => write!(pattern, r"\x{{{:x}}}", u32::from(first)),
                    Item::Range(first, last) => {
                        write!(pattern, r"\x{{{:x}}}-\x{{{:x}}}", u32::from(first), u32::from(last))
                    }
                    Item::Named(name) => write!(pattern, "[:{name}:]"),
                };
            }
            pattern.push_str("]&&[^/]]");
        }
        Part::Open => pattern.push_str("(?:"),
        Part::Or => pattern.push('|'),
        Part::Close => pattern.push(')'),
    }
}
