//! The size of the core beside other Rust libraries that ship as wasm.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::peers;
use super::row::Row;
use crate::build::{self, Inspection};
use crate::repo::Repo;

/// npm packages with one Rust core each.
const PEERS: [&str; 3] = ["@automerge/automerge", "loro-crdt", "@everruns/bashkit-wasm"];

const NAME: &str = "core wasm, brotli";
const UNIT: &str = "KiB";

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let ours = kibibytes(Inspection::of(repo, &build::core(repo)?.wasm)?.brotli);
    let mut rows = Vec::new();
    for peer in PEERS {
        let folder = peers::folder(repo).join("node_modules").join(peer);
        if let Some(wasm) = largest_module(&folder) {
            let size = kibibytes(Inspection::of(repo, &wasm)?.brotli);
            rows.push(Row::beside(NAME, ours, format!("{peer} {}", version(&folder)?), size, UNIT));
        }
    }
    if rows.is_empty() {
        rows.push(Row::alone(NAME, ours, UNIT));
    }
    Ok(rows)
}

fn kibibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// Returns the largest module: a package may hold the same module once for each way to load it.
fn largest_module(folder: &Path) -> Option<PathBuf> {
    let mut open = vec![folder.to_path_buf()];
    let mut largest = None;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "wasm") {
                largest = largest.max(Some((entry.metadata().map_or(0, |data| data.len()), path)));
            }
        }
    }
    largest.map(|(_, path)| path)
}

fn version(folder: &Path) -> Result<String> {
    let text = std::fs::read_to_string(folder.join("package.json")).context("package.json")?;
    let json: serde_json::Value = serde_json::from_str(&text).context("package.json")?;
    Ok(json["version"].as_str().unwrap_or("?").to_owned())
}
