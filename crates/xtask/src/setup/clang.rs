//! The compiler of C for wasm32: the grammars of outlines are C. Debian's package, unless a clang is there.

use std::time::Duration;

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::{command, succeeds};
use crate::repo::Repo;

/// The names of the program, and of Debian's versions without the package that gives it its name.
const NAMES: [&str; 3] = ["clang", "clang-19", "clang-14"];

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if let Some(found) = find(repo) {
        return Ok(Done::Skipped(found));
    }
    debian::install(repo, &["clang"])?;
    Ok(match find(repo) {
        Some(found) => Done::Installed(found),
        None => Done::Missing("clang cannot compile for wasm32; the modules of outlines are not built".to_owned()),
    })
}

/// Returns a clang that compiles for wasm32, which Apple's does not. `EMEND_CLANG` names another.
pub(crate) fn find(repo: &Repo) -> Option<String> {
    let given = std::env::var("EMEND_CLANG").ok();
    let names = given.into_iter().chain(NAMES.map(str::to_owned));
    names.into_iter().find(|name| {
        let mut probe = command(name, repo.root());
        probe.args(["--target=wasm32-unknown-unknown", "-x", "c", "-S", "-o", "-", "/dev/null"]);
        succeeds(&mut probe, Duration::from_secs(20))
    })
}
