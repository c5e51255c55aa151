//! Commands on Windows: builds the tests of `emend-host` for Windows and runs those of commands in Wine.
//!
//! The step installs a compiler for Windows, mingw-w64 and Wine from Debian's packages. Where one of them cannot be
//! installed, it is skipped, and the reason is printed.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::context::Context;
use super::counts::Counts;
use super::native::worth_showing;
use crate::process::{command, run, stdout_of};
use crate::progress::say;
use crate::repo::Repo;
use crate::setup::windows::{LINKER, RUNNER, missing};
use crate::setup::{set_up_windows, std_source};

const TARGET: &str = "x86_64-pc-windows-gnu";

/// A library of Windows that Wine 8 lacks; Rust's standard library takes random numbers from it.
const RANDOM: &str = "#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }
";

pub(super) fn run_commands(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    set_up_windows(repo, has_compiler(repo));
    if let Some(program) = missing() {
        return Ok(skipped(&format!("{program} is not installed")));
    }
    let Some(programs) = compiler(repo)? else {
        return Ok(skipped(&format!(
            "no compiler here builds for {TARGET}: `rustup target add {TARGET}`, or Debian's rustc-web cargo-web rust-web-src"
        )));
    };
    let folder = repo.path("target/windows");
    add_random(&folder.join(TARGET).join("debug/deps"))?;
    let mut cargo = command(programs.cargo, repo.root());
    cargo.env("RUSTC", programs.rustc);
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", LINKER);
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", RUNNER);
    cargo.env("WINEPREFIX", repo.path("target/wine")).env("WINEDEBUG", "-all");
    cargo.args(["test", "--package", "emend-host", "--lib", "--target", TARGET, "--target-dir"]).arg(folder);
    cargo.args(["process::", "--", "--show-output"]);
    let output = context.program("windows", &mut cargo, worth_showing)?;
    Ok(Counts::from_libtest(&output.text).of_program(output.success))
}

fn skipped(reason: &str) -> Counts {
    say!("skipped: {reason}");
    Counts { skipped: 1, ..Counts::default() }
}

/// Whether a compiler has a standard library for Windows or can build one.
fn has_compiler(repo: &Repo) -> bool {
    has_library(repo, "rustc") || (DEBIAN.is_there() && (has_library(repo, DEBIAN.rustc) || has_source()))
}

/// A compiler with a standard library for Windows.
struct Programs {
    cargo: &'static str,
    rustc: &'static str,
}

const DEBIAN: Programs = Programs { cargo: "/usr/bin/cargo", rustc: "/usr/bin/rustc" };

impl Programs {
    fn is_there(&self) -> bool {
        Path::new(self.rustc).is_file() && Path::new(self.cargo).is_file()
    }
}

/// Finds a compiler: the one on PATH, or Debian's, for which the standard library is built from source.
fn compiler(repo: &Repo) -> Result<Option<Programs>> {
    let on_path = Programs { cargo: "cargo", rustc: "rustc" };
    if has_library(repo, on_path.rustc) {
        return Ok(Some(on_path));
    }
    if !DEBIAN.is_there() {
        return Ok(None);
    }
    if !has_library(repo, DEBIAN.rustc) {
        if !has_source() {
            return Ok(None);
        }
        std_source::build(repo, TARGET)?;
    }
    Ok(Some(DEBIAN))
}

fn has_source() -> bool {
    Path::new("/usr/lib/rustlib/src").exists()
}

fn has_library(repo: &Repo, rustc: &str) -> bool {
    let mut print = command(rustc, repo.root());
    let folder = stdout_of(print.args(["--print", "target-libdir", "--target", TARGET])).unwrap_or_default();
    let entries = std::fs::read_dir(folder.trim()).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Puts the library of random numbers beside the tests.
fn add_random(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    std::fs::write(folder.join("random.c"), RANDOM)?;
    run(command(LINKER, folder).args(["-shared", "-o", "bcryptprimitives.dll", "random.c", "-ladvapi32"]))
}
