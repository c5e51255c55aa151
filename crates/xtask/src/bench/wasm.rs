//! The built package in Node beside packages from npm: diffs, patches, a stream of events, searches, and the time to start.
//!
//! `tests/bench/wasm/bench.mjs` measures; it compares the outputs before it times them.

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

/// Installs the peers.
pub(super) fn install_peers(repo: &Repo) -> Result<()> {
    // `npm install`, not `ci`: a peer has one package per platform, registries may mirror only some of them, and `ci`
    // refuses a lock file that lacks the others.
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
    beside_peers(repo, &[])
}

/// Measures the built package in the named sections of the script, or in all of them; nothing if the peers are not installed.
pub(super) fn beside_peers(repo: &Repo, sections: &[&str]) -> Result<Vec<Row>> {
    if !folder(repo).join("node_modules").is_dir() {
        return Ok(Vec::new());
    }
    // The script reports its progress on standard error; all of it takes one to two minutes.
    let mut node = command("node", &folder(repo));
    let printed = stdout_of(node.arg("bench.mjs").args(sections).stderr(Stdio::inherit()))?;
    printed.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("what bench.mjs printed")
}
