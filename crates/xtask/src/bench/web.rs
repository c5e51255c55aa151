//! The built page in Chromium: bytes, long tasks, keys, and the review of 10,000 changes. The package in Node: edits, the
//! start, and the decoder.
//!
//! `tests/e2e/bench.mjs` measures, and `gates.mjs` has the limits of its counts and ratios. The page must have been built. If the
//! peers of `bench wasm` are installed, the start and the decoder are measured beside them, too.

use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::row::Row;
use super::wasm;
use crate::process::command;
use crate::repo::Repo;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    if !repo.path("web/dist/index.html").is_file() {
        bail!("the page is not built; `cargo xtask build` builds it");
    }
    let mut node = command("node", &repo.path("tests/e2e"));
    let output = node.arg("bench.mjs").stderr(Stdio::inherit()).output().context("node")?;
    let text = String::from_utf8(output.stdout)?;
    let rows = text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned()));
    let rows = rows.collect::<Result<Vec<Row>>>()?;
    if !output.status.success() {
        for row in &rows {
            eprintln!("{}: {} {}", row.name, row.ours, row.unit);
        }
        bail!("the page exceeds a gate");
    }
    Ok(rows.into_iter().chain(wasm::beside_peers(repo, &["streaming", "starting"])?).collect())
}
