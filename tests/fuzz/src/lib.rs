//! Fuzz targets, and the driver that runs them. A target is a function over bytes that panics if a parser breaks an
//! invariant.
//!
//! The driver needs no instrumented build: it mutates samples that reach deep into each grammar. Inputs that once
//! caused a failure are kept in `tests/fuzz/cases/TARGET/` and run with every test.

pub mod mutate;
mod patches;
mod providers;
mod texts;
mod web;

/// A parser to be fuzzed.
pub struct Target {
    /// Its name, which is also the folder of its cases.
    pub name: &'static str,
    /// Runs the parser on an input. Panics if an invariant is broken.
    pub run: fn(&[u8]),
    /// Inputs to start from. [`SEPARATOR`] separates the parts of an input.
    pub samples: &'static [&'static str],
    /// Words of the grammar, which mutations insert.
    pub words: &'static [&'static str],
}

/// Separates the parts of an input, such as a file and the patch for it.
pub const SEPARATOR: char = '\u{1e}';

/// All targets.
pub const TARGETS: &[Target] = &[
    patches::V4A,
    patches::UNIFIED,
    patches::REPLACE,
    patches::LINES,
    texts::DIFF,
    texts::LOG,
    texts::SAVED_LOG,
    texts::TRUNCATE,
    texts::PATTERNS,
    providers::ANSWERS,
    providers::PARTIAL_JSON,
    web::ADDRESSES,
    web::PAGES,
];

/// Splits an input into `N` texts. Missing ones are empty.
fn texts<const N: usize>(data: &[u8]) -> [String; N] {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(N, SEPARATOR);
    std::array::from_fn(|_| parts.next().unwrap_or_default().to_owned())
}

/// Returns a number derived from the input, for decisions of a target.
fn draw(data: &[u8], salt: u64) -> u64 {
    data.iter().fold(salt ^ 0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        >> 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_and_kept_cases_pass() {
        for target in TARGETS {
            for sample in target.samples {
                (target.run)(sample.as_bytes());
            }
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(target.name);
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                (target.run)(&std::fs::read(entry.unwrap().path()).unwrap());
            }
        }
    }

    #[test]
    fn every_folder_of_cases_belongs_to_a_target() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            assert!(TARGETS.iter().any(|target| name == target.name), "{name:?}");
        }
    }

    #[test]
    fn a_short_fuzz_run_passes() {
        for target in TARGETS {
            let mut source = mutate::Source::new(target, 1);
            (0..500).for_each(|_| (target.run)(&source.next_input()));
        }
    }
}
