//! Embeds the SQL of Absurd, if `cargo xtask setup` has fetched it.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(absurd)");
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let file = manifest.join("../../target/absurd/absurd-0.5.1.sql");
    println!("cargo::rerun-if-changed={}", file.display());
    if Path::new(&file).exists() {
        println!("cargo::rustc-cfg=absurd");
        println!("cargo::rustc-env=EMEND_ABSURD_SQL={}", file.display());
    }
}
