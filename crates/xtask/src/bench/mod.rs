//! `cargo xtask bench`: measures Emend beside its peers in the same run.
//!
//! A row holds a name, our figure, the peer's, and their ratio. A peer that is not installed is left out.

mod agent;
mod cli;
mod edit;
mod edits;
mod env;
mod index;
mod keep;
mod llm;
mod native;
mod peers;
mod row;
mod search;
mod serve;
mod size;
mod wasm;
mod web;

use anyhow::{Context as _, Result, bail};

use self::row::Row;
use crate::repo::Repo;

struct Bench {
    name: &'static str,
    run: fn(&Repo) -> Result<Vec<Row>>,
}

const BENCHES: [Bench; 12] = [
    Bench { name: "agent", run: agent::run },
    Bench { name: "cli", run: cli::run },
    Bench { name: "edit", run: edit::run },
    Bench { name: "edits", run: edits::run },
    Bench { name: "env", run: env::run },
    Bench { name: "index", run: index::run },
    Bench { name: "keep", run: keep::run },
    Bench { name: "llm", run: llm::run },
    Bench { name: "serve", run: serve::run },
    Bench { name: "size", run: size::run },
    Bench { name: "wasm", run: wasm::run },
    Bench { name: "web", run: web::run },
];

/// Runs one bench, or all of them, and prints their rows.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<()> {
    let mut chosen = None;
    let (mut json, mut peers) = (false, false);
    for word in arguments {
        match word.as_str() {
            "--json" => json = true,
            "--peers" => peers = true,
            name if BENCHES.iter().any(|bench| bench.name == name) => chosen = Some(name),
            unknown => {
                let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                bail!("no bench `{unknown}`; there are: {}", names.join(", "));
            }
        }
    }
    if peers {
        peers::install(repo)?;
        wasm::install_peers(repo)?;
        // 550 MB, for this bench alone.
        if chosen.is_none_or(|name| name == "serve") {
            serve::install_peer(repo);
        }
    }
    let mut rows = Vec::new();
    for bench in BENCHES.iter().filter(|bench| chosen.is_none_or(|name| name == bench.name)) {
        rows.extend((bench.run)(repo).with_context(|| format!("bench {}", bench.name))?);
    }
    if json {
        for row in &rows {
            println!("{}", serde_json::to_string(row)?);
        }
    } else {
        print_table(&rows);
    }
    Ok(())
}

fn print_table(rows: &[Row]) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
    println!("{:<width$}{:>12}{:>12}{:>9}  {:<8}peer", "name", "ours", "peer", "ratio", "unit");
    for row in rows {
        let peer = row.peer.map_or_else(|| "-".to_owned(), figure);
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), figure);
        let name = row.peer_name.as_deref().unwrap_or("-");
        println!("{:<width$}{:>12}{peer:>12}{ratio:>9}  {:<8}{name}", row.name, figure(row.ours), row.unit);
    }
}

/// Formats a figure with three to five significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.01.. => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}
