//! Intervals of shares, and percentiles.

/// Quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A share: `hits` of `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of cases that count.
    pub hits: usize,
    /// The number of all cases.
    pub total: usize,
}

impl Share {
    /// Counts the items for which `is_hit` is true.
    pub fn of<T>(items: impl IntoIterator<Item = T>, is_hit: impl Fn(&T) -> bool) -> Self {
        items.into_iter().fold(Self::default(), |sum, item| Self {
            hits: sum.hits + usize::from(is_hit(&item)),
            total: sum.total + 1,
        })
    }

    /// Returns the share from 0 to 1, `None` without cases.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.total > 0).then(|| self.hits as f64 / self.total as f64)
    }

    /// Returns Wilson's interval of 95 %, from 0 to 1. Without cases it is the whole range.
    ///
    /// Unlike the normal approximation it has a sensible width at 0 and at 1, where controls and good models are.
    #[must_use]
    pub fn wilson(self) -> (f64, f64) {
        let Some(share) = self.value() else { return (0.0, 1.0) };
        let n = self.total as f64;
        let z2 = Z * Z;
        let centre = share + z2 / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let whole = 1.0 + z2 / n;
        (((centre - half) / whole).max(0.0), ((centre + half) / whole).min(1.0))
    }
}

/// Returns the `percent`-th percentile by the nearest rank, `None` without values.
#[must_use]
pub fn percentile(values: &[u64], percent: u64) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted.get(usize::try_from(rank).ok()? - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check((hits, total): (usize, usize), low: f64, high: f64) {
        let (found_low, found_high) = Share { hits, total }.wilson();
        assert!((found_low - low).abs() < 5e-5 && (found_high - high).abs() < 5e-5, "{found_low} {found_high}");
    }

    #[test]
    fn intervals_are_those_of_published_tables() {
        // Newcombe 1998, table I, method 3.
        check((81, 263), 0.2553, 0.3662);
        check((15, 148), 0.0624, 0.1605);
        check((0, 20), 0.0, 0.1611);
        check((1, 29), 0.0061, 0.1718);
        check((40, 40), 0.9124, 1.0);
        check((0, 0), 0.0, 1.0);
    }

    #[test]
    fn percentiles_are_values_of_the_list() {
        let values = [40, 10, 30, 20];
        assert_eq!([1, 50, 51, 95, 100].map(|percent| percentile(&values, percent)), [10, 20, 30, 40, 40].map(Some));
        assert_eq!(percentile(&[], 50), None);
    }
}
