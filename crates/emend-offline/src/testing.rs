//! The configuration of property tests.

use proptest::test_runner::{Config as ProptestConfig, RngSeed};

/// Returns the configuration of a property test with `cases` cases natively and 200 in a browser.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = if cfg!(target_family = "wasm") { 200 } else { cases };
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() }
}
