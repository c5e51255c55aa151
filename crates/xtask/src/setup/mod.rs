//! `cargo xtask setup`: installs the tools of the other commands and reports skipped parts.
//!
//! It can run any number of times and keeps installed parts. Only Debian packages go outside the checkout, and only if
//! there is no other wasm32 standard library or browser.

mod absurd;
pub(crate) mod browser;
mod clang;
mod debian;
mod firefox;
pub(crate) mod llama;
pub(crate) mod npm;
mod outcome;
mod podman;
mod postgres;
mod sshd;
pub(crate) mod std_source;
mod wasm_std;
pub(crate) mod windows;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use self::outcome::{Done, part};
use crate::process::{command, run, stdout_of, succeeds};
use crate::progress::{join, say, spawn_labelled};
use crate::repo::Repo;

/// Runs every part.
pub(crate) fn set_up(repo: &Repo) -> Result<()> {
    set_up_python(repo);
    set_up_postgres(repo);
    set_up_sshd(repo);
    set_up_podman(repo);
    set_up_tools(repo)
}

/// Creates the Python environment of a few extra tests, and takes the SQL of Absurd from a Python package.
pub(crate) fn set_up_python(repo: &Repo) {
    part("python", || python(repo));
    part("absurd", || absurd::set_up(repo));
}

/// Installs PostgreSQL, which tests of servers start themselves.
pub(crate) fn set_up_postgres(repo: &Repo) {
    part("postgresql", || postgres::set_up(repo));
}

/// Installs an SSH server, which tests of projects on other machines start themselves.
pub(crate) fn set_up_sshd(repo: &Repo) {
    part("sshd", || sshd::set_up(repo));
}

/// Installs Podman, whose containers tests of projects elsewhere start themselves.
pub(crate) fn set_up_podman(repo: &Repo) {
    part("podman", || podman::set_up(repo));
}

/// Installs a linker and a runner of programs for Windows, and a compiler unless one is there (`has_compiler`).
pub(crate) fn set_up_windows(repo: &Repo, has_compiler: bool) {
    part("windows", || windows::set_up(repo, has_compiler));
}

/// Installs compilers, browser and npm packages.
///
/// A part that fails is reported and the others continue; a command that needs it fails later and names it.
///
/// Parts that wait for different things (a compiler, Debian's package manager, the npm registry) run side by side.
///
/// The Python environment is not among them, see [`set_up_python`].
pub(crate) fn set_up_tools(repo: &Repo) -> Result<()> {
    let started = Instant::now();
    let packages = npm::packages(repo)?;
    thread::scope(|scope| {
        let mut threads = vec![spawn_labelled(scope, || part("wasm-bindgen", || wasm_bindgen(repo)))];
        threads.push(spawn_labelled(scope, || {
            // All of these may call apt-get, which allows one caller at a time.
            part("wasm32 standard library", || wasm_std::set_up(repo));
            part("browser", || browser::set_up(repo));
            part("clang", || clang::set_up(repo));
        }));
        threads.push(spawn_labelled(scope, || {
            for package in &packages {
                part(&package.label(), || package.install());
            }
        }));
        threads.into_iter().for_each(join);
    });
    say!("set-up done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// The packages of wasm-bindgen's command line that read and write modules, in which it spends its time.
const MODULE_PACKAGES: [&str; 5] = ["id-arena", "walrus", "wasm-bindgen-cli-support", "wasm-encoder", "wasmparser"];

/// Installs wasm-bindgen's command line in the version of Cargo.lock; both must match exactly.
fn wasm_bindgen(repo: &Repo) -> Result<Done> {
    let version = repo.locked_version("wasm-bindgen")?;
    let wanted = format!("wasm-bindgen {version}");
    let mut probe = command(repo.tools().join("bin/wasm-bindgen"), repo.root());
    if stdout_of(probe.arg("--version")).is_ok_and(|printed| printed.trim() == wanted) {
        return Ok(Done::Skipped(wanted));
    }
    // The lock file of the package is not used: it may name packages that a registry does not serve (any more, or yet).
    let mut install = command("cargo", repo.root());
    // Without TLS, which only remote WebDriver servers need, and with little optimised, it compiles in less time.
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    for package in MODULE_PACKAGES {
        install.args(["--config", &format!("profile.release.package.{package}.opt-level=1")]);
    }
    install.args(["install", "--quiet", "wasm-bindgen-cli", "--no-default-features"]);
    install.args(["--bin", "wasm-bindgen", "--bin", "wasm-bindgen-test-runner"]);
    install.args(["--version", &format!("={version}"), "--root"]);
    run(install.arg(repo.tools()))?;
    Ok(Done::Installed(wanted))
}

/// Installs Firefox and its driver, which only `test --all` and `test --only firefox` use.
pub(crate) fn set_up_firefox(repo: &Repo) {
    part("firefox", || firefox::set_up(repo));
}

/// Version of cargo-mutants. The lock file of the package is used: newer packages may need a newer compiler.
const CARGO_MUTANTS: &str = "27.1.0";

/// Installs cargo-mutants, which only `cargo xtask mutants` and `test --all` use.
pub(crate) fn set_up_mutants(repo: &Repo) {
    part("cargo-mutants", || cargo_mutants(repo));
}

fn cargo_mutants(repo: &Repo) -> Result<Done> {
    let wanted = format!("cargo-mutants {CARGO_MUTANTS}");
    let mut probe = command(repo.tools().join("bin/cargo-mutants"), repo.root());
    if stdout_of(probe.args(["mutants", "--version"])).is_ok_and(|printed| printed.trim() == wanted) {
        return Ok(Done::Skipped(wanted));
    }
    let mut install = command("cargo", repo.root());
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    install.args(["install", "--quiet", "cargo-mutants", "--locked", "--version"]);
    run(install.arg(format!("={CARGO_MUTANTS}")).arg("--root").arg(repo.tools()))?;
    Ok(Done::Installed(wanted))
}

/// Creates a Python environment for a few extra tests: a JSON Schema validator, a generator of HTTP requests, and a
/// worker of other programs.
fn python(repo: &Repo) -> Result<Done> {
    let folder = repo.path("target/py");
    let python = folder.join("bin/python");
    let imports = |limit| {
        succeeds(
            command(&python, repo.root()).args(["-c", "import jsonschema, schemathesis, absurd_sdk, psycopg"]),
            limit,
        )
    };
    if imports(Duration::from_secs(30)) {
        return Ok(Done::Skipped("jsonschema, schemathesis and absurd-sdk in target/py".to_owned()));
    }
    let made = succeeds(command("python3", repo.root()).args(["-m", "venv"]).arg(&folder), Duration::from_secs(120));
    let mut pip = command(&python, repo.root());
    pip.args(["-m", "pip", "install", "--quiet", "jsonschema", "schemathesis==4.32.5"]);
    pip.args(["absurd-sdk==0.5.1", "psycopg[binary]"]);
    if made && succeeds(&mut pip, Duration::from_secs(180)) {
        return Ok(Done::Installed("jsonschema, schemathesis and absurd-sdk in target/py".to_owned()));
    }
    Ok(Done::Missing(
        "python3 with venv, jsonschema, schemathesis and absurd-sdk could not be set up; their checks are skipped"
            .to_owned(),
    ))
}
