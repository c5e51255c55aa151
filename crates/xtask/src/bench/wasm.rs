//! The built package in Node beside packages from npm: diffs, patches, a stream of events, searches, and the time to start.
//!
//! The measuring is done by `tests/bench/wasm/bench.mjs`, which compares outputs before it times anything.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use super::row::Row;
use crate::build;
use crate::process::{command, run as run_program, stdout_of};
use crate::repo::Repo;

fn folder(repo: &Repo) -> PathBuf {
    repo.path("tests/bench/wasm")
}

/// Installs the packages to compare with.
pub(super) fn install_peers(repo: &Repo) -> Result<()> {
    // Not `ci`: one peer has a package for each platform, and registries that mirror only some of them leave the lock
    // file without the others, which `ci` refuses.
    let mut npm = command("npm", &folder(repo));
    run_program(npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))
}

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    if !folder(repo).join("node_modules").is_dir() {
        eprintln!("  wasm: skipped, there is nothing to compare with; add --peers");
        return Ok(Vec::new());
    }
    build::modules(repo)?;
    build::package(repo)?;
    // It says on stderr what is measured, which takes a minute or two.
    let printed = stdout_of(command("node", &folder(repo)).arg("bench.mjs").stderr(Stdio::inherit()))?;
    printed.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("what bench.mjs printed")
}
