//! The tests that run in Node: on the packed npm package, also in bundlers, and against the built page in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::context::{Context, Depth, LIMIT};
use super::counts::Counts;
use crate::process::{Limits, command, logged, run, stdout_of};
use crate::progress::say;
use crate::repo::Repo;
use crate::setup::browser::Browser;
use crate::{build, serve};

/// Packs `pkg/`, installs the tarball in an empty project as a user would, and runs the package's tests there, with the
/// examples beside them.
pub(super) fn package(context: &Context<'_>) -> Result<Counts> {
    context.build_package()?;
    let repo = context.repo;
    let pkg = repo.path("pkg");
    let consumer = repo.path("target/consumer");
    make_consumer(repo, &consumer)?;
    copy_tests(&pkg.join("examples"), &consumer.join("examples"))?;
    let tests = copy_tests(&pkg.join("test"), &consumer)?;
    if tests.is_empty() {
        bail!("pkg/test has no *.test.mjs");
    }
    let mut node = command("node", &consumer);
    node.args(["--expose-gc", "--test", "--test-reporter=tap"]).args(&tests);
    let output = context.program("package", &mut node, |line| line.trim_start().starts_with("not ok "))?;
    Ok(Counts::from_node(&output.text).of_program(output.success))
}

fn make_consumer(repo: &Repo, consumer: &Path) -> Result<()> {
    make_empty_project(consumer)?;
    let packed = stdout_of(
        command("npm", &repo.path("pkg"))
            .args(["pack", "--json", "--ignore-scripts", "--pack-destination"])
            .arg(consumer),
    )?;
    let packed: serde_json::Value = serde_json::from_str(&packed).context("npm pack")?;
    let tarball = packed[0]["filename"].as_str().context("npm pack named no file")?;
    say!("packed {tarball}: {} bytes, {} files", packed[0]["size"], packed[0]["entryCount"]);
    run(command("npm", consumer).args(["install", "--no-audit", "--no-fund", "--silent"]).arg(format!("./{tarball}")))?;
    link_libraries(&repo.path("pkg/node_modules"), &consumer.join("node_modules"))
}

