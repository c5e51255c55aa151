//! The native tests: unit tests, the integration suite, and the tests of the command line.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::context::{Context, Depth, LIMIT};
use super::counts::Counts;
use crate::process::{Limits, command};
use crate::repo::PURE_CRATES;

/// Longest time in which no test ends. A test that takes longer waits for a process that never ends.
const SILENCE: Duration = Duration::from_secs(6 * 60);

/// Longest time of all tests together, which other lanes slow down. A test that hangs ends after [`SILENCE`].
const WHOLE: Duration = Duration::from_secs(45 * 60);

/// Builds the programs and their tests. On a slow machine, the build and the tests together exceed the time of one program.
pub(super) fn build(context: &Context<'_>) -> Result<Counts> {
    context.check("native-build", selected(context).arg("--no-run"))
}

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    // A passing test prints its `skipped:` lines to captured output, which only --show-output shows.
    let silence = if context.depth == Depth::All { LIMIT } else { SILENCE };
    let limits = Limits { whole: WHOLE, silence };
    let output = context.limited("native", selected(context).args(["--", "--show-output"]), limits, worth_showing)?;
    Ok(Counts::from_libtest(&output.text).of_program(output.success))
}

/// Returns the command that builds and runs the tests of the chosen depth.
fn selected(context: &Context<'_>) -> Command {
    let mut cargo = command("cargo", context.repo.root());
    cargo.args(["test", "--no-fail-fast"]);
    match context.depth {
        Depth::Fast => cargo.args(PURE_CRATES.iter().flat_map(|name| ["-p", *name])).args(["--lib", "--tests"]),
        Depth::Usual => cargo.arg("--workspace"),
        Depth::All | Depth::Named => cargo.arg("--workspace").env("EMEND_STORM", "1"),
    };
    cargo
}

/// Selects the lines that show the progress of a run and its failures.
pub(super) fn worth_showing(line: &str) -> bool {
    let line = line.trim();
    ["Running ", "test result: ", "skipped: "].iter().any(|prefix| line.starts_with(prefix))
        || line.ends_with("... FAILED")
        || line.ends_with("... FAIL")
}
