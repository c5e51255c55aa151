//! The checks of rustfmt, clippy and rustdoc.

use anyhow::Result;

use super::{Context, Counts};
use crate::process::command;
use crate::repo::PURE_CRATES;
use crate::settings::Settings;
use crate::toolchain::WasmToolchain;

/// The crate that is nothing but bindings for wasm hosts.
const BINDINGS: &str = "emend-wasm";

pub(super) fn fmt(context: &Context<'_>) -> Result<Counts> {
    context.check("fmt", command("cargo", context.repo.root()).args(["fmt", "--all", "--check"]))
}

pub(super) fn clippy(context: &Context<'_>) -> Result<Counts> {
    let mut clippy = command("cargo", context.repo.root());
    context.check("clippy", clippy.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// The pure crates with their tests, and the bindings: code that only wasm32 compiles is checked here or nowhere.
pub(super) fn clippy_wasm(context: &Context<'_>) -> Result<Counts> {
    let toolchain = WasmToolchain::require(context.repo)?;
    let features = Settings::read(context.repo)?.core.target_features;
    let mut pure = toolchain.cargo(context.repo, "clippy", &features);
    pure.args(PURE_CRATES.iter().flat_map(|name| ["-p", *name])).args(["--all-targets", "--", "-D", "warnings"]);
    let mut bindings = toolchain.cargo(context.repo, "clippy", &features);
    bindings.args(["-p", BINDINGS, "--features", "shell", "--", "-D", "warnings"]);
    Ok(context.check("clippy-wasm", &mut pure)? + context.check("clippy-wasm-bindings", &mut bindings)?)
}

/// With private items: headers are read by those who work on the code, and link to what is next to them.
pub(super) fn docs(context: &Context<'_>) -> Result<Counts> {
    let mut native = command("cargo", context.repo.root());
    native.args(["doc", "--workspace", "--exclude", BINDINGS]);
    // Elsewhere than on wasm32 the bindings are empty, and so would be their documentation.
    let features = Settings::read(context.repo)?.core.target_features;
    let mut bindings = WasmToolchain::require(context.repo)?.cargo(context.repo, "doc", &features);
    bindings.args(["--package", BINDINGS]);
    let mut counts = Counts::default();
    for (name, rustdoc) in [("docs", &mut native), ("docs-bindings", &mut bindings)] {
        rustdoc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
        counts = counts + context.check(name, rustdoc.args(["--no-deps", "--document-private-items"]))?;
    }
    Ok(counts)
}
