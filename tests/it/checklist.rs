//! Names checklist items. The step `conformance` of `cargo xtask test` makes pages of ticks from the output of these tests.

use std::path::Path;

/// Names the checklist items that the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}
