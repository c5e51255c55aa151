//! Which test shows which item of the client's checklist: writes `docs/llm-conformance.md` from `covers("…")` calls.
//!
//! A tick says that tests name the item, not that they pass; that is for the run to say. `UPDATE_EXPECT=1` writes the
//! page anew.

use expect_test::expect_file;

pub(crate) use crate::checklist::covers;
use crate::checklist::{self, Shown};

const HEADER: &str = "\
# What the LLM client is checked for

Written by `tests/it/llm_conformance.rs` from the tests that say `covers(\"…\")`; change those. An item holds while its
tests pass. Those that need a provider's key are run by hand. What stands behind the items is in
`tests/it/llm_checklist.txt`: U8 numbers are those of the unified client's specification, C numbers go beyond it.
";

/// Where the client's tests are.
const FOLDERS: [(&str, &str); 3] =
    [("crates/emend-llm/src", ""), ("tests/it", "it::"), ("tests/http/native", "http::")];

fn tests_by_item() -> Shown {
    checklist::tests_by_item(&FOLDERS, &["U8.", "C."])
}

#[test]
fn every_item_is_ticked_by_the_tests_that_show_it() {
    let mut tests = tests_by_item();
    let page = checklist::page(HEADER, include_str!("llm_checklist.txt"), &mut tests);
    assert!(tests.is_empty(), "not on the checklist: {tests:?}");
    println!("{}", page.lines().last().unwrap_or_default());
    expect_file!["../../docs/llm-conformance.md"].assert_eq(&page);
}

/// Each planted fault of the client says which item it unticks; the test that notices it must be one of those that
/// show the item. `cargo xtask test --all` plants them.
#[test]
fn every_planted_fault_unticks_an_item_of_the_test_that_notices_it() {
    let n_faults = checklist::check_planted_faults(&tests_by_item(), "llm-", "emend-llm");
    assert!(n_faults >= 20, "only {n_faults} planted faults");
}
