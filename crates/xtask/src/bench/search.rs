//! Searches of a tree of 50,000 files on disk beside `rg` and `fd`, process against process.
//!
//! All use every core, obey `.gitignore`, and skip hidden and binary files. A missing peer is reported and left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::native::{in_turns, native_program};
use super::row::Row;
use crate::process::{command, run as run_program, stdout_of, which};
use crate::repo::Repo;

const N_FILES: usize = 50_000;

/// Name, arguments for `emend`, arguments for `rg`.
const GREPS: [(&str, &[&str], &[&str]); 5] = [
    ("a rare literal", &["needle in the haystack"], &["needle in the haystack"]),
    ("a literal in every other file", &["let handle_77 "], &["let handle_77 "]),
    ("a prefixed pattern", &[r"let offset_1\d = Ü\w+"], &[r"let offset_1\d = Ü\w+"]),
    ("alternatives", &[r"(?:needle|index_3[0-3]) in"], &[r"(?:needle|index_3[0-3]) in"]),
    ("any case", &["-i", "HAYSTACK|ÜBER_99"], &["-i", "HAYSTACK|ÜBER_99"]),
];

/// Name, arguments for `emend`, arguments for `fd`. A search for files changed since 1970 makes `fd` read times too.
const GLOBS: [(&str, &[&str], &[&str]); 4] = [
    ("files by ending", &["**/*.rs"], &["--glob", "*.rs"]),
    ("few files by name", &["**/file_*991.ts"], &["--glob", "file_*991.ts"]),
    ("all files", &["**"], &["."]),
    ("all files with their times", &["--times", "**"], &["--changed-after=1970-01-02", "."]),
];

pub(super) fn rows(repo: &Repo) -> Result<Vec<Row>> {
    let program = native_program(repo)?;
    let tree = repo.path("target/bench/search-tree");
    run_program(command(&program, repo.root()).arg("tree").arg(&tree).arg(N_FILES.to_string()))?;
    let mut rows = Vec::new();
    if let Some((rg, version)) = peer(&tree, &["rg"])? {
        for (name, words, rg_words) in GREPS {
            let mut ours = command(&program, &tree);
            ours.arg("grep").args(words).arg(".");
            let mut theirs = command(&rg, &tree);
            // Without user settings, and without sorting, which would restrict it to one core.
            theirs.args(["--no-config", "--no-ignore-global", "--no-ignore-parent", "--color=never", "--no-heading"]);
            theirs.args(["--line-number", "--no-messages"]).args(rg_words);
            rows.push(beside(&format!("grep, {name}"), &mut ours, &mut theirs, &version)?);
        }
    }
    // Debian's name for it, because another program has the name `fd`.
    if let Some((fd, version)) = peer(&tree, &["fd", "fdfind"])? {
        for (name, words, fd_words) in GLOBS {
            let mut ours = command(&program, &tree);
            ours.arg("glob").args(words).arg(".");
            let mut theirs = command(&fd, &tree);
            theirs.args(["--type=f", "--color=never", "--no-global-ignore-file"]).args(fd_words);
            rows.push(beside(&format!("glob, {name}"), &mut ours, &mut theirs, &version)?);
        }
    }
    Ok(rows)
}

/// Finds a peer by one of its names; returns its path and version.
fn peer(folder: &Path, names: &[&str]) -> Result<Option<(PathBuf, String)>> {
    let Some(program) = names.iter().find_map(|name| which(name)) else {
        println!("{} is not installed and left out", names[0]);
        return Ok(None);
    };
    let version = stdout_of(command(&program, folder).arg("--version"))?;
    Ok(Some((program, version.lines().next().unwrap_or_default().to_owned())))
}

/// Times both after checking that they print the same lines.
fn beside(name: &str, ours: &mut Command, peer: &mut Command, version: &str) -> Result<Row> {
    let (found, expected) = (lines(ours)?, lines(peer)?);
    ensure!(!found.is_empty(), "{name}: nothing was found");
    let differing: Vec<&String> = found.symmetric_difference(&expected).take(3).collect();
    ensure!(differing.is_empty(), "{name}: only one of both has {differing:?}");
    let name = format!("{name}, {} lines of {N_FILES} files", found.len());
    let (ours, peer) = in_turns(ours, peer)?;
    Ok(Row::beside(&name, ours, version.to_owned(), peer, "ms"))
}

fn lines(search: &mut Command) -> Result<BTreeSet<String>> {
    Ok(stdout_of(search)?.lines().map(|line| line.trim_start_matches("./").to_owned()).collect())
}
