//! The tests of a run and the checklist items that they covered, as the run's output says.
//!
//! The harness prints the output of each test below a line `---- NAME stdout ----` (with `--show-output`, also of tests
//! that passed). A test prints `covers: ITEM …` when it names its items and `skipped: …` when it leaves cases out. A test
//! counts as covering only if it passed and skipped nothing.

use std::collections::BTreeSet;

use super::checklist::{self, Covered};
use super::names;

/// The outcome of one or more runs.
#[derive(Default)]
pub(super) struct RunLog {
    /// Items, each with the tests that covered it.
    pub(super) covered: Covered,
    /// Tests that left cases out.
    pub(super) skipped: BTreeSet<String>,
    /// The test binaries that ran.
    pub(super) binaries: BTreeSet<String>,
}

impl RunLog {
    /// Adds the output of a run.
    pub(super) fn read(&mut self, text: &str) {
        let (mut binary, mut succeeded, mut test) = (String::new(), false, None);
        let mut named: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(announced) = names::announced_binary(line) {
                self.binaries.insert(announced.clone());
                (binary, succeeded, test) = (announced, false, None);
            } else if line == "successes:" || line == "failures:" {
                (succeeded, test) = (line == "successes:", None);
            } else if line.starts_with("test result: ") {
                test = None;
            } else if let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
                test = Some(format!("{binary}::{name}"));
            } else if let Some(test) = &test {
                let line = line.trim_start();
                if line.starts_with("skipped: ") {
                    self.skipped.insert(test.clone());
                } else if let Some(items) = line.strip_prefix("covers: ").filter(|_| succeeded) {
                    named.extend(checklist::named(items).map(|item| (item, test.clone())));
                }
            }
        }
        for (item, test) in named {
            if !self.skipped.contains(&test) {
                self.covered.entry(item).or_default().insert(test);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "     Running unittests src/lib.rs (target/debug/deps/emend_edit-0ecaf55458835d2f)

running 4 tests
test a::whole ... ok
test a::partial ... ok
test a::early ... ok
test a::wrong ... FAILED

successes:

---- a::whole stdout ----
covers: file.read parity.text.*
covers: file.list

---- a::partial stdout ----
covers: file.read
skipped: 78 cases (EMEND_CASES is not set)

---- a::early stdout ----
nothing to do


successes:
    a::early
    a::partial
    a::whole

failures:

---- a::wrong stdout ----
covers: file.write

thread 'a::wrong' panicked at a.rs:3

failures:
    a::wrong

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s
covers: nothing.at_all
";

    #[test]
    fn a_test_covers_its_items_if_it_passed_and_skipped_nothing() {
        let mut log = RunLog::default();
        log.read(RUN);
        let whole = BTreeSet::from(["emend_edit::a::whole".to_owned()]);
        let items = ["file.list", "file.read", "parity.text.anthropic", "parity.text.gemini", "parity.text.openai"];
        assert_eq!(log.covered, items.iter().map(|item| ((*item).to_owned(), whole.clone())).collect());
        assert_eq!(log.skipped, BTreeSet::from(["emend_edit::a::partial".to_owned()]));
        assert_eq!(log.binaries, BTreeSet::from(["emend_edit".to_owned()]));
    }
}
