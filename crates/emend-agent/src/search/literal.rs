//! A prefilter: finds a literal that every match of a pattern contains, 64 bytes at a time. The engine reads only lines
//! with the literal.
//!
//! Only the small engine of browsers needs it, because that engine reads byte by byte. The native engine has prefilters
//! of its own.

#[cfg(any(feature = "regex", not(target_family = "wasm")))]
mod of_hir;
#[cfg(any(test, not(feature = "regex")))]
mod of_text;

/// A byte of the literal, or two bytes that differ in one bit, such as both cases of an ASCII letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Either {
    /// The bits of the byte, with the variable bit set.
    bits: u8,
    /// The variable bit, or 0.
    mask: u8,
}

/// A literal that every match contains; letters may match in either case.
#[derive(Clone, Debug)]
pub(super) struct Required {
    bytes: Vec<Either>,
    /// Positions of the two bytes of the literal that are rarest in typical text.
    rare: [usize; 2],
    /// Whether the literal is the whole pattern.
    #[cfg_attr(
        all(target_family = "wasm", not(feature = "regex")),
        expect(dead_code, reason = "without an engine every literal is a whole pattern")
    )]
    pub(super) is_whole: bool,
}

/// The most frequent bytes of source code and prose, most frequent first.
const COMMON: &[u8] = b" etaonirslcdpu\nmf.,()_h\"g=bv:;-/y{}w'0x1*k<>T2[]ASIE";

/// Number of positions that are compared at once.
const BLOCK: usize = 64;

impl Required {
    /// Returns `None` if there is no byte.
    fn new(bytes: Vec<Either>, is_whole: bool) -> Option<Self> {
        let rarest = rarest_but(&bytes, None)?;
        let next = rarest_but(&bytes, Some(bytes[rarest])).unwrap_or(rarest);
        Some(Self { bytes, rare: [rarest, next], is_whole })
    }

    /// Returns the first position of the literal at or after `from`.
    pub(super) fn find(&self, haystack: &[u8], from: usize) -> Option<usize> {
        let [one, other] = self.rare;
        let rare = [self.bytes[one], self.bytes[other]];
        let next_candidates =
            if rare[0].mask | rare[1].mask == 0 { next_candidates::<false> } else { next_candidates::<true> };
        let blocks = |from: usize, place: usize| Some(haystack.get(from + place..)?.as_chunks::<BLOCK>().0);
        let first = |from: usize, mut places: u64| {
            while places != 0 {
                let at = from + places.trailing_zeros() as usize;
                if self.stands_at(haystack, at) {
                    return Some(at);
                }
                places &= places - 1;
            }
            None
        };
        let (mut ones, mut others, mut next) = (blocks(from, one)?, blocks(from, other)?, from);
        while let Some((index, places)) = next_candidates(ones, others, rare) {
            if let Some(at) = first(next + index * BLOCK, places) {
                return Some(at);
            }
            (ones, others, next) = (&ones[index + 1..], &others[index + 1..], next + (index + 1) * BLOCK);
        }
        next += ones.len().min(others.len()) * BLOCK;
        // The remaining bytes do not fill a block. The last whole block is compared again, without the positions that
        // were done. A text shorter than a block is padded with zeros, which do no harm: each candidate is compared in
        // full.
        match haystack.len().checked_sub(BLOCK + one.max(other)).filter(|&last| last >= from) {
            Some(last) => {
                let (ones, others) = (blocks(last, one)?, blocks(last, other)?);
                let (_, places) = next_candidates(ones.get(..1)?, others.get(..1)?, rare)?;
                first(last, places & u64::MAX.checked_shl((next - last) as u32).unwrap_or(0))
            }
            None => {
                let padded = |place: usize| {
                    let bytes = haystack.get(next + place..).unwrap_or_default();
                    let n_bytes = bytes.len().min(BLOCK);
                    let mut block = [0; BLOCK];
                    block[..n_bytes].copy_from_slice(&bytes[..n_bytes]);
                    block
                };
                let (_, places) = next_candidates(&[padded(one)], &[padded(other)], rare)?;
                first(next, places)
            }
        }
    }

