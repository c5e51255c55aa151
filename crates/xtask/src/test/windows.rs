//! Commands on Windows: builds the tests of `emend-host` for Windows and runs those of commands in Wine.
//!
//! The step needs a compiler for Windows, mingw-w64 and Wine. Without one of them it is skipped, and the reason is
//! printed. On Debian these are the packages `rustc-web cargo-web rust-web-src gcc-mingw-w64-x86-64-win32 wine64`.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::context::Context;
use super::counts::Counts;
use super::native::worth_showing;
use crate::process::{command, run, stdout_of, which};
use crate::progress::say;
use crate::repo::Repo;
use crate::setup::std_source;

const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc";

/// A library of Windows that Wine 8 lacks; Rust's standard library takes random numbers from it.
const RANDOM: &str = "#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }
";

pub(super) fn run_commands(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let missing = [LINKER, "wine"].into_iter().find(|program| which(program).is_none());
    if let Some(program) = missing {
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
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
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

/// A compiler with a standard library for Windows.
struct Programs {
    cargo: &'static str,
    rustc: &'static str,
}

/// Finds a compiler: the one on PATH, or Debian's, for which the standard library is built from source.
fn compiler(repo: &Repo) -> Result<Option<Programs>> {
    let on_path = Programs { cargo: "cargo", rustc: "rustc" };
    if has_library(repo, on_path.rustc) {
        return Ok(Some(on_path));
    }
    let debian = Programs { cargo: "/usr/bin/cargo", rustc: "/usr/bin/rustc" };
    if !Path::new(debian.rustc).is_file() || !Path::new(debian.cargo).is_file() {
        return Ok(None);
    }
    if !has_library(repo, debian.rustc) {
        if !Path::new("/usr/lib/rustlib/src").exists() {
            return Ok(None);
        }
        std_source::build(repo, TARGET)?;
    }
    Ok(Some(debian))
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
