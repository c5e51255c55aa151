//! Edits through the whole agent: of large files by the built package in Node, and `emend run` beside `git apply`.

use anyhow::{Context as _, Result};

use super::row::Row;
use crate::build;
use crate::process::{command, run as run_program, stdout_of};
use crate::repo::Repo;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let scripts = repo.path("tests/bench/edits");
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-cli"]))?;
    let program = repo.path("target/release").join(format!("emend{}", std::env::consts::EXE_SUFFIX));
    let folder = repo.path("target/bench/edits");
    let beside_git = stdout_of(command("node", &scripts).arg("run.mjs").arg(program).arg(folder))?;
    build::modules(repo)?;
    build::package(repo)?;
    let in_node = stdout_of(command("node", &scripts).args(["--expose-gc", "agent.mjs"]))?;
    let rows = beside_git.lines().chain(in_node.lines()).map(serde_json::from_str);
    rows.collect::<Result<_, _>>().context("the printed rows")
}
