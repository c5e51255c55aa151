//! Runs every fuzz target (`emend-fuzz`, in `tests/fuzz`) for a minute, with a new seed every day.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
use crate::process::command;
use crate::progress::say;

/// Seconds for each target.
const SECONDS: &str = "60";

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    say!("seed {day}, {SECONDS} s each");
    let mut cargo = command("cargo", context.repo.root());
    cargo.args(["run", "--quiet", "--package", "emend-fuzz", "--", SECONDS, &day.to_string()]);
    let output =
        context.program("fuzz", &mut cargo, |line| line.contains(": ok, ") || line.contains(": FAILED at "))?;
    Ok(count(&output.text).of_program(output.success))
}

/// Counts targets by the lines that `emend-fuzz` prints.
fn count(text: &str) -> Counts {
    let n_with = |words: &str| text.lines().filter(|line| line.contains(words)).count();
    Counts { passed: n_with(": ok, "), failed: n_with(": FAILED at "), ..Counts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_counted_once() {
        let counts =
            count("v4a: ok, 9 inputs in 60 s\nlog: FAILED at input 3, kept in target/fuzz/log/1-3\nError: 1\n");
        assert_eq!(counts, Counts { passed: 1, failed: 1, skipped: 0 });
    }
}
