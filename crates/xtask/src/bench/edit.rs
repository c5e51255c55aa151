//! The patch engines, the diff and the line log, over 1k, 10k and 100k lines.
//!
//! `emend-bench` (`tests/bench`) times the engines in one process. The diff beside git is timed here, as two whole
//! processes.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::native::{in_turns, native_rows};
use super::row::Row;
use crate::process::{command, stdout_of};
use crate::repo::Repo;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let (program, mut rows) = native_rows(repo, &["edit"])?;
    let folder = repo.path("target/bench");
    std::fs::create_dir_all(&folder)?;
    let git = stdout_of(command("git", &folder).arg("--version"))?.trim().to_owned();
    for n_lines in SIZES {
        write_pair(&folder, n_lines)?;
        let mut ours = command(&program, &folder);
        ours.args(["diff", "old.txt", "new.txt"]);
        let mut peer = command("git", &folder);
        // git's default algorithm, without a pager and without user settings.
        peer.args(["--no-pager", "diff", "--no-index", "--no-ext-diff", "--no-color", "old.txt", "new.txt"])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let (found, expected) = (changed_lines(&mut ours)?, changed_lines(&mut peer)?);
        ensure!(found == expected, "we change {found:?} lines and git {expected:?}");
        let (ours, peer) = in_turns(&mut ours, &mut peer)?;
        let name = format!("diff as a process, {n_lines} lines, {} edits", n_lines / 100);
        rows.push(Row::beside(&name, ours, git.clone(), peer, "ms"));
    }
    Ok(rows)
}

/// Writes two files that differ in every hundredth line.
fn write_pair(folder: &Path, n_lines: usize) -> Result<()> {
    let (mut old, mut new) = (String::new(), String::new());
    for number in 0..n_lines {
        let line = match number % 10 {
            0 => format!("fn item_{number}() {{"),
            9 => "}".to_owned(),
            step => format!("    step({step});"),
        };
        writeln!(old, "{line}")?;
        if number % 100 == 55 {
            writeln!(new, "    changed({number});")?;
        } else {
            writeln!(new, "{line}")?;
        }
    }
    std::fs::write(folder.join("old.txt"), old)?;
    std::fs::write(folder.join("new.txt"), new)?;
    Ok(())
}

/// Returns the numbers of deleted and inserted lines of a diff.
fn changed_lines(diff: &mut Command) -> Result<(usize, usize)> {
    let output = diff.stdout(Stdio::piped()).output().context("cannot run the diff")?;
    let text = String::from_utf8(output.stdout)?;
    let count = |mark: char, header: &str| {
        text.lines().filter(|line| line.starts_with(mark) && !line.starts_with(header)).count()
    };
    Ok((count('-', "---"), count('+', "+++")))
}
