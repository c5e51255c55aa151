//! The standard library for wasm32: added by rustup, or built from the source that Debian packages.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::outcome::Done;
use super::{debian, std_source};
use crate::process::{command, succeeds, which};
use crate::repo::Repo;
use crate::toolchain::{TARGET, WasmToolchain};

/// Debian's compiler, the source of its standard library, and its clippy.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];

/// Time limit for rustup, after which Debian's packages are tried.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if let Some(found) = WasmToolchain::find(repo).filter(has_clippy) {
        return Ok(Done::Skipped(found.describe()));
    }
    if which("rustup").is_some() {
        succeeds(command("rustup", repo.root()).args(["target", "add", TARGET]), RUSTUP_LIMIT);
        if let Some(found) = WasmToolchain::find(repo) {
            return Ok(Done::Installed(found.describe()));
        }
    }
    from_debian(repo).with_context(|| {
        format!("wasm32 needs `rustup target add {TARGET}`, or Debian 12 or later with {}", PACKAGES.join(" "))
    })
}

/// The Rust on PATH reports a missing clippy itself; Debian's is a package of its own.
fn has_clippy(toolchain: &WasmToolchain) -> bool {
    match toolchain {
        WasmToolchain::OnPath => true,
        WasmToolchain::Debian { .. } => Path::new("/usr/bin/cargo-clippy").is_file(),
    }
}

fn from_debian(repo: &Repo) -> Result<Done> {
    debian::install(repo, &PACKAGES)?;
    let Some(toolchain) = WasmToolchain::debian(repo) else {
        bail!("Debian's rustc-web needs a wasm linker: rust-lld from a rustup toolchain, or the package lld-22");
    };
    if WasmToolchain::find(repo).is_none() {
        std_source::build(repo, TARGET)?;
    }
    match WasmToolchain::find(repo) {
        Some(found) => Ok(Done::Installed(found.describe())),
        None => bail!("{} still builds no wasm module", toolchain.describe()),
    }
}
