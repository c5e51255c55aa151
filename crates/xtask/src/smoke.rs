//! `cargo xtask smoke`: the client and a session against real providers, for each that the environment has a key for.
//!
//! The steps are the example `smoke` of the test package, so that this tool need not be built with what they use.

use anyhow::Result;

use crate::process::command;
use crate::repo::Repo;

/// Runs every step of every provider, or of those that the arguments choose; `Ok(false)` when one failed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let mut cargo = command("cargo", repo.root());
    cargo.args(["run", "--quiet", "-p", "emend-tests", "--example", "smoke", "--"]).args(arguments);
    Ok(cargo.status()?.success())
}
