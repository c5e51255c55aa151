//! `cargo xtask build`: the wasm modules, the npm package around them, and the page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::{command, run, stdout_of};
use crate::progress::{join, say, spawn_labelled};
use crate::repo::Repo;
use crate::settings::{Module, Settings};
use crate::toolchain::{TARGET, WasmToolchain, rust_flags};

mod outline;

/// Builds the wasm modules, the npm package and the page.
pub(crate) fn all(repo: &Repo) -> Result<()> {
    modules(repo)?;
    package(repo)?;
    page(repo)
}

/// Builds some wasm modules, by their names in wasm-pack.toml, and the npm package with the other modules as they are.
pub(crate) fn some(repo: &Repo, names: &[String]) -> Result<()> {
    let settings = Settings::read(repo)?;
    for name in names {
        match name.as_str() {
            "outline" => outline::build(repo, &settings.outline).map(drop)?,
            name => module(repo, settings.module(name)?).map(drop)?,
        }
    }
    package(repo)
}

/// Builds the npm package; its wasm modules must have been built.
pub(crate) fn package(repo: &Repo) -> Result<()> {
    script(repo, "pkg")
}

/// Builds the page; the npm package must have been built.
pub(crate) fn page(repo: &Repo) -> Result<()> {
    script(repo, "web")
}

/// Names the command line that a step of `cargo xtask test` has built for the program that it starts.
pub(crate) const BUILT_COMMAND_LINE: &str = "EMEND_CLI";

/// Builds the command line and returns its path.
pub(crate) fn command_line(repo: &Repo) -> Result<PathBuf> {
    if let Some(built) = std::env::var_os(BUILT_COMMAND_LINE) {
        return Ok(built.into());
    }
    build_command_line(repo, &[])
}

/// Returns the command line as `cargo test --workspace` builds it.
///
/// Tests have the features of their own dependencies, too, and those of the whole workspace add up. Without an example in the
/// selection, cargo would leave these features out and compile most crates again.
pub(crate) fn command_line_of_tests(repo: &Repo) -> Result<PathBuf> {
    build_command_line(repo, &["--example", "smoke"])
}

fn build_command_line(repo: &Repo, others: &[&str]) -> Result<PathBuf> {
    run(command("cargo", repo.root()).args(["build", "--quiet", "--workspace", "--bin", "emend"]).args(others))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(repo.root().join(target).join("debug").join(format!("emend{}", std::env::consts::EXE_SUFFIX)))
}

/// The two files that a page loads for a wasm module.
pub(crate) struct Built {
    pub(crate) wasm: PathBuf,
    pub(crate) glue: PathBuf,
}

/// The wasm modules of the package.
pub(crate) struct Modules {
    pub(crate) core: Built,
    pub(crate) edit: Built,
    pub(crate) llm: Built,
    pub(crate) offline: Built,
    pub(crate) regex: Built,
    pub(crate) shell: Built,
    pub(crate) service: Built,
    /// The modules of outlines, with their languages.
    pub(crate) outlines: Vec<(String, PathBuf)>,
}

/// Builds every wasm module.
///
/// Modules with the same target features share a build directory and are built in turn. The two groups are built side
/// by side, because linking, which takes half of the time, uses one core.
pub(crate) fn modules(repo: &Repo) -> Result<Modules> {
    let Settings { core, edit, llm, offline, regex, shell, service, outline, .. } = Settings::read(repo)?;
    let with_vectors =
        || Ok((module(repo, &core)?, module(repo, &edit)?, module(repo, &regex)?, module(repo, &service)?));
    let plain = || {
        let (llm, offline, shell) = (module(repo, &llm)?, module(repo, &offline)?, module(repo, &shell)?);
        Ok((llm, offline, shell, outline::build(repo, &outline)?))
    };
    let (with_vectors, plain): (Result<_>, Result<_>) = thread::scope(|scope| {
        let plain = spawn_labelled(scope, plain);
        (with_vectors(), join(plain))
    });
    let ((core, edit, regex, service), (llm, offline, shell, outlines)) = (with_vectors?, plain?);
    Ok(Modules { core, edit, llm, offline, regex, shell, service, outlines })
}

/// Builds the module with the agent.
pub(crate) fn core(repo: &Repo) -> Result<Built> {
    module(repo, &Settings::read(repo)?.core)
}

/// Builds a module: cargo, then wasm-bindgen for the glue, then wasm-opt for the size.
fn module(repo: &Repo, settings: &Module) -> Result<Built> {
    let out_dir = repo.path(&settings.out_dir);
    let compiled = timed(&format!("{}: cargo", settings.out_name), || compile(repo, settings))?;
    timed(&format!("{}: wasm-bindgen", settings.out_name), || bind(repo, settings, &compiled, &out_dir))?;
    let wasm = out_dir.join(format!("{}_bg.wasm", settings.out_name));
    timed(&format!("{}: wasm-opt", settings.out_name), || optimise(repo, &settings.wasm_opt, &wasm))?;
    if settings.similar_functions_together {
        timed(&format!("{}: order", settings.out_name), || order(repo, settings, &wasm))?;
    }
    let built = Built { glue: out_dir.join(format!("{}.js", settings.out_name)), wasm };
    for file in [&built.wasm, &built.glue] {
        let found = Inspection::of(repo, file)?;
        say!("{}: {} bytes, {} with brotli", file.display(), found.bytes, found.brotli);
    }
    Ok(built)
}

