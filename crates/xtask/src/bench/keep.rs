//! The time that a command of the agent costs in a tree of 100,000 files, beside git: before each command all files are
//! kept, and after it the changes are recorded. A run without a command shows what the rest costs there, such as the state of
//! the repository for the prompt.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::cli::{median_ms, until_ended};
use super::row::Row;
use crate::process::{command, run as run_program};
use crate::repo::Repo;

const N_FILES: usize = 100_000;
/// Files in each directory.
const N_BESIDE: usize = 100;
/// Number of measured commands. Those of both programs alternate, so that other load affects both alike.
const N_ROUNDS: usize = 9;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-cli"]))?;
    let folder = repo.path("target/bench/keep");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let bench = Bench {
        program: repo.path("target/release").join(format!("emend{}", std::env::consts::EXE_SUFFIX)),
        folder: folder.clone(),
    };
    let (small, large) = (bench.project("small", 1)?, bench.project("large", N_FILES)?);
    bench.command(&small)?;
    let first = bench.command(&large)?;
    let first_by_git = until_ended(command("git", &large).args(["add", "--all"]))?;
    let (mut in_small, mut in_large, mut changing, mut by_git) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut idle_in_small, mut idle_in_large) = (Vec::new(), Vec::new());
    for round in 0..N_ROUNDS {
        in_small.push(bench.command(&small)?);
        in_large.push(bench.command(&large)?);
        idle_in_small.push(bench.task(&small, "hello")?);
        idle_in_large.push(bench.task(&large, "hello")?);
        changing.push(bench.change(&large, round)?);
        by_git.push(until_ended(command("git", &large).args(["status", "--porcelain"]))?);
    }
    let [in_small, in_large, changing, by_git] = [in_small, in_large, changing, by_git].map(median_ms);
    let [idle_in_small, idle_in_large] = [idle_in_small, idle_in_large].map(median_ms);
    let without_command = idle_in_large - idle_in_small;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    std::fs::remove_dir_all(&folder)?;
    Ok(vec![
        Row::beside(
            "first command in 100,000 files, which keeps them",
            ms(first) - in_small,
            "git add --all".to_owned(),
            ms(first_by_git),
            "ms",
        ),
        Row::beside(
            "cost of a later command there",
            in_large - in_small - without_command,
            "git status".to_owned(),
            by_git,
            "ms",
        ),
        Row::beside(
            "of one that changes a file",
            changing - in_small - without_command,
            "git status".to_owned(),
            by_git,
            "ms",
        ),
        Row::beside("of a run without a command", without_command, "git status".to_owned(), by_git, "ms"),
    ])
}

struct Bench {
    program: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Creates a project with so many files in its own repository.
    fn project(&self, name: &str, n_files: usize) -> Result<PathBuf> {
        let project = self.folder.join(name);
        for number in 0..n_files {
            let directory = project.join(format!("d{}", number / N_BESIDE));
            if number % N_BESIDE == 0 {
                std::fs::create_dir_all(&directory)?;
            }
            std::fs::write(directory.join(format!("f{number}.txt")), format!("text of file {number}\n"))?;
        }
        run_program(command("git", &project).args(["init", "--quiet"]))?;
        Ok(project)
    }

    /// Runs the agent with one command that changes nothing.
    fn command(&self, project: &Path) -> Result<Duration> {
        self.task(project, "run true")
    }

    /// Runs the agent with one command that changes a file.
    fn change(&self, project: &Path, round: usize) -> Result<Duration> {
        self.task(project, &format!("run echo {round} >> d0/f0.txt"))
    }

    fn task(&self, project: &Path, task: &str) -> Result<Duration> {
        let mut emend = command(&self.program, project);
        emend.args(["run", task, "--allow", "shell", "--model", "offline"]);
        emend.env("XDG_STATE_HOME", self.folder.join("state")).env("XDG_CONFIG_HOME", self.folder.join("config"));
        until_ended(&mut emend)
    }
}
