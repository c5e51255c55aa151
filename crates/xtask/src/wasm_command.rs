//! `cargo xtask wasm`: cargo with the compiler, linker and test runner for wasm32.

use anyhow::{Result, bail};

use crate::repo::Repo;
use crate::settings::Settings;
use crate::setup::browser::Browser;
use crate::toolchain::WasmToolchain;

/// Runs cargo for wasm32 with these arguments; `Ok(false)` when cargo fails.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let Some((subcommand, rest)) = arguments.split_first() else {
        bail!("missing cargo command; example: `cargo xtask wasm check -p emend-edit`");
    };
    let features = Settings::read(repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, subcommand, &features);
    Browser::find().set_up_tests(repo, &mut cargo);
    Ok(cargo.args(rest).status()?.success())
}
