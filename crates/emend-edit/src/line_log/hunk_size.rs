//! The size limits of a hunk, and where a large change is cut.
//!
//! This module only knows lines. [`crate::line_log::LineLog::hunks`] groups changes into hunks.

use std::ops::Range;

use crate::text::split_eol;

/// Maximum number of changed lines of a hunk. A larger one is cut or marked as oversized.
pub const HUNK_LINES_MAX: usize = 80;

/// Maximum number of changed bytes of a hunk. A larger one is cut or marked as oversized.
pub const HUNK_BYTES_MAX: usize = 8192;

/// A replacement of lines, as ranges of an old and a new list of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Cuts a replacement of `old` by `new` into pieces that can be decided on one by one.
///
/// Pure insertions and deletions are cut after each run of blank lines, so that a later edit of one paragraph affects
/// one piece. A piece above the limits is also cut at the ends of sentences. A replacement within the limits stays
/// whole. A larger one is cut along its longer side, and the shorter side is divided in proportion.
pub(crate) fn cut(old: &[&str], new: &[&str], limits: HunkLimits) -> Vec<Piece> {
    let fits_whole = fits(old.iter().chain(new), limits);
    if !old.is_empty() && !new.is_empty() && fits_whole {
        return vec![Piece { old: 0..old.len(), new: 0..new.len() }];
    }
    let old_is_longer = size_of(old) > size_of(new);
    let (long, short) = if old_is_longer { (old, new) } else { (new, old) };
    let mut ends = paragraph_ends(long);
    if !short.is_empty() {
        // Both sides count towards the size of a hunk, so the longer one only gets its share.
        let share = limits.share_of(long, short);
        ends = pack(long, &refine(long, &ends, share), share);
    } else {
        ends = refine(long, &ends, limits);
    }
    let mut pieces = Vec::with_capacity(ends.len());
    let (mut long_at, mut short_at) = (0, 0);
    for end in ends {
        let short_end = if end == long.len() { short.len() } else { part_of(short.len(), end, long.len()) };
        let (long_range, short_range) = (long_at..end, short_at..short_end);
        pieces.push(match old_is_longer {
            true => Piece { old: long_range, new: short_range },
            false => Piece { old: short_range, new: long_range },
        });
        (long_at, short_at) = (end, short_end);
    }
    pieces
}

/// Returns whether changed lines are within the limits of one hunk.
pub(crate) fn fits<'a>(lines: impl IntoIterator<Item = &'a &'a str>, limits: HunkLimits) -> bool {
    let (mut n_lines, mut n_bytes) = (0, 0);
    for line in lines {
        n_lines += 1;
        n_bytes += line.len();
    }
    limits.allow(n_lines, n_bytes)
}

/// The largest changed part that is one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HunkLimits {
    /// Maximum number of changed lines.
    pub lines: usize,
    /// Maximum number of changed bytes.
    pub bytes: usize,
}

impl Default for HunkLimits {
    fn default() -> Self {
        Self { lines: HUNK_LINES_MAX, bytes: HUNK_BYTES_MAX }
    }
}

impl HunkLimits {
    fn share_of(self, long: &[&str], short: &[&str]) -> Self {
        let share = |whole, a, b| part_of(whole, a, a + b).max(1);
        Self {
            lines: share(self.lines, long.len(), short.len()),
            bytes: share(self.bytes, size_of(long), size_of(short)),
        }
    }

    pub(crate) fn allow(self, n_lines: usize, n_bytes: usize) -> bool {
        n_lines <= self.lines && n_bytes <= self.bytes
    }
}

/// Returns `whole * part / all`, computed in 64 bits: on wasm32 the product of two sizes may exceed 32 bits.
fn part_of(whole: usize, part: usize, all: usize) -> usize {
    let share = (whole as u64).saturating_mul(part as u64) / (all as u64).max(1);
    // The result exceeds `whole` only if `part` exceeds `all`.
    usize::try_from(share).unwrap_or(usize::MAX)
}

fn size_of(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len()).sum()
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn ends_sentence(line: &str) -> bool {
    let content = split_eol(line).0.trim_end().trim_end_matches(['"', '\'', ')', '”', '’', '*', '_']);
    content.ends_with(['.', '!', '?', '…', '。', '！', '？'])
}

/// Returns the index after each run of blank lines, and the end.
fn paragraph_ends(lines: &[&str]) -> Vec<usize> {
    let seams = (1..lines.len()).filter(|&i| is_blank(lines[i - 1]) && !is_blank(lines[i]));
    // Blank lines at the start are not a paragraph of their own.
    let text_starts = lines.iter().position(|line| !is_blank(line)).unwrap_or(lines.len());
    seams.filter(|&i| i > text_starts).chain([lines.len()]).collect()
}

/// Cuts the parts that exceed `limits` at the ends of sentences.
fn refine(lines: &[&str], ends: &[usize], limits: HunkLimits) -> Vec<usize> {
    let mut refined = Vec::new();
    let mut start = 0;
    for &end in ends {
        if limits.allow(end - start, size_of(&lines[start..end])) {
            refined.push(end);
        } else {
            let part = &lines[start..end];
            let seams: Vec<usize> =
                (1..part.len()).filter(|&i| ends_sentence(part[i - 1])).chain([part.len()]).collect();
            refined.extend(pack(part, &seams, limits).into_iter().map(|seam| start + seam));
        }
        start = end;
    }
    refined
}

