//! How loosely the lines of an edit may match the lines of a file.

use serde::Serialize;

/// How exactly the lines of an edit had to be compared with the file before they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// Equal, character for character.
    Exact,
    /// Equal but for blanks at the ends of lines.
    #[serde(rename = "trailing_blanks")]
    TrailingWhitespace,
    /// Equal but for blanks at both ends of lines.
    #[serde(rename = "indentation")]
    Whitespace,
    /// Equal once typographic quotes, dashes and spaces are read as their ASCII look-alikes as well.
    #[serde(rename = "look_alikes")]
    UnicodeConfusables,
}

/// The passes from the strictest on. Each accepts whatever the one before it accepts.
pub(crate) const LENIENCIES: [Leniency; 4] =
    [Leniency::Exact, Leniency::TrailingWhitespace, Leniency::Whitespace, Leniency::UnicodeConfusables];

/// Returns whether two lines without endings are equal under `pass`.
pub(crate) fn equal(pass: Leniency, a: &str, b: &str) -> bool {
    match pass {
        Leniency::Exact => a == b,
        Leniency::TrailingWhitespace => a.trim_end() == b.trim_end(),
        Leniency::Whitespace => a.trim() == b.trim(),
        Leniency::UnicodeConfusables => a.trim().chars().map(fold).eq(b.trim().chars().map(fold)),
    }
}

/// Returns the ASCII look-alike of a typographic dash, quote or space, and any other character as it is.
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
    fn each_pass_forgives_more() {
        #[track_caller]
        fn check(a: &str, b: &str, expected: Option<Leniency>) {
            assert_eq!(LENIENCIES.into_iter().find(|&pass| equal(pass, a, b)), expected, "{a:?} {b:?}");
            assert_eq!(
                LENIENCIES.into_iter().filter(|&pass| equal(pass, b, a)).count(),
                match expected {
                    Some(first) => LENIENCIES.into_iter().filter(|&pass| pass >= first).count(),
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
