//! Patterns that are plain text, which need no parser.

use super::{Either, Required};
use crate::search::MEANINGFUL;

/// Characters with a meaning outside classes.
const SPECIAL: &str = "\\.+*?()|[]{}^$";

impl Required {
    /// Returns the literal of a pattern that is nothing but text within a line; `None` if that is not certain.
    pub(in crate::search) fn of_text(pattern: &str, case_insensitive: bool) -> Option<Self> {
        let mut bytes = Vec::with_capacity(pattern.len());
        let mut rest = pattern.chars();
        while let Some(char) = rest.next() {
            let char = match char {
                '\\' => rest.next().filter(|&char| MEANINGFUL.contains(char))?,
                '\r' | '\n' => return None,
                char if SPECIAL.contains(char) => return None,
                char => char,
            };
            // Two letters have a third case, and others may have some.
            let has_cases = case_insensitive && (!char.is_ascii() || matches!(char, 'k' | 'K' | 's' | 'S'));
            if has_cases {
                return None;
            }
            let mask = if case_insensitive && char.is_ascii_alphabetic() { 0x20 } else { 0 };
            let mut buffer = [0; 4];
            bytes.extend(char.encode_utf8(&mut buffer).bytes().map(|byte| Either { bits: byte | mask, mask }));
        }
        Self::new(bytes, true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::escape;
    use crate::search::pattern::within_lines;
    use crate::test_support::cases;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Returns the text that is searched for, in lower case.
    fn text_of(pattern: &str, case_insensitive: bool) -> Option<String> {
        let found = Required::of_text(pattern, case_insensitive)?;
        Some(String::from_utf8(found.bytes.iter().map(|either| either.bits).collect()).unwrap())
    }

    #[test]
    fn plain_text_needs_no_engine() {
        assert_eq!(text_of("fn main() -> <T>", false), None);
        assert_eq!(text_of(&escape("fn main() -> <T>"), false).as_deref(), Some("fn main() -> <T>"));
        assert_eq!(text_of("Straße #1", false).as_deref(), Some("Straße #1"));
        assert_eq!(text_of("TODO: -", true).as_deref(), Some("todo: -"));
        for pattern in ["", "a|b", "a.", r"\w", r"\<", r"a\", "a\nb", "a\r"] {
            assert_eq!(text_of(pattern, false), None, "{pattern:?}");
        }
        for pattern in ["k", "tests", "é"] {
            assert_eq!(text_of(pattern, true), None, "{pattern:?}");
        }
    }

    #[test]
    fn the_text_of_any_pattern_is_that_of_the_parsed_pattern() {
        let pattern = "[aZkS_é#&~<>{}()\\[\\].*+?^$|\\\\\n\r \"-]{0,5}";
        proptest!(cases(5_000), |(pattern in pattern, case_insensitive: bool)| {
            let Some(found) = Required::of_text(&pattern, case_insensitive) else { return Ok(()) };
            let expected = Required::of(&within_lines(&pattern, case_insensitive).unwrap()).unwrap();
            prop_assert!(found.is_whole && expected.is_whole);
            prop_assert_eq!((found.bytes, found.rare), (expected.bytes, expected.rare));
        });
    }
}
