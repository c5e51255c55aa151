//! The index of a project: the time to build and update it, its memory and size, and searches with it and without it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emend_agent::environment::{ExecutionEnvironment as _, FileMatches};
use emend_host::{IndexFigures, LocalEnvironment, StateDir};
use futures::executor::block_on;

use crate::measure::{Row, millis};
use crate::search::{make_tree, query};

/// Name, pattern, whether case counts.
const QUERIES: [(&str, &str, bool); 6] = [
    ("a rare literal", "needle in the haystack", true),
    ("no match", "a text that occurs nowhere", true),
    ("a name in a few files", "// file 77[0-9]$", true),
    ("alternatives", "(?:needle|thread) in the", true),
    ("any case", "NEEDLE IN", false),
    ("a word of every file", "parse_line_1[0-9] = Session", true),
];

/// Searches of each query on each side.
const ROUNDS: usize = 21;

/// Files that an update reads again.
const EDITED: usize = 10;

/// Time after which the stamp of a written file is trusted.
const SETTLED: Duration = Duration::from_millis(2_500);

/// Measures a tree of `n_files` files in `folder`.
pub(crate) fn rows(folder: &Path, n_files: usize) -> Result<Vec<Row>> {
    let tree = folder.join(format!("index-tree-{n_files}"));
    make_tree(&tree, n_files)?;
    let home = folder.join("index-state");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    std::thread::sleep(SETTLED);
    let state = StateDir::open_in(&home, &tree)?;
    let with = LocalEnvironment::new(&tree)?.with_index(&state, 1);
    let without = LocalEnvironment::new(&tree)?;
    let mut rows = upkeep(&with, &tree, n_files)?;
    let rg = version_of_rg();
    let (mut all_with, mut all_without, mut all_rg) = (Vec::new(), Vec::new(), Vec::new());
    for (name, pattern, case_counts) in QUERIES {
        let query = query(pattern, !case_counts)?;
        let found = block_on(with.grep(&query))?;
        ensure!(found == block_on(without.grep(&query))?, "{name}: the index changes the result");
        let (mut ours, mut plain, mut peer) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(time(|| block_on(with.grep(&query)))?);
            plain.push(time(|| block_on(without.grep(&query)))?);
            if rg.is_some() {
                peer.push(time(|| run_rg(&tree, pattern, !case_counts))?);
            }
        }
        let n_lines: usize = found.iter().map(FileMatches::match_count).sum();
        let name = format!("{n_files} files, {name} ({n_lines} lines)");
        rows.extend(beside(&name, &mut ours, &mut plain, "without the index"));
        if let Some(version) = &rg {
            rows.extend(beside(&name, &mut ours, &mut peer, version));
        }
        all_with.append(&mut ours);
        all_without.append(&mut plain);
        all_rg.append(&mut peer);
    }
    let name = format!("{n_files} files, all searches");
    rows.extend(beside(&name, &mut all_with, &mut all_without, "without the index"));
    if let Some(version) = &rg {
        rows.extend(beside(&name, &mut all_with, &mut all_rg, version));
    }
    Ok(rows)
}

/// Builds the index, and updates it after no change and after a few.
fn upkeep(with: &LocalEnvironment, tree: &Path, n_files: usize) -> Result<Vec<Row>> {
    let update = || -> Result<(Duration, IndexFigures)> {
        let begun = Instant::now();
        let done = with.update_index()?;
        Ok((begun.elapsed(), done))
    };
    let before = peak_bytes();
    let (build, built) = update()?;
    let memory = peak_bytes().saturating_sub(before);
    ensure!(built.n_racy == 0 && built.n_files > 0, "the index is incomplete: {built:?}");
    let (idle, unchanged) = update()?;
    ensure!(unchanged.n_read == 0, "an update read {} unchanged files", unchanged.n_read);
    let mut n_edited = 0;
    for number in (0..n_files).step_by(n_files / EDITED) {
        let directory = number / 50;
        let path = tree.join(format!("part_{}/module_{directory}/file_{number}.rs", directory % 20));
        if let Ok(text) = fs::read_to_string(&path) {
            // The same text with another comment at its end, so that the next run finds the same tree.
            let text = text.strip_suffix("// edited\n").map_or_else(|| format!("{text}// edited\n"), str::to_owned);
            fs::write(&path, text)?;
            n_edited += 1;
        }
    }
    std::thread::sleep(SETTLED);
    let (some, changed) = update()?;
    ensure!(changed.n_read == n_edited, "an update read {} of {n_edited} files", changed.n_read);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let alone = |what: &str, value, unit| Row::alone(format!("{n_files} files, {what}"), value, unit);
    Ok(vec![
        alone("build", millis(build), "ms"),
        alone("update without changes", millis(idle), "ms"),
        alone(&format!("update after {n_edited} edits"), millis(some), "ms"),
        alone("memory while building, with the mapped index", mib(memory), "MiB"),
        alone("index on disk", mib(changed.n_bytes), "MiB"),
    ])
}

fn time<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<Duration>
where
    anyhow::Error: From<E>,
{
    let begun = Instant::now();
    let done = run()?;
    let taken = begun.elapsed();
    drop(done);
    Ok(taken)
}

/// Returns the rows of the median and of the 95th percentile.
fn beside(name: &str, ours: &mut [Duration], peer: &mut [Duration], peer_name: &str) -> [Row; 2] {
    let mut at = |per_cent: usize| {
        let pick = |times: &mut [Duration]| {
            times.sort_unstable();
            times.get(times.len() * per_cent / 100).copied().unwrap_or_default()
        };
        (pick(ours), pick(peer))
    };
    let (median, late) = (at(50), at(95));
    [Row::beside(format!("{name}, p50"), median, peer_name), Row::beside(format!("{name}, p95"), late, peer_name)]
}

fn version_of_rg() -> Option<String> {
    let output = Command::new("rg").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}

/// Runs `rg` as `cargo xtask bench env` does, including the start of the process.
fn run_rg(tree: &Path, pattern: &str, case_insensitive: bool) -> Result<()> {
    let mut rg = Command::new("rg");
    rg.args([
        "--no-config",
        "--no-ignore-global",
        "--no-ignore-parent",
        "--color=never",
        "--no-heading",
        "--line-number",
    ]);
    rg.args(case_insensitive.then_some("-i")).args(["-e", pattern, "."]).current_dir(tree);
    // Its status is 1 if nothing matches.
    rg.stdout(Stdio::null()).status().context("rg")?;
    Ok(())
}

/// Returns the largest resident memory of this process so far; 0 where the system does not tell.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
