//! `cargo xtask setup`: installs what the other commands need, and says what it skips.
//!
//! It can be run any number of times; what is there stays as it is. Only Debian's packages go outside of the
//! checkout, and only when nothing else gives a wasm32 standard library or a browser.

pub(crate) mod browser;
mod debian;
pub(crate) mod llama;
pub(crate) mod npm;
mod wasm_std;

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::process::{command, run, stdout_of, succeeds};
use crate::repo::Repo;

/// What a part of the setup did.
pub(crate) enum Done {
    /// It was there already; where, or which.
    Skipped(String),
    /// It was missing and was installed.
    Installed(String),
    /// It cannot be had here; what the user can do.
    Missing(String),
}

/// Runs every part. A part that cannot be had is named, and the others go on; the commands that need it will say so.
pub(crate) fn set_up(repo: &Repo) -> Result<()> {
    let started = Instant::now();
    println!("== setup");
    part("wasm32 standard library", || wasm_std::set_up(repo));
    part("wasm-bindgen", || wasm_bindgen(repo));
    part("browser", || browser::set_up(repo));
    for package in npm::packages(repo)? {
        part(&package.label(), || package.install());
    }
    part("python", || python(repo));
    println!("== setup done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn part(name: &str, set_up: impl FnOnce() -> Result<Done>) {
    let started = Instant::now();
    let outcome = set_up();
    let seconds = started.elapsed().as_secs_f64();
    match outcome {
        Ok(Done::Skipped(what)) => println!("  {name}: skipped, have {what} ({seconds:.1} s)"),
        Ok(Done::Installed(what)) => println!("  {name}: installed {what} ({seconds:.1} s)"),
        Ok(Done::Missing(what)) => println!("  {name}: MISSING, {what} ({seconds:.1} s)"),
        Err(error) => println!("  {name}: FAILED, {error:#} ({seconds:.1} s)"),
    }
}

/// Installs wasm-bindgen's command line in exactly the version that the crates were locked to.
fn wasm_bindgen(repo: &Repo) -> Result<Done> {
    let version = repo.locked_version("wasm-bindgen")?;
    let wanted = format!("wasm-bindgen {version}");
    let mut probe = command(repo.tools().join("bin/wasm-bindgen"), repo.root());
    if stdout_of(probe.arg("--version")).is_ok_and(|printed| printed.trim() == wanted) {
        return Ok(Done::Skipped(wanted));
    }
    // Its own lock file is not used: it may name packages that a registry no longer, or not yet, serves.
    let mut install = command("cargo", repo.root());
    install.args(["install", "--quiet", "wasm-bindgen-cli", "--version", &format!("={version}"), "--root"]);
    run(install.arg(repo.tools()))?;
    Ok(Done::Installed(wanted))
}

/// Makes a Python with the JSON Schema checker; only a few extra tests use it.
fn python(repo: &Repo) -> Result<Done> {
    let folder = repo.path("target/py");
    let python = folder.join("bin/python");
    let imports = |limit| succeeds(command(&python, repo.root()).args(["-c", "import jsonschema"]), limit);
    if imports(Duration::from_secs(30)) {
        return Ok(Done::Skipped("jsonschema in target/py".to_owned()));
    }
    let made = succeeds(command("python3", repo.root()).args(["-m", "venv"]).arg(&folder), Duration::from_secs(120));
    let mut pip = command(&python, repo.root());
    pip.args(["-m", "pip", "install", "--quiet", "jsonschema"]);
    if made && succeeds(&mut pip, Duration::from_secs(180)) {
        return Ok(Done::Installed("jsonschema in target/py".to_owned()));
    }
    Ok(Done::Missing(
        "python3 with venv and jsonschema could not be set up; the checks that use it are skipped".to_owned(),
    ))
}
