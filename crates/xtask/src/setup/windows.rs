//! The linker, the runner and the compiler of tests for Windows: Debian's packages.
//!
//! Only `cargo xtask test --all` needs them. The standard library of Debian's compiler is built from source, see
//! [`super::std_source`].

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::which;
use crate::repo::Repo;

/// Links programs for Windows.
pub(crate) const LINKER: &str = "x86_64-w64-mingw32-gcc";

/// Runs programs for Windows.
pub(crate) const RUNNER: &str = "wine";

const PROGRAMS: [&str; 3] = ["gcc-mingw-w64-x86-64-win32", "wine64", "wine"];

const COMPILER: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Installs the programs, and the compiler unless one is there (`has_compiler`).
pub(super) fn set_up(repo: &Repo, has_compiler: bool) -> Result<Done> {
    let have = format!("{LINKER} and {RUNNER}");
    if has_compiler && missing().is_none() {
        return Ok(Done::Skipped(have));
    }
    let compiler: &[&str] = if has_compiler { &[] } else { &COMPILER };
    debian::install(repo, &[&PROGRAMS[..], compiler].concat())?;
    Ok(match missing() {
        None => Done::Installed(have),
        Some(program) => Done::Missing(format!("{program} is still not there; commands on Windows are not tested")),
    })
}

/// A program that is not on PATH.
pub(crate) fn missing() -> Option<&'static str> {
    [LINKER, RUNNER].into_iter().find(|program| which(program).is_none())
}