fn make_empty_project(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::create_dir_all(folder)?;
    Ok(std::fs::write(folder.join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")?)
}

/// Gives the consumer the libraries that the tests use beside the package: the editors and React, which are optional peers.
fn link_libraries(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let link = to.join(entry.file_name());
        if entry.file_type()?.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') && !link.exists() {
            link_directory(&entry.path(), &link).with_context(|| link.display().to_string())?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(windows)]
fn link_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(from, to)
}

/// The npm package in a copy of the checkout: the wasm modules of the checkout, with TypeScript of the copy.
pub(super) struct PackageCopy {
    pkg: PathBuf,
    consumer: PathBuf,
}

impl PackageCopy {
    /// Prepares the package in `tree` and an empty project `consumer` that links to it. The package of the checkout must
    /// have been built.
    pub(super) fn new(repo: &Repo, tree: &Path, consumer: PathBuf) -> Result<Self> {
        let pkg = tree.join("pkg");
        let libraries = repo.path("pkg/node_modules");
        // The modules and their glue are among the files of the folder itself; `build` writes the others again.
        copy_tests(&repo.path("pkg/dist"), &pkg.join("dist"))?;
        link_directory(&libraries, &pkg.join("node_modules"))?;
        make_empty_project(&consumer)?;
        std::fs::create_dir(consumer.join("node_modules"))?;
        link_directory(&pkg, &consumer.join("node_modules/emend"))?;
        link_libraries(&libraries, &consumer.join("node_modules"))?;
        copy_tests(&pkg.join("examples"), &consumer.join("examples"))?;
        copy_tests(&pkg.join("test"), &consumer)?;
        Ok(Self { pkg, consumer })
    }

    /// Builds the package; returns whether that succeeded.
    pub(super) fn build(&self, log: &Path) -> Result<bool> {
        let mut npm = command("npm", &self.pkg);
        npm.args(["run", "--silent", "build"]);
        Ok(logged(&mut npm, log, Limits::whole(LIMIT), |_| false)?.success)
    }

    /// Runs the tests of `file` with `title` in their titles.
    pub(super) fn run_test(&self, file: &str, title: &str, log: &Path) -> Result<Counts> {
        let mut node = command("node", &self.consumer);
        node.args(["--expose-gc", "--test", "--test-reporter=tap", "--test-timeout=300000"]);
        node.arg(format!("--test-name-pattern={}", as_pattern(title))).arg(file);
        Ok(counts_of(title, &logged(&mut node, log, Limits::whole(LIMIT), |_| false)?.text))
    }
}

/// Returns a regular expression that matches `text`.
fn as_pattern(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Counts the tests with `title` in their titles.
///
/// Node 22 and later report a file in which no test has the title as one test that passed.
fn counts_of(title: &str, text: &str) -> Counts {
    let counts = Counts::from_node(text);
    let is_result = |line: &str| line.starts_with("ok ") && line.contains(title) && !line.contains("# SKIP");
    let passed = if text.lines().any(is_result) { counts.passed } else { 0 };
    Counts { passed, ..counts }
}

/// Copies everything in `from`, and returns the names of the test files.
fn copy_tests(from: &Path, consumer: &Path) -> Result<Vec<PathBuf>> {
    let mut tests = Vec::new();
    std::fs::create_dir_all(consumer).with_context(|| consumer.display().to_string())?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let name = PathBuf::from(entry.file_name());
        std::fs::copy(entry.path(), consumer.join(&name)).with_context(|| name.display().to_string())?;
        if name.to_string_lossy().ends_with(".test.mjs") {
            tests.push(name);
        }
    }
    tests.sort();
    Ok(tests)
}

/// Runs the tests of the page's own code that need no browser.
pub(super) fn page(context: &Context<'_>) -> Result<Counts> {
    context.build_package()?;
    let mut npm = command("npm", &context.repo.path("web"));
    let output = context.program("page", npm.args(["test", "--silent"]), |line| line.starts_with("not ok "))?;
    Ok(Counts::from_node(&output.text).of_program(output.success))
}

/// Runs the demonstration as a user does, without a window.
pub(super) fn demo(context: &Context<'_>) -> Result<Counts> {
    context.build_package()?;
    let xtask = std::env::current_exe().context("the path of xtask")?;
    // As a program of its own: its output goes to a log, and it is ended when it takes too long.
    let mut demo = command(xtask, context.repo.root());
    demo.env(build::BUILT_COMMAND_LINE, build::command_line_of_tests(context.repo)?);
    context.check("demo", demo.args(["demo", "--headless", "--built"]))
}

/// Drives the built page in Chromium.
pub(super) fn end_to_end(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    context.build_page()?;
    let url = serve::start(&repo.path("web/dist"))?;
    let mut node = node_with_chromium(repo)?;
    node.env("EMEND_CLI", build::command_line_of_tests(repo)?);
    // Two at a time, because most of a test is waiting.
    node.env("WORKERS", "2");
    if context.depth == Depth::All {
        node.env("EMEND_STORM", "1");
    }
    numbered(context, "e2e", node.arg(repo.path("tests/e2e/run.mjs")).arg(url))
}

/// Measures the built page in Chromium and the package in Node, and compares counts and ratios with their limits. With
/// `--all`, also with planted faults, with which the limits must be exceeded.
pub(super) fn bench_web(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    context.build_page()?;
    let mut node = command("node", &repo.path("tests/e2e"));
    node.args(["--test", "--test-reporter=tap", "gates.test.mjs"]);
    let tests = context.program("bench-web-tests", &mut node, |line| line.starts_with("not ok "))?;
    let script = repo.path("tests/e2e/bench.mjs");
    let mut counts = Counts::from_node(&tests.text).of_program(tests.success);
    counts = counts + numbered(context, "bench-web", node_with_chromium(repo)?.arg(&script).arg("--gates"))?;
    if context.depth == Depth::All {
        counts =
            counts + numbered(context, "bench-web-faults", node_with_chromium(repo)?.arg(&script).arg("--faults"))?;
    }
    Ok(counts)
}

/// Builds programs with the packed npm package in the bundlers that embedders use, and runs what comes out. The script
/// packs the package itself: its programs must be below the folder of the bundlers.
pub(super) fn bundlers(context: &Context<'_>) -> Result<Counts> {
    context.build_package()?;
    let mut node = node_with_chromium(context.repo)?;
    numbered(context, "bundlers", node.arg(context.repo.path("tests/bundlers/run.mjs")))
}

fn node_with_chromium(repo: &Repo) -> Result<Command> {
    let Some(chromium) = Browser::find().chromium else {
        bail!("no Chromium here: `cargo xtask setup` installs it, or names what to install");
    };
    let mut node = command("node", repo.root());
    node.env("CHROMIUM", chromium);
    Ok(node)
}

/// Runs a script that prints a numbered line for each test, and the totals.
fn numbered(context: &Context<'_>, name: &str, script: &mut Command) -> Result<Counts> {
    let is_test = |line: &str| ["ok ", "not ok "].iter().any(|word| line.starts_with(word));
    let output = context.program(name, script, is_test)?;
    Ok(Counts::from_lines(&output.text).of_program(output.success))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_matched_letter_by_letter() {
        assert_eq!(as_pattern("a run ends"), "a run ends");
        assert_eq!(as_pattern("`run()` ends? [1/2]"), r"`run\(\)` ends\? \[1\/2\]");
    }

    #[test]
    fn only_tests_with_the_title_count() {
        let passed =
            "ok 1 - a run ends\nok 2 - a feed ends # SKIP test name does not match pattern\n# pass 1\n# fail 0\n";
        assert_eq!(counts_of("run ends", passed), Counts::passed(1));
        assert_eq!(counts_of("feed ends", passed), Counts::default());
        assert_eq!(counts_of("a run ends", "not ok 1 - a run ends\n# pass 0\n# fail 1\n"), Counts::failed(1));
        // Node 24.
        assert_eq!(counts_of("a run ends", "1..0\nok 1 - agent.test.mjs\n1..1\n# pass 1\n"), Counts::default());
        // A test that is never over ends with its file.
        assert_eq!(counts_of("a run ends", "not ok 1 - /x/agent.test.mjs\n# cancelled 1\n"), Counts::failed(1));
    }
}
