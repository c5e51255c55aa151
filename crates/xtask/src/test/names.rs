//! Lists of test names, to tell which tests a host does not run.

use std::collections::BTreeSet;

/// Reads the names of tests from a run's output, or from a listing, as `binary::path::of::test`.
///
/// Cargo announces each binary; the harness then names its tests.
pub(super) fn read(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut binary = String::new();
    for line in text.lines() {
        if let Some(announced) = announced_binary(line) {
            binary = announced;
        } else if let Some(name) = test_name(line) {
            names.insert(format!("{binary}::{name}"));
        }
    }
    names
}

/// `Running unittests src/lib.rs (target/…/emend_edit-0123456789abcdef.wasm)` gives `emend_edit`.
pub(super) fn announced_binary(line: &str) -> Option<String> {
    let (_, path) = line.trim_start().strip_prefix("Running ")?.rsplit_once('(')?;
    let file = path.trim_end_matches(')').rsplit('/').next()?;
    let (name, _hash) = file.rsplit_once('-')?;
    Some(name.to_owned())
}

/// `a::b: test` in a listing and `test a::b ... ok` in a run give `a::b`.
fn test_name(line: &str) -> Option<&str> {
    if let Some(listed) = line.strip_suffix(": test") {
        return Some(listed);
    }
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    (!outcome.is_empty()).then_some(name)
}

/// Returns the tests of these binaries.
pub(super) fn of_binaries(names: &BTreeSet<String>, binaries: &BTreeSet<String>) -> BTreeSet<String> {
    let is_chosen = |name: &&String| name.split("::").next().is_some_and(|binary| binaries.contains(binary));
    names.iter().filter(is_chosen).cloned().collect()
}

/// Tests that need a host, and say so by the module they are in, have no place in a browser.
pub(super) fn needs_host(name: &str) -> bool {
    name.split("::").any(|segment| segment == "host_tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<String> {
        read(text).into_iter().collect()
    }

    #[test]
    fn a_listing_and_a_run_give_the_same_names() {
        let listing = "     Running unittests src/lib.rs (target/debug/deps/emend_edit-0ecaf55458835.d2)\n\
                       text::tests::lines: test\ntext::tests::ends: test\n";
        let run = "     Running unittests src/lib.rs (target/wasm/deps/emend_edit-37746bdbbedd164b.wasm)\n\
                   Loading Wasm module...\n\nrunning 2 tests\n\
                   test text::tests::ends ... ok\ntest text::tests::lines ... FAIL\n\ntest result: FAILED. 1 passed\n";
        assert_eq!(listed(listing), ["emend_edit::text::tests::ends", "emend_edit::text::tests::lines"]);
        assert_eq!(listed(run), listed(listing));
    }

    #[test]
    fn tests_that_should_panic_keep_their_names() {
        let run = "Running unittests src/lib.rs (a/b-1)\ntest x::y - should panic ... ok\n";
        assert_eq!(listed(run), ["b::x::y"]);
    }

    #[test]
    fn tests_are_chosen_by_their_binary() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let names = set(&["emend_edit::a", "emend_edit_tool::b", "it::c", "cli::d"]);
        assert_eq!(of_binaries(&names, &set(&["emend_edit", "it"])), set(&["emend_edit::a", "it::c"]));
    }

    #[test]
    fn only_a_whole_module_name_marks_a_host_test() {
        assert!(needs_host("emend_llm::cassette::host_tests::reads_a_file"));
        assert!(!needs_host("emend_llm::cassette::tests::no_host_tests_here"));
    }
}
