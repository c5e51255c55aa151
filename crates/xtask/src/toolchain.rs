//! Finds a compiler for wasm32 and calls cargo with it.
//!
//! Two compilers are supported: the Rust on PATH with its wasm32 target, and Debian's `rustc-web` packages, for which
//! [`crate::setup`] builds the standard library. Both are called by their full names, never by the order of PATH.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{self, command, succeeds, which};
use crate::repo::Repo;

/// The wasm target of this project.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Folder in which Debian's compiler looks for the standard library of a target.
pub(crate) const DEBIAN_RUSTLIB: &str = "/usr/lib/rustlib";

/// A compiler for wasm32 and the linker that it needs.
#[derive(Clone, Debug)]
pub(crate) enum WasmToolchain {
    /// The compiler on PATH; its target was added.
    OnPath,
    /// Debian's `rustc-web`, which has no linker of its own.
    Debian {
        /// A wasm linker of another package.
        linker: PathBuf,
    },
}

impl WasmToolchain {
    /// Finds a compiler by compiling an empty library to a wasm module.
    pub(crate) fn find(repo: &Repo) -> Option<Self> {
        let on_path = Some(Self::OnPath).filter(|found| found.builds_a_module(repo));
        on_path.or_else(|| Self::debian(repo).filter(|found| found.builds_a_module(repo)))
    }

    /// As [`Self::find`]; a missing compiler is an error.
    pub(crate) fn require(repo: &Repo) -> Result<Self> {
        Self::find(repo).context("no compiler here builds for wasm32: run `cargo xtask setup`")
    }

    /// Debian's toolchain, when its compiler and a linker for it are here; its standard library may be missing.
    pub(crate) fn debian(repo: &Repo) -> Option<Self> {
        let linker = find_linker(repo)?;
        Path::new("/usr/bin/rustc").is_file().then_some(Self::Debian { linker })
    }

    /// Describes the toolchain for progress lines.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::OnPath => format!("the Rust on PATH, with its {TARGET} target"),
            Self::Debian { linker } => format!("Debian's /usr/bin/rustc, linking with {}", linker.display()),
        }
    }

    fn rustc(&self) -> &'static str {
        match self {
            Self::OnPath => "rustc",
            Self::Debian { .. } => "/usr/bin/rustc",
        }
    }

    /// Returns a cargo call for wasm32 with these target features and their build directory; the caller adds arguments.
    pub(crate) fn cargo(&self, repo: &Repo, subcommand: &str, target_features: &[String]) -> Command {
        let mut cargo = match (self, subcommand) {
            // `cargo clippy` of Debian would run the first cargo-clippy on PATH, which belongs to rustup.
            (Self::Debian { .. }, "clippy") => {
                let mut clippy = command("/usr/bin/cargo-clippy", repo.root());
                clippy.env("CARGO", "/usr/bin/cargo");
                clippy
            }
            (Self::Debian { .. }, _) => command("/usr/bin/cargo", repo.root()),
            (Self::OnPath, _) => command("cargo", repo.root()),
        };
        if let Self::Debian { linker } = self {
            cargo.env("RUSTC", self.rustc()).env("RUSTDOC", "/usr/bin/rustdoc");
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        cargo.env("RUSTFLAGS", rust_flags(target_features));
        cargo.arg(subcommand).args(["--target", TARGET, "--target-dir"]).arg(repo.wasm_target(target_features));
        cargo
    }

    fn builds_a_module(&self, repo: &Repo) -> bool {
        // Modules are built side by side, and all probes use the same files.
        static ONE_PROBE: Mutex<()> = Mutex::new(());
        let _one_at_a_time = ONE_PROBE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = repo.tools().join("probe");
        let source = folder.join("probe.rs");
        if std::fs::create_dir_all(&folder).is_err() || std::fs::write(&source, "").is_err() {
            return false;
        }
        let mut rustc = command(self.rustc(), &folder);
        rustc.args(["--target", TARGET, "--crate-type", "cdylib", "-o", "probe.wasm", "probe.rs"]);
        if let Self::Debian { linker } = self {
            rustc.arg("-C").arg(format!("linker={}", linker.display()));
        }
        succeeds(&mut rustc, Duration::from_secs(60)) && self.has_test_crate(repo)
    }

    /// Tells whether the standard library has the `test` crate; a library built from source may lack it.
    fn has_test_crate(&self, repo: &Repo) -> bool {
        let mut rustc = command(self.rustc(), repo.root());
        let Ok(folder) = process::stdout_of(rustc.args(["--print", "target-libdir", "--target", TARGET])) else {
            return false;
        };
        let Ok(entries) = std::fs::read_dir(folder.trim()) else {
            return false;
        };
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libtest-"))
    }
}

/// Returns the compiler flags that allow these instructions.
pub(crate) fn rust_flags(target_features: &[String]) -> String {
    target_features.iter().map(|feature| format!(" -Ctarget-feature=+{feature}")).collect()
}

/// The names of clang, and of Debian's versions without the package that gives it its name.
const CLANGS: [&str; 3] = ["clang", "clang-19", "clang-14"];

/// Returns a clang that compiles for wasm32, which Apple's does not. `EMEND_CLANG` names another.
pub(crate) fn find_clang(repo: &Repo) -> Option<String> {
    let given = std::env::var("EMEND_CLANG").ok();
    let mut names = given.into_iter().chain(CLANGS.map(str::to_owned));
    names.find(|name| {
        let mut probe = command(name, repo.root());
        probe.args(["--target=wasm32-unknown-unknown", "-x", "c", "-S", "-o", "-", "/dev/null"]);
        succeeds(&mut probe, Duration::from_secs(20))
    })
}

/// Finds a linker for wasm: the one inside the Rust on PATH, or LLVM's.
fn find_linker(repo: &Repo) -> Option<PathBuf> {
    rust_lld(repo).or_else(|| ["wasm-ld", "wasm-ld-22"].into_iter().find_map(which))
}

fn rust_lld(repo: &Repo) -> Option<PathBuf> {
    let sysroot = process::stdout_of(command("rustc", repo.root()).args(["--print", "sysroot"])).ok()?;
    let version = process::stdout_of(command("rustc", repo.root()).arg("-vV")).ok()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
    linker.is_file().then_some(linker)
}
