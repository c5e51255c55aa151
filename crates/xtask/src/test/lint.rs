//! The checks of rustfmt, clippy and rustdoc.

use std::process::Command;

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
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

/// The pure crates and the bindings, all with their tests: code that only wasm32 compiles is checked here or nowhere.
pub(super) fn clippy_wasm(context: &Context<'_>) -> Result<Counts> {
    let features = Settings::read(context.repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(context.repo)?.cargo(context.repo, "clippy", &features);
    // One call for all: a call for some of them selects other features and compiles the dependencies again.
    cargo.args(PURE_CRATES.iter().chain([&BINDINGS]).flat_map(|name| ["-p", *name]));
    cargo.args(["--features", "emend-wasm/shell", "--all-targets", "--", "-D", "warnings"]);
    context.check("clippy-wasm", &mut cargo)
}

/// Builds the documentation of every crate but the bindings, which are empty except on wasm32.
pub(super) fn docs(context: &Context<'_>) -> Result<Counts> {
    let mut cargo = command("cargo", context.repo.root());
    rustdoc(context, "docs", cargo.args(["doc", "--workspace", "--exclude", BINDINGS]))
}

/// Builds the documentation of the bindings.
pub(super) fn docs_wasm(context: &Context<'_>) -> Result<Counts> {
    let features = Settings::read(context.repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(context.repo)?.cargo(context.repo, "doc", &features);
    rustdoc(context, "docs-wasm", cargo.args(["--package", BINDINGS]))
}

/// Formats and lints TypeScript and JavaScript, as `.biome.jsonc` says.
pub(super) fn biome(context: &Context<'_>) -> Result<Counts> {
    let program = context.repo.tools().join("npm/node_modules/.bin/biome");
    context.check("biome", command(program, context.repo.root()).args(["ci", "--colors=off"]))
}

/// With private items: module headers are read by contributors, and link to private neighbours.
fn rustdoc(context: &Context<'_>, name: &str, cargo: &mut Command) -> Result<Counts> {
    cargo.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    context.check(name, cargo.args(["--no-deps", "--document-private-items"]))
}
