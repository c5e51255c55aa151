//! `cargo xtask smoke`: runs the client and a session against each real provider with a key in the environment.
//!
//! The steps are the example `smoke` of the test package, which keeps its dependencies out of this crate.

use anyhow::Result;

use crate::process::command;
use crate::repo::Repo;

/// Runs every step for the chosen providers, by default all; `Ok(false)` if a step failed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let mut cargo = command("cargo", repo.root());
    cargo.args(["run", "--quiet", "-p", "emend-tests", "--example", "smoke", "--"]).args(arguments);
    Ok(cargo.status()?.success())
}