/// Joins neighbouring parts as long as they are within `limits`.
fn pack(lines: &[&str], ends: &[usize], limits: HunkLimits) -> Vec<usize> {
    let mut packed: Vec<usize> = Vec::new();
    let mut start = 0;
    for (index, &end) in ends.iter().enumerate() {
        let next_fits =
            ends.get(index + 1).is_some_and(|&next| limits.allow(next - start, size_of(&lines[start..next])));
        if !next_fits {
            packed.push(end);
            start = end;
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_support::cases;
    use crate::text::split_lines;

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let line = prop_oneof![
            3 => Just("\n".to_owned()),
            5 => Just("code {\n".to_owned()),
            5 => Just("It ends here.\n".to_owned()),
            1 => (1..3000_usize).prop_map(|n| "x".repeat(n) + "\n"),
        ];
        (vec(line, 0..60), 1..6_usize).prop_map(|(lines, n)| vec![lines; n].concat())
    }

    proptest! {
        #![proptest_config(cases(2_000))]

        #[test]
        fn pieces_cover_both_sides_and_are_within_the_limits_where_possible(old in lines(), new in lines()) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            prop_assume!(!old.is_empty() || !new.is_empty());
            let pieces = cut(&old, &new, HunkLimits::default());
            let (mut old_at, mut new_at) = (0, 0);
            for piece in &pieces {
                prop_assert_eq!((piece.old.start, piece.new.start), (old_at, new_at));
                prop_assert!(!piece.old.is_empty() || !piece.new.is_empty());
                (old_at, new_at) = (piece.old.end, piece.new.end);
            }
            prop_assert_eq!((old_at, new_at), (old.len(), new.len()));
            // A pure insertion that is too large has no seam inside.
            for piece in cut(&[], &new, HunkLimits::default()) {
                let part = &new[piece.new];
                if !fits(part, HunkLimits::default()) {
                    let seams = part[..part.len() - 1].iter().filter(|line| ends_sentence(line));
                    prop_assert_eq!(seams.count(), 0, "{:?}", part);
                }
            }
        }
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[(Range<usize>, Range<usize>)]) {
        let pieces = cut(&split_lines(old), &split_lines(new), HunkLimits::default())
            .into_iter()
            .map(|piece| (piece.old, piece.new));
        assert_eq!(pieces.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn large_sides_are_divided_in_proportion() {
        assert_eq!(part_of(100_000, 100_000, 200_000), 50_000);
        // Each side has more bytes, or more lines, than a product of two such numbers may have in 32 bits.
        let (long_line, many) = ("x".repeat(600_000) + "\n", "a\n\n".repeat(35_000));
        check(&(long_line.clone() + "\nb\n"), "c\n", &[(0..2, 0..0), (2..3, 0..1)]);
        let pieces = cut(&split_lines(&many), &split_lines(&many.replace('a', "b")), HunkLimits::default());
        assert!(pieces.iter().all(|piece| piece.old == piece.new), "{:?}", pieces.first());
    }

    #[test]
    fn insertions_are_cut_after_blank_lines_and_small_replacements_stay_whole() {
        check("", "a\nb\n\n\nc\n", &[(0..0, 0..4), (0..0, 4..5)]);
        check("", "\n\na\n\nb\n", &[(0..0, 0..4), (0..0, 4..5)]);
        check("a\n\nb\n", "", &[(0..2, 0..0), (2..3, 0..0)]);
        check("a\n\nb\n", "c\n\nd\n", &[(0..3, 0..3)]);
    }

    #[test]
    fn large_parts_are_cut_at_the_ends_of_sentences() {
        let sentences = |n: usize| "It ends here.\n".repeat(n);
        let parts = |ends: &[usize]| -> Vec<(Range<usize>, Range<usize>)> {
            std::iter::once(&0).chain(ends).zip(ends).map(|(&start, &end)| (0..0, start..end)).collect()
        };
        check("", &sentences(240), &parts(&[80, 160, 240]));
        // Cut where the sentence ends, which is neither before nor inside of it.
        check("", &("x\n".repeat(50) + &sentences(1) + &"x\n".repeat(60)), &parts(&[51, 111]));
        // A paragraph that fits stays whole also below others.
        check("", &(sentences(60) + "\n" + &sentences(60)), &parts(&[61, 121]));
        check("", &(sentences(60) + "\n" + &sentences(90)), &parts(&[61, 141, 151]));
    }

    #[test]
    fn both_sides_of_a_replacement_count() {
        // Half of the 80 lines for each side.
        check(
            &"It is old.\n".repeat(100),
            &"It is new.\n".repeat(100),
            &[(0..40, 0..40), (40..80, 40..80), (80..100, 80..100)],
        );
        // Of sides with equally many bytes the new one decides.
        let (old, new) = ("x".repeat(8_191) + "\n", "y".repeat(4_094) + "\n\n");
        check(&old, &new.repeat(2), &[(0..0, 0..2), (0..1, 2..4)]);
    }
}
