//! Builds the modules of outlines: one for each language, from Rust and the C of tree-sitter.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Inspection, optimise, timed, without_paths};
use crate::metadata::Metadata;
use crate::process::run;
use crate::progress::say;
use crate::repo::Repo;
use crate::settings::Outlines;
use crate::toolchain::{TARGET, WasmToolchain, find_clang};

/// Builds all modules and returns them with their languages.
pub(super) fn build(repo: &Repo, settings: &Outlines) -> Result<Vec<(String, PathBuf)>> {
    let clang = find_clang(repo).context("no clang here compiles C for wasm32: run `cargo xtask setup`")?;
    let flags = c_flags(repo)?;
    timed("outline", || {
        settings
            .languages
            .keys()
            .map(|language| Ok((language.clone(), one(repo, settings, language, &clang, &flags)?)))
            .collect()
    })
}

fn one(repo: &Repo, settings: &Outlines, language: &str, clang: &str, flags: &str) -> Result<PathBuf> {
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, "rustc", &[]);
    cargo.env("RUSTFLAGS", without_paths(repo));
    cargo.env("CC_wasm32_unknown_unknown", clang).env("CFLAGS_wasm32_unknown_unknown", flags);
    // The archives are for the linker of Rust, which needs no index of their symbols.
    cargo.env("AR_wasm32_unknown_unknown", "ar");
    cargo.args(["--no-default-features", "--features", language, "--quiet", "--lib", "--crate-type", "cdylib"]);
    cargo.args(["--package", &settings.package, "--profile", &settings.profile, "--", "-C"]);
    run(cargo.arg(format!("link-arg=-zstack-size={}", settings.stack_bytes)))?;
    let compiled = format!("{TARGET}/{}/{}.wasm", settings.profile, settings.package.replace('-', "_"));
    let wasm = repo.path(&settings.out_dir).join(format!("outline-{language}.wasm"));
    if let Some(folder) = wasm.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(repo.wasm_target(&[]).join(compiled), &wasm)?;
    optimise(repo, &settings.wasm_opt, &wasm)?;
    let found = Inspection::of(repo, &wasm)?;
    say!("{}: {} bytes, {} with brotli", wasm.display(), found.bytes, found.brotli);
    Ok(wasm)
}

/// Returns the flags for C: the headers of a small standard library, which not every grammar names itself. They lack a type
/// and a macro that the grammar of C++ takes from `string.h` and `assert.h`.
fn c_flags(repo: &Repo) -> Result<String> {
    let metadata = Metadata::read(repo)?;
    let found = metadata.packages.iter().find(|package| package.name == "tree-sitter-language");
    let folder = found.and_then(|package| package.manifest_path.parent()).context("tree-sitter-language")?;
    Ok(format!("-I{} -include wchar.h -Dstatic_assert=_Static_assert", folder.join("wasm/include").display()))
}