fn compile(repo: &Repo, module: &Module) -> Result<PathBuf> {
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, "rustc", &module.target_features);
    cargo.env("RUSTFLAGS", without_paths(repo) + &rust_flags(&module.target_features));
    cargo.args(["--no-default-features", "--features", &module.features.join(",")]);
    cargo.args(["--quiet", "--lib", "--package", &module.package, "--profile", &module.profile]);
    for (package, level) in &module.opt_level {
        cargo.args(["--config", &format!("profile.{}.package.{package}.opt-level={level}", module.profile)]);
    }
    if let Some(bytes) = module.stack_bytes {
        cargo.args(["--", "-C", &format!("link-arg=-zstack-size={bytes}")]);
    }
    run(&mut cargo)?;
    let file = format!("{TARGET}/{}/{}.wasm", module.profile, module.package.replace('-', "_"));
    Ok(repo.wasm_target(&module.target_features).join(file))
}

/// Returns compiler flags that keep local source paths out of the panic messages of shipped modules.
fn without_paths(repo: &Repo) -> String {
    let cargo_home =
        std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap_or_default()));
    let root = repo.root().display();
    format!("--remap-path-prefix={cargo_home}/registry/src=registry --remap-path-prefix={root}=emend")
}

fn bind(repo: &Repo, module: &Module, compiled: &Path, out_dir: &Path) -> Result<()> {
    let mut bindgen = command(repo.tools().join("bin/wasm-bindgen"), repo.root());
    bindgen.args(&module.wasm_bindgen).args(["--out-name", &module.out_name, "--out-dir"]).arg(out_dir);
    run(bindgen.arg(compiled)).context("wasm-bindgen; `cargo xtask setup` installs it")
}

fn optimise(repo: &Repo, arguments: &[String], wasm: &Path) -> Result<()> {
    // From npm: the binaryen of a distribution is often too old for the output of current compilers.
    let program = repo.tools().join("npm/node_modules/binaryen/bin/wasm-opt");
    if !program.is_file() {
        bail!("wasm-opt is missing; `cargo xtask setup` installs it");
    }
    run(command("node", repo.root()).arg(program).args(arguments).arg(wasm).arg("-o").arg(wasm))
}

/// Puts similar functions next to each other, and removes the columns from the places that panics name.
fn order(repo: &Repo, module: &Module, wasm: &Path) -> Result<()> {
    run(command("node", repo.root()).arg(repo.path("crates/xtask/js/columns.mjs")).arg(wasm))?;
    // The script gives names, because wasm-opt orders functions by their names alone. The names are not written.
    run(command("node", repo.root()).arg(repo.path("crates/xtask/js/order.mjs")).arg(wasm))?;
    let features = module.wasm_opt.iter().filter(|argument| argument.starts_with("--enable-")).cloned();
    let arguments: Vec<String> = ["--reorder-functions-by-name".to_owned()].into_iter().chain(features).collect();
    optimise(repo, &arguments, wasm)
}

/// Runs the `build` script of a folder's package.json.
fn script(repo: &Repo, folder: &str) -> Result<()> {
    timed(folder, || run(command("npm", &repo.path(folder)).args(["run", "--silent", "build"])))
}

fn timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let done = work().with_context(|| format!("{name} failed"))?;
    say!("{name}: done ({:.1} s)", started.elapsed().as_secs_f64());
    Ok(done)
}

/// Size and imports of a built file, as Node reports them.
#[derive(Clone, Deserialize)]
pub(crate) struct Inspection {
    pub(crate) bytes: u64,
    /// Bytes after brotli with its highest quality.
    pub(crate) brotli: u64,
    /// Names of the modules that a wasm module imports from; empty for other files.
    pub(crate) import_modules: Vec<String>,
}

impl Inspection {
    /// Measures the file in Node, and compiles it if it is a wasm module.
    ///
    /// Brotli takes ten seconds for the largest module, so a file that has not changed is measured once.
    pub(crate) fn of(repo: &Repo, file: &Path) -> Result<Self> {
        static KNOWN: Mutex<BTreeMap<(PathBuf, SystemTime), Inspection>> = Mutex::new(BTreeMap::new());
        let modified =
            file.metadata().and_then(|found| found.modified()).with_context(|| file.display().to_string())?;
        let key = (file.to_owned(), modified);
        if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let script = repo.path("crates/xtask/js/inspect.mjs");
        let json = stdout_of(command("node", repo.root()).arg(script).arg(file))?;
        let found: Self = serde_json::from_str(&json).context("inspect.mjs")?;
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
        Ok(found)
    }
}
