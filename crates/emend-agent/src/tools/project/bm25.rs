//! The weight of files by the words of a query: BM25 over words that are parts of the text.
//!
//! All arithmetic is addition, multiplication, division and comparison of `f64`, which every platform rounds in the same
//! way. The logarithm is our own, because those of C libraries differ in their last bits, and the order of results would
//! differ between the hosts.

/// How soon more occurrences of a word stop to count.
const K1: f64 = 1.2;

/// How much a file of more than the average length loses.
const B: f64 = 0.75;

/// The numbers of a project for one query. Weights are in millionths.
pub(super) struct Corpus {
    /// Weight of each word: the fewer files contain it, the higher.
    rarities: Vec<f64>,
    average_length: f64,
}

impl Corpus {
    /// Takes the number of all files with their total length, and for each word the number of files that contain it.
    pub(super) fn new(n_files: usize, total_length: u64, n_files_with: &[usize]) -> Self {
        let n = n_files as f64;
        let rarity = |&n_with: &usize| {
            let n_with = n_with as f64;
            // A file that was deleted between the search and the listing has a match and is not counted.
            ln(1.0 + ((n - n_with).max(0.0) + 0.5) / (n_with + 0.5))
        };
        let average_length = total_length as f64 / n.max(1.0);
        Self { rarities: n_files_with.iter().map(rarity).collect(), average_length: average_length.max(1.0) }
    }

    /// Returns the weight of a file of this length, given how often it contains each word.
    pub(super) fn weight(&self, counts: &[usize], length: u64) -> u64 {
        let relative_length = length as f64 / self.average_length;
        self.sum(counts, K1 * (1.0 - B + B * relative_length))
    }

    /// Returns the weight of a part of a file. Parts have about one length, which does not count.
    pub(super) fn weight_of_part(&self, counts: &[usize]) -> u64 {
        self.sum(counts, K1)
    }

    fn sum(&self, counts: &[usize], saturation: f64) -> u64 {
        let of_word = |(&count, rarity): (&usize, &f64)| {
            let count = count as f64;
            // Zero divided by zero would not be a number.
            if count > 0.0 { rarity * count * (K1 + 1.0) / (count + saturation) } else { 0.0 }
        };
        let sum: f64 = counts.iter().zip(&self.rarities).map(of_word).sum();
        // Sums of the same numbers in another order differ in their last bits, and must be equal.
        (sum * 1e6 + 0.5) as u64
    }
}

/// Returns the natural logarithm of a number from 1 to 2⁶⁴, to 15 digits.
fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const EXPONENT_OF_ONE: u64 = 1023;
    let exponent = (x.to_bits() >> 52).saturating_sub(EXPONENT_OF_ONE);
    let mantissa = f64::from_bits(x.to_bits() & MANTISSA | EXPONENT_OF_ONE << 52);
    // ln m = 2 artanh((m - 1) / (m + 1)), with an argument of at most 1/3.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum) = (t, 0.0);
    for odd in (1..34_u32).step_by(2) {
        sum += power / f64::from(odd);
        power *= t * t;
    }
    2.0 * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_logarithm_is_that_of_the_standard_library() {
        for x in [1.0, 1.000_001, 1.5, 1.999_999, 2.0, 2.000_001, 3.0, 10.0, 1_234.5, 1e6, 1e12, 1.8e19] {
            assert!(
                (ln(x) - f64::ln(x)).abs() <= 4.0 * f64::EPSILON * f64::ln(x).max(1e-9),
                "{x}: {} {}",
                ln(x),
                f64::ln(x)
            );
        }
    }

    #[test]
    fn weights_follow_the_formula() {
        #[track_caller]
        fn check(n_files: usize, n_with: usize, count: usize, relative_length: f64, expected: f64) {
            let corpus = Corpus::new(n_files, 1_000 * n_files as u64, &[n_with]);
            let weight = corpus.weight(&[count], (relative_length * 1_000.0) as u64);
            assert_eq!(weight, (expected * 1e6).round() as u64);
        }
        // ln(1 + 9.5 / 1.5) is 1.99243; a single occurrence in a file of average length has this weight.
        check(10, 1, 1, 1.0, 1.992_430_164_690_206);
        // Occurrences count less and less, up to 2.2 times the weight of one.
        check(10, 1, 2, 1.0, 1.992_430_164_690_206 * 2.0 * 2.2 / 3.2);
        check(10, 1, 1_000_000, 1.0, 1.992_430_164_690_206 * 2.199_997_4);
        // A longer file counts less.
        check(10, 1, 1, 3.0, 1.992_430_164_690_206 * 2.2 / 4.0);
        // A word of every file still counts.
        check(10, 10, 1, 1.0, 0.046_520_015_634_892_91);
        check(10, 1, 0, 0.0, 0.0);
    }

    #[test]
    fn a_project_without_files_or_with_empty_ones_has_finite_weights() {
        #[track_caller]
        fn check(n_files: usize, n_with: usize, length: u64, expected: u64) {
            assert_eq!(Corpus::new(n_files, 0, &[n_with]).weight(&[1], length), expected);
        }
        check(0, 0, 0, 1_173_018);
        check(0, 1, 0, 486_847);
        check(1, 1, 0, 486_847);
        check(1, 2, 5, 69_156);
    }

    #[test]
    fn equal_sums_in_another_order_are_equal() {
        let corpus = Corpus::new(7, 7, &[2, 2, 2]);
        let weights = [[1, 2, 3], [3, 2, 1], [2, 3, 1], [1, 3, 2]].map(|counts| corpus.weight(&counts, 1));
        assert_eq!(weights, [weights[0]; 4]);
    }
}
