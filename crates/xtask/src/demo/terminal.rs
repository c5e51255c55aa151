//! The command line renames a type throughout a copy of this checkout, which must still compile.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::build;
use crate::process::{command, run, stdout_of};
use crate::repo::Repo;

/// A type of this crate. Longer words begin with it and must not change.
const OLD_NAME: &str = "Repo";

/// A name that occurs nowhere in the checkout, so that renaming back restores the old bytes. Split for that reason.
const NEW_NAME: &str = concat!("Project", "Checkout");

/// Runs the command on the copy, prints its changes, and checks that nothing else changed.
pub(super) fn show(repo: &Repo) -> Result<()> {
    let program = build::command_line(repo)?;
    let copy = repo.path("target/demo/checkout");
    repo.copy_to(&copy)?;
    let task = format!("rename {OLD_NAME} to {NEW_NAME}");
    println!("$ emend run --model offline \"{task}\" --root {}", copy.display());
    let mut emend = command(program, repo.root());
    // The undo state of a demonstration does not belong in the user's state directory.
    emend.env("XDG_STATE_HOME", repo.path("target/demo/state"));
    emend.args(["run", "--model", "offline", &task, "--root"]);
    run(emend.arg(&copy))?;

    let changed = compare(repo, &copy)?;
    println!("{changed} files changed, and nothing in them but that name; compiling the copy");
    // Tests instead of the program: their name has a hash, so the copy does not replace this program.
    let mut build = command("cargo", &copy);
    run(build.args(["test", "--quiet", "--no-run", "--package", "xtask", "--target-dir"]).arg(repo.path("target")))
        .context("the copy no longer compiles")
}

/// Counts the changed files. With the name changed back, each must equal the original.
fn compare(repo: &Repo, copy: &Path) -> Result<usize> {
    let mut changed = 0;
    let listed = stdout_of(command("git", repo.root()).args(["grep", "-lwF", "--untracked", OLD_NAME]))?;
    for file in repo.files()? {
        let (before, after) = (std::fs::read(repo.root().join(&file))?, std::fs::read(copy.join(&file))?);
        if before == after {
            continue;
        }
        changed += 1;
        let after = String::from_utf8(after).with_context(|| file.display().to_string())?;
        ensure!(
            after.replace(NEW_NAME, OLD_NAME).as_bytes() == before,
            "{}: more than the name changed",
            file.display()
        );
        println!("  {}: {} places", file.display(), after.matches(NEW_NAME).count());
    }
    let expected = listed.lines().count();
    ensure!(changed == expected, "{changed} files changed, but {expected} have the name");
    Ok(changed)
}
