//! Random numbers from a seed, for several threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of a seed. Threads take them in an order that depends on their timing.
pub(super) struct Seeded(AtomicU64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns a number below `n` (splitmix64).
    pub(super) fn below(&self, n: u64) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}
