//! Which test shows which item of the agent's checklist: writes `docs/agent-conformance.md` from `covers("…")` calls.
//!
//! `UPDATE_EXPECT=1` writes the page anew.

use expect_test::expect_file;

use crate::checklist::{self, Shown};

const HEADER: &str = "\
# What the agent is checked for

Written by `tests/it/agent_conformance.rs` from the tests that say `covers(\"…\")`; change those. An item holds while its
tests pass. What is asked is in `tests/it/agent_checklist.txt`: S2 is the coding agent loop, S0 the code editing agent,
S3 state-verified file modification, each with its sections' numbers.
";

/// Where the agent's tests are.
const FOLDERS: [(&str, &str); 7] = [
    ("crates/emend-agent/src", ""),
    ("crates/emend-edit/src", "edit::"),
    ("crates/emend-llm/src", "llm::"),
    ("crates/emend-host/src", "host::"),
    ("crates/emend-cli/tests/cli", "cli::"),
    ("tests/it", "it::"),
    ("tests/http/native", "http::"),
];

fn tests_by_item() -> Shown {
    checklist::tests_by_item(&FOLDERS, &["A.", "S0.", "S2.", "S3."])
}

#[test]
fn every_item_of_the_agents_is_ticked_by_the_tests_that_show_it() {
    let mut tests = tests_by_item();
    let page = checklist::page(HEADER, include_str!("agent_checklist.txt"), &mut tests);
    assert!(tests.is_empty(), "not on the checklist: {tests:?}");
    println!("{}", page.lines().last().unwrap_or_default());
    expect_file!["../../docs/agent-conformance.md"].assert_eq(&page);
}

/// Each planted fault of the agent says which item it unticks; the test that notices it must be one of those that show
/// the item. `cargo xtask test --all` plants them.
#[test]
fn every_planted_fault_of_the_agents_unticks_an_item_of_the_test_that_notices_it() {
    let n_faults = checklist::check_planted_faults(&tests_by_item(), "agent-", "emend-agent");
    assert!(n_faults >= 20, "only {n_faults} planted faults");
}