    fn stands_at(&self, haystack: &[u8], from: usize) -> bool {
        let Some(candidate) = haystack.get(from..from + self.bytes.len()) else { return false };
        candidate.iter().zip(&self.bytes).all(|(&byte, either)| either.is(byte))
    }
}

impl Either {
    fn is(self, byte: u8) -> bool {
        byte | self.mask == self.bits
    }
}

/// Returns the position of the rarest byte other than `other`.
fn rarest_but(bytes: &[Either], other: Option<Either>) -> Option<usize> {
    let (mut rarest, mut most) = (None, 0);
    for (place, &either) in bytes.iter().enumerate() {
        let rank = COMMON.iter().position(|&common| either.is(common)).unwrap_or(COMMON.len());
        if Some(either) != other && (rarest.is_none() || rank > most) {
            (rarest, most) = (Some(place), rank);
        }
    }
    rarest
}

/// Returns the first index at which both blocks have candidates: the first block holds the first rare byte and the
/// second block the second one, at the same position. Each bit of the result is a position. `FOLDS` means that a byte
/// has a variable bit. Constants of the loop are computed before it, because the loop takes nearly all of the search
/// time.
#[cfg(target_feature = "simd128")]
fn next_candidates<const FOLDS: bool>(
    ones: &[[u8; BLOCK]],
    others: &[[u8; BLOCK]],
    rare: [Either; 2],
) -> Option<(usize, u64)> {
    use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_splat, u64x2, v128, v128_and, v128_any_true, v128_or};

    // Always inlined, because code optimised for size would pass vectors through memory.
    #[expect(clippy::inline_always, reason = "the loop takes four times as long with a call in it")]
    #[inline(always)]
    fn places<const FOLDS: bool>(bytes: &[u8; 16], mask: v128, bits: v128) -> v128 {
        let whole = u128::from_le_bytes(*bytes);
        let bytes = u64x2(whole as u64, (whole >> 64) as u64);
        u8x16_eq(if FOLDS { v128_or(bytes, mask) } else { bytes }, bits)
    }
    let (mask, bits) = (u8x16_splat(rare[0].mask), u8x16_splat(rare[0].bits));
    let (other_mask, other_bits) = (u8x16_splat(rare[1].mask), u8x16_splat(rare[1].bits));
    for (index, (one, other)) in ones.iter().zip(others).enumerate() {
        let ([one_a, one_b, one_c, one_d], [other_a, other_b, other_c, other_d]) =
            (one.as_chunks().0, other.as_chunks().0)
        else {
            return None;
        };
        let a = v128_and(places::<FOLDS>(one_a, mask, bits), places::<FOLDS>(other_a, other_mask, other_bits));
        let b = v128_and(places::<FOLDS>(one_b, mask, bits), places::<FOLDS>(other_b, other_mask, other_bits));
        let c = v128_and(places::<FOLDS>(one_c, mask, bits), places::<FOLDS>(other_c, other_mask, other_bits));
        let d = v128_and(places::<FOLDS>(one_d, mask, bits), places::<FOLDS>(other_d, other_mask, other_bits));
        if v128_any_true(v128_or(v128_or(a, b), v128_or(c, d))) {
            let low = u64::from(u8x16_bitmask(a)) | u64::from(u8x16_bitmask(b)) << 16;
            return Some((index, low | u64::from(u8x16_bitmask(c)) << 32 | u64::from(u8x16_bitmask(d)) << 48));
        }
    }
    None
}

