//! Planted faults: each patch in `tests/mutants` must be noticed by the test that it names.
//!
//! A line `Killed-by: PACKAGE TEST` of the patch names the test, or a part of its name. `Killed-by: pkg FILE TITLE` names
//! a test of the npm package by its file in `pkg/test` and its title. The test runs in a copy of the checkout: first
//! without the fault, when it must pass, then with it, when it must fail.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::checklist::Covered;
use super::context::{Context, LIMIT};
use super::counts::Counts;
use super::node::PackageCopy;
use crate::process::{Limits, command, logged, run, stdout_of};
use crate::progress::say;
use crate::repo::Repo;

/// One planted fault.
struct Mutant {
    name: String,
    patch: PathBuf,
    killer: Killer,
    /// The checklist item that the fault violates.
    unticks: Option<String>,
}

/// The test that must notice a fault.
#[derive(Debug, PartialEq, Eq)]
enum Killer {
    /// A test of a crate.
    Cargo { package: String, test: String },
    /// A test of the npm package: its file in `pkg/test`, and its title or a part of it.
    Npm { file: String, title: String },
}

impl fmt::Display for Killer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cargo { package, test } => write!(formatter, "{package} {test}"),
            Self::Npm { file, title } => write!(formatter, "{file} {title:?}"),
        }
    }
}

/// The copy of the checkout, and the npm package in it.
struct Copy<'a> {
    context: &'a Context<'a>,
    tree: &'a Path,
    /// An error if the package of the checkout does not build. The faults in crates are planted all the same.
    package: Result<PackageCopy>,
}

pub(super) fn run_all(context: &Context<'_>) -> Result<Counts> {
    let mutants = read_all(&context.repo.path("tests/mutants"))?;
    ensure!(!mutants.is_empty(), "tests/mutants has no patches");
    let tree = context.repo.path("target/mutants/tree");
    context.repo.copy_to(&tree)?;
    let consumer = context.repo.path("target/mutants/consumer");
    let package = context.build_package().and_then(|()| PackageCopy::new(context.repo, &tree, consumer));
    let copy = Copy { context, tree: &tree, package };
    let mut counts = Counts::default();
    for mutant in &mutants {
        match plant(&copy, mutant) {
            Ok(()) => {
                say!("{}: noticed by {}", mutant.name, mutant.killer);
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

/// Returns a line for each patch that no longer fits the sources, or whose test is in no package.
pub(super) fn stale(repo: &Repo) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for mutant in read_all(&repo.path("tests/mutants"))? {
        let mut git = command("git", repo.root());
        if let Err(error) = stdout_of(git.args(["apply", "--check"]).arg(&mutant.patch)) {
            stale.push(format!("{}: {error:#}", mutant.name));
        }
        if let Killer::Cargo { package, .. } = &mutant.killer
            && package != "emend-tests"
            && !repo.path(&format!("crates/{package}")).exists()
        {
            stale.push(format!("{}: there is no package {package}", mutant.name));
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
        let is_killer = |name: &String| match &mutant.killer {
            Killer::Cargo { package, test } => {
                name.starts_with(&format!("{}::", package.replace('-', "_"))) && name.contains(test)
            }
            // Tests of the npm package cover no items.
            Killer::Npm { .. } => false,
        };
        if !covered.get(item).is_some_and(|tests| tests.iter().any(is_killer)) {
            unknown.push(format!("{}: {} does not cover {item}", mutant.name, mutant.killer));
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
            let killer = killer(&text).with_context(|| format!("{}: no Killed-by line", patch.display()))?;
            let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let unticks = text.lines().find_map(|line| line.strip_prefix("Unticks: ")).map(str::to_owned);
            mutants.push(Mutant { name, patch, killer, unticks });
        }
    }
    mutants.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutants)
}

fn killer(patch: &str) -> Option<Killer> {
    let words = patch.lines().find_map(|line| line.strip_prefix("Killed-by: "))?;
    let (package, test) = words.trim().split_once(' ')?;
    let (package, test) = (package.to_owned(), test.trim().to_owned());
    if package != "pkg" {
        return Some(Killer::Cargo { package, test });
    }
    let (file, title) = test.split_once(' ').filter(|(file, _)| file.ends_with(".test.mjs"))?;
    Some(Killer::Npm { file: file.to_owned(), title: title.trim().to_owned() })
}

/// Checks that the test passes without the fault and fails with it; removes the fault again.
fn plant(copy: &Copy<'_>, mutant: &Mutant) -> Result<()> {
    let sound = run_test(copy, mutant, "sound")?;
    ensure!(sound.failed == 0 && sound.passed > 0, "without the fault, the test gives {sound}");
    apply(mutant, copy.tree, &[]).context("the patch no longer applies")?;
    let faulty = run_test(copy, mutant, "faulty");
    apply(mutant, copy.tree, &["--reverse"]).context("the patch could not be taken out")?;
    match faulty? {
        counts if counts.failed > 0 => Ok(()),
        counts if counts.passed > 0 => bail!("NOT noticed by {}", mutant.killer),
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

fn run_test(copy: &Copy<'_>, mutant: &Mutant, state: &str) -> Result<Counts> {
    let repo = copy.context.repo;
    let log = |part: &str| repo.path(&format!("target/logs/mutants/{}-{state}{part}.log", mutant.name));
    match &mutant.killer {
        Killer::Cargo { package, test } => {
            let mut cargo = command("cargo", copy.tree);
            cargo.args(["test", "--package", package, "--tests", "--target-dir"]);
            cargo.arg(repo.path("target/mutants/target")).arg(test);
            Ok(Counts::from_libtest(&logged(&mut cargo, &log(""), Limits::whole(LIMIT), |_| false)?.text))
        }
        Killer::Npm { file, title } => {
            let package = copy.package.as_ref().map_err(|error| anyhow!("the package: {error:#}"))?;
            if package.build(&log("-build"))? { package.run_test(file, title, &log("")) } else { Ok(Counts::default()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_the_test_that_notices_it() {
        let patch = "Forgets the owner.\nKilled-by: emend-agent lease::tests::one_holder\n\n--- a/x\n+++ b/x\n";
        let (package, test) = ("emend-agent".to_owned(), "lease::tests::one_holder".to_owned());
        assert_eq!(killer(patch), Some(Killer::Cargo { package, test }));
        assert_eq!(killer("--- a/x\n+++ b/x\n"), None);
        assert_eq!(killer("Killed-by: emend-agent\n"), None);
    }

    #[test]
    fn a_patch_may_name_a_test_of_the_package() {
        let patch = "Forgets the feed.\nKilled-by: pkg agent.test.mjs breaking out of a run ends it\n\n--- a/x\n";
        let (file, title) = ("agent.test.mjs".to_owned(), "breaking out of a run ends it".to_owned());
        assert_eq!(killer(patch), Some(Killer::Npm { file, title }));
        assert_eq!(killer("Killed-by: pkg agent.test.mjs\n"), None, "no title");
        assert_eq!(killer("Killed-by: pkg breaking out of a run ends it\n"), None, "no file");
    }
}
