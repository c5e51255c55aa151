//! Planted faults: each patch in `tests/mutants` must be noticed by the test that it names.
//!
//! A line `Killed-by: PACKAGE TEST` of the patch names the test, or a part of its name. The test runs in a copy of the
//! checkout: first without the fault, when it must pass, then with it, when it must fail.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::checklist::Covered;
use super::context::{Context, LIMIT};
use super::counts::Counts;
use crate::process::{Limits, command, logged, run, stdout_of};
use crate::progress::say;
use crate::repo::Repo;

/// One planted fault.
struct Mutant {
    name: String,
    patch: PathBuf,
    package: String,
    test: String,
    /// The checklist item that the fault violates.
    unticks: Option<String>,
}

pub(super) fn run_all(context: &Context<'_>) -> Result<Counts> {
    let mutants = read_all(&context.repo.path("tests/mutants"))?;
    ensure!(!mutants.is_empty(), "tests/mutants has no patches");
    let tree = context.repo.path("target/mutants/tree");
    context.repo.copy_to(&tree)?;
    let mut counts = Counts::default();
    for mutant in &mutants {
        match plant(context, mutant, &tree) {
            Ok(()) => {
                say!("{}: noticed by {} {}", mutant.name, mutant.package, mutant.test);
                counts = counts + Counts::passed(1);
            }
            Err(error) => {
                say!("{}: {error:#}", mutant.name);
                counts = counts + Counts::failed(1);
            }
        }
    }
    Ok(counts)
}

/// Returns a line for each patch that no longer fits the sources.
pub(super) fn stale(repo: &Repo) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for mutant in read_all(&repo.path("tests/mutants"))? {
        let mut git = command("git", repo.root());
        if let Err(error) = stdout_of(git.args(["apply", "--check"]).arg(&mutant.patch)) {
            stale.push(format!("{}: {error:#}", mutant.name));
        }
    }
    Ok(stale)
}

/// Returns a line for each planted fault whose item (`Unticks:`) is not covered by the test that detects the fault.
///
/// Faults of the agent and of the client must name an item.
pub(super) fn unknown_to_tests(repo: &Repo, covered: &Covered) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for mutant in read_all(&repo.path("tests/mutants"))? {
        let Some(item) = &mutant.unticks else {
            if mutant.name.starts_with("agent-") || mutant.name.starts_with("llm-") {
                unknown.push(format!("{} has no line Unticks", mutant.name));
            }
            continue;
        };
        let binary = mutant.package.replace('-', "_");
        let is_killer = |test: &String| test.starts_with(&format!("{binary}::")) && test.contains(&mutant.test);
        if !covered.get(item).is_some_and(|tests| tests.iter().any(is_killer)) {
            unknown.push(format!("{}: {} does not cover {item}", mutant.name, mutant.test));
        }
    }
    Ok(unknown)
}

fn read_all(folder: &Path) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let patch = entry?.path();
        if patch.extension().is_some_and(|extension| extension == "patch") {
            let text = std::fs::read_to_string(&patch).with_context(|| patch.display().to_string())?;
            let (package, test) = killer(&text).with_context(|| format!("{}: no Killed-by line", patch.display()))?;
            let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let unticks = text.lines().find_map(|line| line.strip_prefix("Unticks: ")).map(str::to_owned);
            mutants.push(Mutant { name, patch, package, test, unticks });
        }
    }
    mutants.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutants)
}

fn killer(patch: &str) -> Option<(String, String)> {
    let words = patch.lines().find_map(|line| line.strip_prefix("Killed-by: "))?;
    let (package, test) = words.trim().split_once(' ')?;
    Some((package.to_owned(), test.trim().to_owned()))
}

/// Checks that the test passes without the fault and fails with it; removes the fault again.
fn plant(context: &Context<'_>, mutant: &Mutant, tree: &Path) -> Result<()> {
    let sound = run_test(context, mutant, tree, "sound")?;
    ensure!(sound.failed == 0 && sound.passed > 0, "without the fault, the test gives {sound}");
    apply(mutant, tree, &[]).context("the patch no longer applies")?;
    let faulty = run_test(context, mutant, tree, "faulty");
    apply(mutant, tree, &["--reverse"]).context("the patch could not be taken out")?;
    match faulty? {
        counts if counts.failed > 0 => Ok(()),
        counts if counts.passed > 0 => bail!("NOT noticed by {} {}", mutant.package, mutant.test),
        _ => bail!("does not compile with the fault, so no test has noticed it"),
    }
}

/// Applies the patch with `git apply`, which refuses a patch that does not fit exactly.
///
/// The ceiling directory keeps git from taking the copy for a part of the checkout around it.
fn apply(mutant: &Mutant, tree: &Path, options: &[&str]) -> Result<()> {
    let mut git = command("git", tree);
    git.env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
    run(git.arg("apply").args(options).arg(&mutant.patch))
}

fn run_test(context: &Context<'_>, mutant: &Mutant, tree: &Path, state: &str) -> Result<Counts> {
    let mut cargo = command("cargo", tree);
    cargo.args(["test", "--package", &mutant.package, "--lib", "--tests", "--target-dir"]);
    cargo.arg(context.repo.path("target/mutants/target")).arg(&mutant.test);
    let log = context.repo.path(&format!("target/logs/mutants/{}-{state}.log", mutant.name));
    Ok(Counts::from_libtest(&logged(&mut cargo, &log, Limits::whole(LIMIT), |_| false)?.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_the_test_that_notices_it() {
        let patch = "Forgets the owner.\nKilled-by: emend-agent lease::tests::one_holder\n\n--- a/x\n+++ b/x\n";
        assert_eq!(killer(patch), Some(("emend-agent".to_owned(), "lease::tests::one_holder".to_owned())));
        assert_eq!(killer("--- a/x\n+++ b/x\n"), None);
        assert_eq!(killer("Killed-by: emend-agent\n"), None);
    }
}
