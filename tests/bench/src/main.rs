//! Benchmarks beside peers in one process. Prints one JSON object per line, like `cargo xtask bench --json`.
//!
//! `emend-bench edit` measures the patch engines and the line log, `env` files in memory, `index FOLDER FILES`
//! the index of a project of that size, `llm FOLDER` the model client, and
//! `agent FOLDER` the loop. The last two leave their input in FOLDER for peers that are not written in Rust.
//! `diff A B`, `grep PATTERN ROOT` and `glob GLOB ROOT` run one function each, as a process to compare with another
//! program; `tree ROOT FILES` creates the tree for the latter two. Results are compared for equality before timing.
#![expect(clippy::print_stdout, reason = "the rows on standard output are what the program is for")]

mod agent;
mod codex;
mod edit;
mod env;
mod heap;
#[cfg(unix)]
mod index;
mod llm;
mod measure;
mod search;

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use emend_edit::diff::{Names, unified};

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["edit"] => print(edit::rows()?),
        ["env"] => print(env::rows()?),
        #[cfg(unix)]
        ["index", folder, n_files] => print(index::rows(Path::new(folder), n_files.parse()?)?),
        ["llm", folder] => print(llm::rows(Path::new(folder))?),
        ["agent", folder] => print(agent::rows(Path::new(folder))?),
        ["diff", a, b] => diff(a, b),
        ["grep", pattern, root] => search::grep(pattern, false, Path::new(root)),
        ["grep", "-i", pattern, root] => search::grep(pattern, true, Path::new(root)),
        ["glob", glob, root] => search::glob(glob, Path::new(root), false),
        ["glob", "--times", glob, root] => search::glob(glob, Path::new(root), true),
        ["tree", root, n_files] => search::make_tree(Path::new(root), n_files.parse()?),
        _ => bail!(
            "say `agent FOLDER`, `edit`, `env`, `index FOLDER FILES`, `llm FOLDER`, `diff A B`, `grep [-i] PATTERN ROOT`, \
             `glob [--times] GLOB ROOT` or `tree ROOT FILES`"
        ),
    }
}

fn print(rows: Vec<measure::Row>) -> Result<()> {
    for row in rows {
        println!("{}", serde_json::to_string(&row)?);
    }
    Ok(())
}

fn diff(a: &str, b: &str) -> Result<()> {
    let old = std::fs::read_to_string(a).with_context(|| a.to_owned())?;
    let new = std::fs::read_to_string(b).with_context(|| b.to_owned())?;
    let patch = unified(&old, &new, 3, Names { old: a, new: b });
    ensure!(patch.is_empty() == (old == new), "the diff of different files is empty");
    print!("{patch}");
    Ok(())
}
