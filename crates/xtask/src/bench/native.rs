//! Runs `emend-bench` (`tests/bench`), which measures natively, and other native programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::row::Row;
use crate::process::{command, run, stdout_of};
use crate::repo::Repo;

/// Bytes of freed memory that the allocator keeps for later allocations.
const KEPT_BYTES: &str = "1000000000";

/// Builds `emend-bench` with all optimisations.
pub(super) fn native_program(repo: &Repo) -> Result<PathBuf> {
    run(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-bench"]))?;
    Ok(repo.path("target/release").join(format!("emend-bench{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs `emend-bench` with these arguments; returns its path and the rows that it printed.
pub(super) fn native_rows(repo: &Repo, arguments: &[&str]) -> Result<(PathBuf, Vec<Row>)> {
    let program = native_program(repo)?;
    let mut bench = command(&program, repo.root());
    // glibc returns freed memory to the system and then faults it in again page by page, which costs more than a small
    // patch; chance decides which of two alternating programs pays. Kept memory makes both equal. Other allocators
    // ignore these variables.
    bench.args(arguments).env("MALLOC_TRIM_THRESHOLD_", KEPT_BYTES).env("MALLOC_MMAP_THRESHOLD_", KEPT_BYTES);
    let lines = stdout_of(&mut bench)?;
    let rows = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("output of emend-bench")?;
    Ok((program, rows))
}

/// Runs both programs several times in turns, and returns the shortest time of each in milliseconds.
pub(super) fn in_turns(ours: &mut Command, peer: &mut Command) -> Result<(f64, f64)> {
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
