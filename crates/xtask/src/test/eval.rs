//! The task set `core` with recorded responses: the scores of the controls, and equal results natively and in Chromium.
//! And the scores of the controls on the sets of programs, which take long to build.

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
use crate::process::{command, stdout_of, which};
use crate::progress::say;
use crate::repo::Repo;
use crate::{build, eval};

/// Tasks of the set `rustlings`, which are skipped if the exercises cannot be fetched.
const N_RUSTLINGS: usize = 93;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let emend = build::command_line_of_tests(repo)?;
    eval::check_controls(repo, &emend)?;
    eval::check_refusal(repo, &emend)?;
    context.build_package()?;
    let n_runs = eval::in_chromium(repo, &emend)?;
    // The scores of the controls, the refusal, and each run in Chromium.
    Ok(Counts::passed(2 + n_runs))
}

/// Runs the controls on the sets `rustlings` and `history`. Each task is a check. A task is skipped if its exercise, its
/// commit or a package for its build is not on this machine and cannot be fetched.
pub(super) fn programs(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let exercises = match eval::rustlings(repo) {
        Ok(directory) => controls(repo, &format!("rustlings:{}", directory.display()))?,
        Err(error) => skipped(N_RUSTLINGS, &format!("the exercises of rustlings cannot be fetched: {error:#}")),
    };
    let fixes = match complete_clone(repo) {
        Ok(()) => controls(repo, eval::HISTORY)?,
        Err(reason) => skipped(n_fixes(repo)?, &reason),
    };
    // Each task has left a build of its crates, and only the results are needed.
    let _ = std::fs::remove_dir_all(eval::checks(repo));
    Ok(exercises + fixes)
}

fn controls(repo: &Repo, set: &str) -> Result<Counts> {
    let found = eval::run_controls(repo, set)?;
    let missing = found.unbuilt.len();
    let unbuilt = if missing == 0 {
        Counts::default()
    } else {
        skipped(missing, &format!("packages of {} are not on this machine", found.unbuilt.join(", ")))
    };
    Ok(Counts { passed: found.right.len(), failed: found.wrong.len(), ..unbuilt })
}

fn skipped(skipped: usize, reason: &str) -> Counts {
    say!("skipped: {skipped} tasks ({reason})");
    Counts { skipped, ..Counts::default() }
}

/// Returns the reason why the commits of the set `history` cannot be read.
fn complete_clone(repo: &Repo) -> Result<(), String> {
    if which("git").is_none() {
        return Err("there is no git".to_owned());
    }
    let mut git = command("git", repo.root());
    match stdout_of(git.args(["rev-parse", "--is-shallow-repository"])) {
        Ok(answer) if answer.trim() == "false" => Ok(()),
        Ok(_) => Err("the clone of this repository is not complete".to_owned()),
        Err(_) => Err("these files are not a clone".to_owned()),
    }
}

/// Returns the number of fixes in the set.
fn n_fixes(repo: &Repo) -> Result<usize> {
    let listed = std::fs::read_to_string(repo.path("crates/emend-eval/sets/history.toml"))?;
    Ok(listed.lines().filter(|line| *line == "[[fix]]").count())
}
