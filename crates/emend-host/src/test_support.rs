//! What the tests of this crate share.

/// Says which items of `tests/it/agent_checklist.txt` the running test shows.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}
