//! How loosely the lines of an edit may match the lines of a file.

use serde::Serialize;

/// How loosely the lines of an edit matched the file.
///
/// The levels are the passes of codex's `apply_patch`. Each level accepts everything that the level before it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// The lines are equal.
    Exact,
    /// The lines are equal except for whitespace at their ends.
    #[serde(rename = "trailing_blanks")]
    TrailingWhitespace,
    /// The lines are equal except for whitespace at both ends.
    #[serde(rename = "indentation")]
    Whitespace,
    /// The lines are equal after trimming whitespace and replacing typographic quotes, dashes and spaces by ASCII.
    #[serde(rename = "look_alikes")]
    UnicodeConfusables,
}

/// The levels, strictest first.
pub(crate) const LENIENCIES: [Leniency; 4] =
    [Leniency::Exact, Leniency::TrailingWhitespace, Leniency::Whitespace, Leniency::UnicodeConfusables];

/// Returns whether two lines without line endings are equal at this level.
pub(crate) fn equal(leniency: Leniency, a: &str, b: &str) -> bool {
    match leniency {
        Leniency::Exact => a == b,
        Leniency::TrailingWhitespace => a.trim_end() == b.trim_end(),
        Leniency::Whitespace => a.trim() == b.trim(),
        Leniency::UnicodeConfusables => a.trim().chars().map(fold).eq(b.trim().chars().map(fold)),
    }
}

/// Returns the ASCII character that a typographic dash, quote or space resembles, or any other character unchanged.
pub(crate) fn fold(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn each_level_accepts_more() {
        #[track_caller]
        fn check(a: &str, b: &str, expected: Option<Leniency>) {
            assert_eq!(LENIENCIES.into_iter().find(|&leniency| equal(leniency, a, b)), expected, "{a:?} {b:?}");
            assert_eq!(
                LENIENCIES.into_iter().filter(|&leniency| equal(leniency, b, a)).count(),
                match expected {
                    Some(first) => LENIENCIES.into_iter().filter(|&leniency| leniency >= first).count(),
                    None => 0,
                }
            );
        }
        check("a b", "a b", Some(Leniency::Exact));
        check("a b \t", "a b", Some(Leniency::TrailingWhitespace));
        check("\ta b", "  a b ", Some(Leniency::Whitespace));
        check(" “a”\u{a0}– b", "\"a\" - b", Some(Leniency::UnicodeConfusables));
        check("a  b", "a b", None);
        check("A", "a", None);
        check("a…", "a...", None);
    }
}
