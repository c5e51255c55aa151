//! The HTTP API of `emend serve` against its own OpenAPI document, with schemathesis from PyPI.

use std::time::Duration;

use anyhow::Result;

use super::context::{Context, Depth};
use super::counts::Counts;
use super::native::worth_showing;
use crate::build;
use crate::process::{command, succeeds};
use crate::progress::say;

/// Numbers of generated requests in the checks that every change has to pass: for each operation, and chains of them.
const FEW: [(&str, &str); 2] = [("EMEND_CONTRACT_EXAMPLES", "4"), ("EMEND_CONTRACT_LINKED_EXAMPLES", "40")];

/// Runs `tests/http-contract/contract.py` over a scratch project.
pub(super) fn check(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let python = repo.path("target/py/bin/python");
    let mut imports = command(&python, repo.root());
    if !succeeds(imports.args(["-c", "import schemathesis"]), Duration::from_secs(30)) {
        say!("skipped: schemathesis is not in target/py; `cargo xtask setup` installs it");
        return Ok(Counts { skipped: 1, ..Counts::default() });
    }
    let program = build::command_line_of_tests(repo)?;
    let mut contract = command(&python, repo.root());
    contract.arg("tests/http-contract/contract.py").arg(program);
    if context.depth == Depth::Usual {
        contract.envs(FEW);
    }
    let output = context.program("http-contract", &mut contract, worth_showing)?;
    Ok(counts(&output.text).of_program(output.success))
}

/// Reads the last line, `N passed, N failed`.
fn counts(text: &str) -> Counts {
    let last = text.lines().rev().find(|line| line.contains(" passed, ")).unwrap_or_default();
    let number = |word: &str| {
        let part = last.split(", ").find_map(|part| part.trim().strip_suffix(word));
        part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    Counts { passed: number("passed"), failed: number("failed"), skipped: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        assert_eq!(counts("x\n48 passed, 2 failed\n"), Counts { passed: 48, failed: 2, skipped: 0 });
        assert_eq!(counts("Traceback"), Counts::default());
    }
}
