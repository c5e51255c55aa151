//! Helpers for the tests of this crate.

/// Reports the items of `tests/it/agent_checklist.txt` that the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}
