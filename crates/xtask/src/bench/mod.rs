//! `cargo xtask bench`: measures Emend beside its peers, in one run on one machine.
//!
//! A bench prints rows of name, our figure, the peer's and their ratio; a peer that is not installed is left out.

mod agent;
mod cli;
mod edit;
mod env;
mod llm;
mod search;
mod size;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::process::{command, run as run_program, stdout_of};
use crate::repo::Repo;

/// One figure of ours, beside a peer's.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    pub(crate) ours: f64,
    /// Which peer, with its version.
    pub(crate) peer_name: Option<String>,
    pub(crate) peer: Option<f64>,
    /// Ours divided by the peer's.
    pub(crate) ratio: Option<f64>,
    pub(crate) unit: String,
}

impl Row {
    /// A row beside a peer's figure.
    pub(crate) fn beside(name: &str, ours: f64, peer_name: String, peer: f64, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            ours,
            peer_name: Some(peer_name),
            peer: Some(peer),
            ratio: Some(ours / peer),
            unit: unit.to_owned(),
        }
    }

    /// A row with nothing to compare with.
    pub(crate) fn alone(name: &str, ours: f64, unit: &str) -> Self {
        Self { name: name.to_owned(), ours, peer_name: None, peer: None, ratio: None, unit: unit.to_owned() }
    }
}

struct Bench {
    name: &'static str,
    run: fn(&Repo) -> Result<Vec<Row>>,
}

const BENCHES: [Bench; 7] = [
    Bench { name: "agent", run: agent::run },
    Bench { name: "cli", run: cli::run },
    Bench { name: "edit", run: edit::run },
    Bench { name: "env", run: env::run },
    Bench { name: "llm", run: llm::run },
    Bench { name: "size", run: size::run },
    Bench { name: "wasm", run: wasm::run },
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
        install_peers(repo)?;
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

/// Where the peers from npm are installed.
pub(crate) fn peers_folder(repo: &Repo) -> PathBuf {
    repo.path("target/peers")
}

/// Installs the peers of all benches. Those of the client are many and stand apart.
fn install_peers(repo: &Repo) -> Result<()> {
    install(repo, "peers", &peers_folder(repo))?;
    install(repo, "peers-llm", &llm::peers_folder(repo))?;
    wasm::install_peers(repo)
}

fn install(repo: &Repo, name: &str, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(repo.path("crates/xtask").join(name).join(file), folder.join(file)).context(file)?;
    }
    run_program(command("npm", folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))
}

/// How much memory the allocator keeps for what comes.
const KEPT_BYTES: &str = "1000000000";

/// Builds `emend-bench` with all optimisations.
fn native_program(repo: &Repo) -> Result<PathBuf> {
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-bench"]))?;
    Ok(repo.path("target/release").join(format!("emend-bench{}", std::env::consts::EXE_SUFFIX)))
}

/// Lets `emend-bench` measure, and returns it with its rows.
fn native_rows(repo: &Repo, what: &[&str]) -> Result<(PathBuf, Vec<Row>)> {
    let program = native_program(repo)?;
    let mut bench = command(&program, repo.root());
    // What glibc gives back to the system it gets again page by page, at more than a small patch takes, and which of two
    // programs that take turns has to pay for that is chance. Kept, it is the same for both. Others ignore these.
    bench.args(what).env("MALLOC_TRIM_THRESHOLD_", KEPT_BYTES).env("MALLOC_MMAP_THRESHOLD_", KEPT_BYTES);
    let lines = stdout_of(&mut bench)?;
    let rows = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("what emend-bench printed")?;
    Ok((program, rows))
}

/// Runs both programs several times in turns, and returns the shortest time of each in milliseconds.
fn in_turns(ours: &mut Command, peer: &mut Command) -> Result<(f64, f64)> {
    let mut best = [Duration::MAX; 2];
    for _ in 0..15 {
        for (best, program) in best.iter_mut().zip([&mut *ours, &mut *peer]) {
            let begun = Instant::now();
            program.stdout(Stdio::null()).status()?;
            *best = (*best).min(begun.elapsed());
        }
    }
    Ok((best[0].as_secs_f64() * 1000.0, best[1].as_secs_f64() * 1000.0))
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

/// A figure with as many digits as tell something.
fn figure(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.01.. => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}
