//! The standard library for wasm32: added by rustup, or built from the source that Debian packages.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::debian;
use super::outcome::Done;
use crate::process::{command, run, succeeds, which};
use crate::repo::Repo;
use crate::toolchain::{DEBIAN_RUSTLIB, TARGET, WasmToolchain};

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
        build(repo)?;
    }
    match WasmToolchain::find(repo) {
        Some(found) => Ok(Done::Installed(found.describe())),
        None => bail!("{} still builds no wasm module", toolchain.describe()),
    }
}

/// Builds the standard library and puts it where Debian's compiler looks for it.
fn build(repo: &Repo) -> Result<()> {
    let folder = repo.tools().join("wasm-std");
    std::fs::create_dir_all(folder.join("src"))?;
    // The empty [workspace] keeps cargo from taking this folder for a member of the project.
    let manifest = "[package]\nname = \"empty\"\nedition = \"2021\"\n\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    let mut cargo = command("/usr/bin/cargo", &folder);
    // Building the standard library is an unstable feature, which this variable allows for a stable compiler.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", "/usr/bin/rustc");
    cargo.env("RUSTFLAGS", "-Cembed-bitcode=yes -Zforce-unstable-if-unmarked");
    cargo.args(["build", "--quiet", "--release", "--target", TARGET, "--target-dir", "target"]);
    run(cargo.arg("-Zbuild-std=std,panic_abort,panic_unwind,proc_macro,test"))?;
    copy_libraries(&folder.join("target").join(TARGET).join("release/deps"))
}

fn copy_libraries(built: &Path) -> Result<()> {
    let library = Path::new(DEBIAN_RUSTLIB).join(TARGET).join("lib");
    // Libraries of an older compiler beside the new ones would be ambiguous.
    if library.exists() {
        std::fs::remove_dir_all(&library).with_context(|| library.display().to_string())?;
    }
    std::fs::create_dir_all(&library).with_context(|| library.display().to_string())?;
    for entry in std::fs::read_dir(built).with_context(|| built.display().to_string())? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            std::fs::copy(&file, library.join(&name)).with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}
