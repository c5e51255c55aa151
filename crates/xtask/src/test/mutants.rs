//! A sample of the changes of `cargo xtask mutants`, another one every day, with the score of each area.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
use crate::mutants::{self, Score, Shard};
use crate::progress::say;

/// A sample is this part of all changes: about ten of each area.
const SHARDS: u64 = 40;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    let shard = Shard { index: day % SHARDS, count: SHARDS };
    say!("shard {} of {SHARDS}", shard.index);
    Ok(count(&mutants::run_areas(context.repo, shard)?))
}

/// Least percentage of changes that tests notice, over all areas. A sample varies by a few percent.
const PERCENT_MIN: usize = 85;

fn count(scores: &[Score]) -> Counts {
    let sum = scores.iter().fold(Score::default(), |sum, score| sum + score);
    let low = sum.percent().is_none_or(|percent| percent < PERCENT_MIN);
    Counts { passed: sum.caught + sum.timeout, failed: usize::from(low), skipped: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_score_fails() {
        let score = |caught, missed| Score { caught, missed, ..Score::default() };
        assert_eq!(count(&[score(8, 2), score(9, 1)]), Counts { passed: 17, failed: 0, skipped: 0 });
        assert_eq!(count(&[score(8, 2), score(8, 2)]), Counts { passed: 16, failed: 1, skipped: 0 });
        assert_eq!(count(&[]), Counts { passed: 0, failed: 1, skipped: 0 });
    }
}
