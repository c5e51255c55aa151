//! Fuzz targets: plain functions over bytes that panic when a parser breaks a promise, and what drives them.
//!
//! The driver needs no instrumented build: it mutates samples that reach deep into each grammar. Inputs that once broke
//! something are kept in `tests/fuzz/cases/TARGET/` and run with every test.

pub mod mutate;
mod patches;
mod providers;
mod texts;
mod web;

/// A parser under attack.
pub struct Target {
    /// What it is called, and where its cases are.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to start from. Parts of an input are separated by [`SEPARATOR`].
    pub samples: &'static [&'static str],
    /// Words of the grammar.
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

/// Splits an input into so many texts; absent ones are empty.
fn texts<const N: usize>(data: &[u8]) -> [String; N] {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(N, SEPARATOR);
    std::array::from_fn(|_| parts.next().unwrap_or_default().to_owned())
}

/// A small number drawn from the input, for the decisions a target has to make.
fn draw(data: &[u8], salt: u64) -> u64 {
    data.iter().fold(salt ^ 0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        >> 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_and_kept_cases_break_nothing() {
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
    fn a_short_storm_breaks_nothing() {
        for target in TARGETS {
            let mut source = mutate::Source::new(target, 1);
            (0..500).for_each(|_| (target.run)(&source.next_input()));
        }
    }
}
