//! The compiler of C for wasm32: the grammars of outlines are C. Debian's package, unless a clang is there.

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::repo::Repo;
use crate::toolchain::find_clang;

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if let Some(found) = find_clang(repo) {
        return Ok(Done::Skipped(found));
    }
    debian::install(repo, &["clang"])?;
    Ok(match find_clang(repo) {
        Some(found) => Done::Installed(found),
        None => Done::Missing("clang cannot compile for wasm32; the modules of outlines are not built".to_owned()),
    })
}
