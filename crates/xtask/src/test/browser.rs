//! The pure crates' tests once more, compiled to wasm and run in headless Chromium.
//!
//! Both hosts' lists of names are compared: a native test that needs no host and is not run in the browser is a failure.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::native::worth_showing;
use super::{Context, Counts, names};
use crate::metadata::Metadata;
use crate::process::command;
use crate::repo::{PURE_CRATES, Repo};
use crate::settings::Settings;
use crate::setup::browser::Browser;
use crate::toolchain::WasmToolchain;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let packages = package_arguments(repo)?;
    // With the core's instructions: code that only they reach is tested here or nowhere.
    let features = Settings::read(repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, "test", &features);
    Browser::find().set_up_tests(repo, &mut cargo);
    cargo.args(["--no-fail-fast", "--lib", "--tests"]).args(&packages);
    let run = context.program("browser", &mut cargo, worth_showing)?;
    let counts = Counts::from_libtest(&run.text).of_program(run.success);

    let mut listing = command("cargo", repo.root());
    listing.args(["test", "--lib", "--tests"]).args(&packages);
    let listing = context.program("native-names", listing.args(["--", "--list"]), |_| false)?;
    Ok(counts + compare(context, &names::read(&listing.text), &names::read(&run.text))?)
}

/// Names the pure crates, and any package that asks for the browser's test harness, to cargo. Whoever names others has
/// all that they depend on built once more, since features add up.
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
        println!("  {host}: {} tests, named in {}", names.len(), file.display());
    }
    let hosted = native.iter().filter(|name| names::needs_host(name)).count();
    let absent: Vec<&String> = native.difference(browser).filter(|name| !names::needs_host(name)).collect();
    println!("  {hosted} native tests need a host; {} others do not run in the browser", absent.len());
    for name in &absent {
        println!("    not in the browser: {name}");
    }
    for name in browser.difference(native) {
        println!("    only in the browser: {name}");
    }
    Ok(if absent.is_empty() && !native.is_empty() { Counts::passed(1) } else { Counts::failed(1) })
}