/// Returns the first index at which both blocks have candidates, and a bit for each position.
#[cfg(not(target_feature = "simd128"))]
fn next_candidates<const FOLDS: bool>(
    ones: &[[u8; BLOCK]],
    others: &[[u8; BLOCK]],
    rare: [Either; 2],
) -> Option<(usize, u64)> {
    let places = |(one, other): (&[u8; BLOCK], &[u8; BLOCK])| {
        let is_one = |place: usize| rare[0].is(one[place]) && rare[1].is(other[place]);
        (0..BLOCK).fold(0, |places, place| places | u64::from(is_one(place)) << place)
    };
    ones.iter().zip(others).map(places).enumerate().find(|(_, places)| *places != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::hir::Hir;

    use super::*;
    use crate::search::pattern::within_lines;
    use crate::test_support::cases;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Checks the literal of a pattern, in lower case, and whether it is the whole pattern.
    #[track_caller]
    fn check(pattern: &str, case_insensitive: bool, expected: Option<(&str, bool)>) {
        let found = Required::of(&within_lines(pattern, case_insensitive).unwrap());
        let text = found.as_ref().map(|found| {
            let lower: Vec<u8> = found.bytes.iter().map(|either| either.bits).collect();
            (String::from_utf8(lower).unwrap(), found.is_whole)
        });
        assert_eq!(text.as_ref().map(|(text, is_whole)| (text.as_str(), *is_whole)), expected, "{pattern:?}");
    }

    #[test]
    fn the_longest_text_that_cannot_be_missing_is_found() {
        check("needle", false, Some(("needle", true)));
        check("(nee)(dle)", false, Some(("needle", true)));
        check(r"fn \w+\(", false, Some(("fn ", false)));
        check(r"\w+_needle\b", false, Some(("_needle", false)));
        check("(one|two)_three", false, Some(("_three", false)));
        check("^needle$", false, Some(("needle", false)));
        check("ab(cd)+", false, Some(("ab", false)));
        check("a(bcd){2}e", false, Some(("bcd", false)));
        check("a(bcd){0,2}e", false, Some(("a", false)));
        check("[aq]d", false, Some(("qd", true)));
        check("[ab]d", false, Some(("d", false)));
        check("a|b|cd", false, None);
        check("[a-z]*", false, None);
        check("", false, None);
        check(".", false, None);
    }

    #[test]
    fn either_case_counts_where_it_is_one_ascii_letter() {
        check("Needle_7", true, Some(("needle_7", true)));
        check("[@`]x", false, Some(("`x", true)));
        // The Kelvin sign folds to k, and the long s to s.
        check("tick_tock", true, Some(("_toc", false)));
        check("straße", true, Some(("tra", false)));
    }

    #[test]
    fn it_is_found_from_anywhere() {
        let required = Required::of(&within_lines("aXa", true).unwrap()).unwrap();
        let text = b"xa aXaxA axa";
        let places =
            [(0, Some(3)), (3, Some(3)), (4, Some(5)), (6, Some(9)), (9, Some(9)), (10, None), (12, None), (99, None)];
        for (from, expected) in places {
            assert_eq!(required.find(text, from), expected, "from {from}");
        }
    }

    #[test]
    fn it_is_found_where_a_plain_search_finds_it() {
        let letters = || prop::collection::vec(prop::sample::select(b"abcABC\x00\x80\xff".to_vec()), 0..300);
        proptest!(cases(2_000), |(haystack in letters(), start in 0..300_usize, len in 1..5_usize, from in 0..310_usize)| {
            let needle = haystack.get(start..start + len).unwrap_or(b"ab");
            let required = Required::of(&Hir::literal(needle)).unwrap();
            let expected = (from..haystack.len()).find(|&at| haystack[at..].starts_with(needle));
            prop_assert_eq!(required.find(&haystack, from), expected);
        });
    }

    #[test]
    fn it_is_found_in_either_case_where_a_plain_search_finds_it() {
        // The alphabet is small, so that a hit does not hide another in the same block.
        let letters = || {
            prop::collection::vec(prop::sample::select(b"aAbB................................\x00".to_vec()), 0..300)
        };
        proptest!(cases(2_000), |(haystack in letters(), needle in "[ab]{1,2}", from in 0..310_usize)| {
            let required = Required::of(&within_lines(&needle, true).unwrap()).unwrap();
            let lower = haystack.to_ascii_lowercase();
            let expected = (from..lower.len()).find(|&at| lower[at..].starts_with(needle.as_bytes()));
            prop_assert_eq!(required.find(&haystack, from), expected);
        });
    }
}
