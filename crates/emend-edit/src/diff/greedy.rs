//! The shortest diff of texts that differ little, found without hashing their lines.
//!
//! This is Myers' greedy search. Besides the equal lines, each of which is compared once, it looks at few others. Its
//! effort grows with the square of the number of differences, so it gives up past a limit, and the caller uses the
//! general search.

/// A position that no path reaches.
const NOWHERE: i32 = -1;

/// Returns pairs of equal items: increasing in both lists, and as many as possible.
///
/// Returns `None` if that takes more than `limit` deletions and insertions together.
pub(super) fn matches<T: PartialEq>(old: &[T], new: &[T], limit: usize) -> Option<Vec<(usize, usize)>> {
    let (n, m) = (i32::try_from(old.len()).ok()?, i32::try_from(new.len()).ok()?);
    let limit = i32::try_from(limit).ok()?.min(n.checked_add(m)?);
    let mut rounds = Rounds::default();
    for d in 0..=limit {
        for k in (-d..=d).step_by(2) {
            let mut x = if d == 0 { 0 } else { rounds.step(d, k, n, m).0 };
            while x != NOWHERE && x < n && x - k < m && old[x as usize] == new[(x - k) as usize] {
                x += 1;
            }
            rounds.reached.push(x);
            if x == n && x - k == m {
                return Some(rounds.trace(d, n, m));
            }
        }
    }
    None
}

/// How far each diagonal was followed in each round, round after round: round `d` has the diagonals `-d, -d + 2, … d`.
#[derive(Default)]
struct Rounds {
    reached: Vec<i32>,
}

impl Rounds {
    /// Returns how many old items the path on diagonal `k` had passed after round `d`.
    fn at(&self, d: i32, k: i32) -> i32 {
        if k < -d || k > d {
            return NOWHERE;
        }
        // The entries of round d follow 1 + 2 + … + d other entries.
        self.reached[(d * (d + 1) / 2 + (k + d) / 2) as usize]
    }

    /// Returns where round `d` begins on diagonal `k`, after one deletion or insertion, and the diagonal it comes
    /// from.
    fn step(&self, d: i32, k: i32, n: i32, m: i32) -> (i32, i32) {
        let deleted = match self.at(d - 1, k - 1) {
            x if x != NOWHERE && x < n => x + 1,
            _ => NOWHERE,
        };
        let inserted = match self.at(d - 1, k + 1) {
            x if x != NOWHERE && x - k <= m => x,
            _ => NOWHERE,
        };
        if deleted > inserted { (deleted, k - 1) } else { (inserted, k + 1) }
    }

    /// Follows the path back from the end of both texts, and returns its pairs of equal items.
    fn trace(&self, rounds: i32, n: i32, m: i32) -> Vec<(usize, usize)> {
        let mut matches = Vec::with_capacity(n.min(m) as usize);
        let (mut x, mut k) = (n, n - m);
        for d in (0..=rounds).rev() {
            let (begun, from) = if d == 0 { (0, 0) } else { self.step(d, k, n, m) };
            while x > begun {
                x -= 1;
                matches.push((x as usize, (x - k) as usize));
            }
            if d > 0 {
                x = self.at(d - 1, from);
                k = from;
            }
        }
        matches.reverse();
        matches
    }
}
