//! What the tests of this crate share.

use proptest::test_runner::{Config, RngSeed};

/// Returns a property test's settings: `native` cases (200 in a browser), the same ones on every run.
pub(crate) fn cases(native: u32) -> Config {
    Config {
        cases: if cfg!(target_family = "wasm") { 200 } else { native },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0e3e_4d00),
        ..Config::default()
    }
}
