//! The machine's clock and its source of randomness.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use emend_llm::{BoxFuture, Clock, Random};

/// The system's clock. Its [`sleep`](Clock::sleep) must be awaited inside a tokio runtime with its timer enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(async move { tokio::time::sleep(Duration::from_millis(ms)).await })
    }
}

/// The system's source of randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn next_u64(&self) -> u64 {
        // Without a system source, fall back on the hasher's keys, which are drawn when the process starts.
        getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(SystemTime::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_and_sleeps() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let before = SystemClock.now_ms();
        runtime.block_on(SystemClock.sleep(20));
        assert!(SystemClock.now_ms() >= before + 20);
        assert!(before > 1_700_000_000_000, "milliseconds since 1970");
    }

    #[test]
    fn numbers_differ() {
        let numbers: std::collections::BTreeSet<u64> = (0..1_000).map(|_| OsRandom.next_u64()).collect();
        assert_eq!(numbers.len(), 1_000);
    }
}
