//! The tests of the pure crates, compiled to wasm and run in headless Chromium; with `--all` in Firefox, too.
//!
//! The test names of both hosts are compared: a native test outside `host_tests` that does not run in the browser is a
//! failure.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::context::Context;
use super::counts::Counts;
use super::names;
use super::native::worth_showing;
use crate::metadata::Metadata;
use crate::process::command;
use crate::progress::say;
use crate::repo::{PURE_CRATES, Repo};
use crate::settings::Settings;
use crate::setup::browser::{Browser, set_up_tests_in_firefox};
use crate::setup::set_up_firefox;
use crate::toolchain::WasmToolchain;

/// Name of the log of the browser's test run.
const LOG: &str = "browser";

/// Runs the tests in Chromium.
pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    run_with(context, LOG, |repo, cargo| Browser::find().set_up_tests(repo, cargo))
}

/// Runs the same tests in Firefox.
pub(super) fn firefox(context: &Context<'_>) -> Result<Counts> {
    set_up_firefox(context.repo);
    run_with(context, "firefox", set_up_tests_in_firefox)
}

fn run_with(context: &Context<'_>, log: &str, set_up: impl FnOnce(&Repo, &mut Command)) -> Result<Counts> {
    let repo = context.repo;
    let packages = package_arguments(repo)?;
    // With the target features of the core: no other test runs the code behind them.
    let features = Settings::read(repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, "test", &features);
    set_up(repo, &mut cargo);
    cargo.args(["--no-fail-fast", "--lib", "--tests"]).args(&packages);
    let run = context.program(log, &mut cargo, worth_showing)?;
    Ok(Counts::from_libtest(&run.text).of_program(run.success))
}

/// Compares the names of the tests that ran in the browser with those of the native build.
pub(super) fn same_tests(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let log = repo.path(&format!("target/logs/{LOG}.log"));
    let browser = std::fs::read_to_string(&log).with_context(|| log.display().to_string())?;
    // The whole workspace, as in the step `native`: another selection of packages has other features and is built anew.
    let mut listing = command("cargo", repo.root());
    listing.args(["test", "--workspace", "--lib", "--tests", "--", "--list"]);
    let listing = context.program("native-names", &mut listing, |_| false)?;
    let of_both_hosts = names::of_binaries(&names::read(&listing.text), &binaries(repo)?);
    compare(context, &of_both_hosts, &names::read(&browser))
}

/// Names the test binaries of [`package_arguments`]: the libraries, and the suite over all crates.
fn binaries(repo: &Repo) -> Result<BTreeSet<String>> {
    let packages = package_arguments(repo)?.into_iter().filter(|argument| argument != "-p");
    Ok(packages.map(|name| name.replace('-', "_")).chain(["it".to_owned()]).collect())
}

/// Returns cargo arguments that select the pure crates and every package with wasm-bindgen-test.
///
/// All browser steps use this selection: another one has other features and is built again.
pub(super) fn package_arguments(repo: &Repo) -> Result<Vec<String>> {
    let metadata = Metadata::read(repo)?;
    let asking = metadata.members().filter(|package| package.depends_on("wasm-bindgen-test"));
    let names = asking.map(|package| package.name.clone()).chain(PURE_CRATES.iter().map(|name| (*name).to_owned()));
    let names: BTreeSet<String> = names.collect();
    Ok(names.into_iter().flat_map(|name| ["-p".to_owned(), name]).collect())
}

fn compare(context: &Context<'_>, native: &BTreeSet<String>, browser: &BTreeSet<String>) -> Result<Counts> {
    for (host, names) in [("native", native), ("browser", browser)] {
        let file = context.repo.path(&format!("target/test-names-{host}.txt"));
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&file, lines).with_context(|| file.display().to_string())?;
        say!("{host}: {} tests, named in {}", names.len(), file.display());
    }
    let hosted = native.iter().filter(|name| names::needs_host(name)).count();
    let absent: Vec<&String> = native.difference(browser).filter(|name| !names::needs_host(name)).collect();
    say!("{hosted} native tests need a host; {} others do not run in the browser", absent.len());
    for name in &absent {
        say!("  not in the browser: {name}");
    }
    for name in browser.difference(native) {
        say!("  only in the browser: {name}");
    }
    Ok(if absent.is_empty() && !native.is_empty() { Counts::passed(1) } else { Counts::failed(1) })
}
