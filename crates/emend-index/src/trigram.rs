//! Trigrams: three bytes that follow each other in a line, with ASCII letters in lower case.
//!
//! The same folding applies to files and to patterns, so one index serves searches with and without case. Other letters
//! keep their case: a pattern that ignores it lists their cases.

/// Three bytes, the first one in the highest place.
pub(crate) type Trigram = u32;

/// Number of different trigrams.
pub(crate) const N_TRIGRAMS: usize = 1 << 24;

/// Returns the byte that stands for `byte` in trigrams.
pub(crate) const fn fold(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

/// Returns the trigrams of `bytes`, which are folded.
pub(crate) fn of_folded(bytes: &[u8]) -> impl Iterator<Item = Trigram> {
    bytes.windows(3).map(|window| window.iter().fold(0, |trigram, &byte| trigram << 8 | u32::from(byte)))
}

/// Finds the trigrams of texts, reusing its memory.
pub(crate) struct Extractor {
    seen: Vec<u64>,
    found: Vec<Trigram>,
}

impl Extractor {
    pub(crate) fn new() -> Self {
        Self { seen: vec![0; N_TRIGRAMS / 64], found: Vec::new() }
    }

    /// Returns each trigram of `content` once, in no order. None contains a line ending, because no match does.
    pub(crate) fn distinct(&mut self, content: &[u8]) -> &[Trigram] {
        for &trigram in &self.found {
            self.seen[trigram as usize / 64] = 0;
        }
        self.found.clear();
        let (mut trigram, mut n_in_line) = (0, 0_u32);
        for &byte in content {
            trigram = (trigram << 8 | u32::from(fold(byte))) & (N_TRIGRAMS as u32 - 1);
            n_in_line = if matches!(byte, b'\n' | b'\r') { 0 } else { n_in_line + 1 };
            if n_in_line < 3 {
                continue;
            }
            let word = &mut self.seen[trigram as usize / 64];
            let bit = 1 << (trigram % 64);
            if *word & bit == 0 {
                *word |= bit;
                self.found.push(trigram);
            }
        }
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_are_folded_and_stay_within_lines() {
        let mut extractor = Extractor::new();
        let mut check = |content: &str, expected: &[&str]| {
            let mut found = extractor.distinct(content.as_bytes()).to_vec();
            let mut expected: Vec<Trigram> = expected.iter().flat_map(|text| of_folded(text.as_bytes())).collect();
            found.sort_unstable();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(found, expected, "{content:?}");
        };
        check("", &[]);
        check("ab", &[]);
        check("aBcD", &["abc", "bcd"]);
        check("abcabc", &["abc", "bca", "cab"]);
        check("ab\ncd\r\nefg", &["efg"]);
        check("Äb", &["\u{c4}b"]);
        check("abc", &["abc"]);
    }
}
