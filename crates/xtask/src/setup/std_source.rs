//! Builds the standard library of a target from the source that Debian packages, for Debian's compiler.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::process::{command, run};
use crate::repo::Repo;
use crate::toolchain::DEBIAN_RUSTLIB;

/// Builds the standard library and puts it where Debian's compiler looks for it.
pub(crate) fn build(repo: &Repo, target: &str) -> Result<()> {
    let folder = repo.tools().join("std");
    std::fs::create_dir_all(folder.join("src"))?;
    // The empty [workspace] keeps cargo from taking this folder for a member of the project.
    let manifest = "[package]\nname = \"empty\"\nedition = \"2021\"\n\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    let mut cargo = command("/usr/bin/cargo", &folder);
    // Building the standard library is an unstable feature, which this variable allows for a stable compiler.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", "/usr/bin/rustc");
    cargo.env("RUSTFLAGS", "-Cembed-bitcode=yes -Zforce-unstable-if-unmarked");
    cargo.args(["build", "--quiet", "--release", "--target", target, "--target-dir", "target"]);
    run(cargo.arg("-Zbuild-std=std,panic_abort,panic_unwind,proc_macro,test"))?;
    copy_libraries(&folder.join("target").join(target).join("release/deps"), target)
}

fn copy_libraries(built: &Path, target: &str) -> Result<()> {
    let library = Path::new(DEBIAN_RUSTLIB).join(target).join("lib");
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
