//! The tests that run on this machine as they are: unit tests, the integration suite, and the command's own.

use anyhow::Result;

use super::context::{Context, Depth};
use super::counts::Counts;
use crate::process::command;
use crate::repo::PURE_CRATES;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let mut cargo = command("cargo", context.repo.root());
    cargo.args(["test", "--no-fail-fast"]);
    match context.depth {
        Depth::Fast => cargo.args(PURE_CRATES.iter().flat_map(|name| ["-p", *name])).args(["--lib", "--tests"]),
        Depth::Usual => cargo.arg("--workspace"),
        Depth::All | Depth::Named => cargo.arg("--workspace").env("EMEND_STORM", "1"),
    };
    // Passing tests say what they skip, and only --show-output lets that through.
    let output = context.program("native", cargo.args(["--", "--show-output"]), worth_showing)?;
    Ok(Counts::from_libtest(&output.text).of_program(output.success))
}

/// Picks the lines that tell a person how far a run is and what is wrong with it.
pub(super) fn worth_showing(line: &str) -> bool {
    let line = line.trim();
    ["Running ", "test result: ", "skipped: "].iter().any(|prefix| line.starts_with(prefix))
        || line.ends_with("... FAILED")
        || line.ends_with("... FAIL")
}
