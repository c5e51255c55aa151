//! The model client: beside Rust libraries, measured by `emend-bench` (`tests/bench`), and beside libraries for Node that
//! read the same transcripts.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::native::native_rows;
use super::peers;
use super::row::Row;
use crate::process::{command, stdout_of};
use crate::repo::Repo;

/// The times that the script in Node measured for a transcript.
#[derive(Deserialize)]
struct Taken {
    transcript: String,
    peer_name: Option<String>,
    peer: Option<f64>,
    /// Time of `emend/llm`.
    ours: Option<f64>,
}

/// Transcripts of the script in Node, each with the start of the row of `emend-bench` that it belongs to.
const ARGUMENTS: [(&str, &str); 2] = [("arguments-50", "50 KB of arguments"), ("arguments-100", "100 KB of arguments")];

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let folder = repo.path("target/bench/llm");
    let (_, mut rows) = native_rows(repo, &["llm", &folder.to_string_lossy()])?;
    let peers = peers::llm_folder(repo);
    if !peers.join("node_modules").is_dir() {
        return Ok(rows);
    }
    // The script imports the peers by name, which works only beside their node_modules.
    std::fs::copy(repo.path("crates/xtask/js/llm_peers.mjs"), peers.join("llm_peers.mjs")).context("llm_peers.mjs")?;
    let mut node = command("node", &peers);
    node.arg("llm_peers.mjs").arg(&folder);
    // `emend/llm`, if `cargo xtask build` has built it; otherwise only its peers are timed.
    let module = repo.path("pkg/dist/llm.js");
    if module.is_file() {
        node.arg(module);
    }
    let printed = stdout_of(&mut node)?;
    let taken: Vec<Taken> = printed.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("Node")?;
    for (transcript, begins) in ARGUMENTS {
        let found = taken.iter().find(|taken| taken.transcript == transcript);
        let row = rows.iter_mut().find(|row| row.name.starts_with(begins));
        if let (Some(row), Some(Taken { peer: Some(peer), peer_name: Some(name), .. })) = (row, found) {
            *row = Row::beside(&row.name, row.ours, name.clone(), *peer, "ms");
        }
    }
    let in_node = |taken: &&Taken| taken.transcript == "transcript";
    let ours = taken.iter().filter(in_node).find_map(|taken| taken.ours);
    let peer = taken.iter().filter(in_node).find_map(|taken| Some((taken.peer?, taken.peer_name.clone()?)));
    if let (Some(ours), Some((peer, name))) = (ours, peer) {
        rows.push(Row::beside("10 MB of events, wasm in Node", ours, name, peer, "ms"));
    }
    Ok(rows)
}
