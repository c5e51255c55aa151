//! The cost of a run of the loop: natively by `emend-bench` (`tests/bench`), beside a loop for Node over the same
//! conversations.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::native::native_rows;
use super::peers;
use super::row::Row;
use crate::process::{command, stdout_of};
use crate::repo::Repo;

/// The time of a run in Node.
#[derive(Deserialize)]
struct Taken {
    n_turns: usize,
    peer_name: String,
    peer: f64,
}

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let folder = repo.path("target/bench/agent");
    let (_, mut rows) = native_rows(repo, &["agent", &folder.to_string_lossy()])?;
    let peers = peers::llm_folder(repo);
    if !peers.join("node_modules/@mariozechner/pi-agent-core").is_dir() {
        return Ok(rows);
    }
    // The script imports the peers by name, which works only beside their node_modules.
    std::fs::copy(repo.path("crates/xtask/js/agent_peers.mjs"), peers.join("agent_peers.mjs"))
        .context("agent_peers.mjs")?;
    let printed = stdout_of(command("node", &peers).arg("agent_peers.mjs").arg(&folder))?;
    for line in printed.lines() {
        let taken: Taken = serde_json::from_str(line).context("Node")?;
        let name = format!("a turn of two calls, history {}", taken.n_turns);
        if let Some(row) = rows.iter_mut().find(|row| row.name == name) {
            *row = Row::beside(&row.name, row.ours, taken.peer_name, taken.peer, "ms");
        }
    }
    Ok(rows)
}
