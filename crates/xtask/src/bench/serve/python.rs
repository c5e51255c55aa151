//! A Python environment with the peer: an interpreter of a version that the peer accepts, and a pinned release from PyPI.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::process::{command, run, stdout_of, which};
use crate::progress::say;
use crate::repo::Repo;

/// The release of the peer.
pub(super) const VERSION: &str = "1.58.2";
/// Versions of Python for which the peer and its dependencies have wheels, best first.
const PYTHONS: [&str; 3] = ["3.12", "3.13", "3.14"];

/// Returns the folder of the peer's programs.
///
/// # Errors
/// The pinned release is not installed.
pub(super) fn programs(repo: &Repo) -> Result<PathBuf> {
    let folder = folder(repo).join("bin");
    let is_fit = installed(repo, &folder.join("python")).is_some_and(|version| version == VERSION);
    ensure!(is_fit, "{} has no release {VERSION}; `cargo xtask bench serve --peers` installs it", folder.display());
    Ok(folder)
}

/// Installs the pinned release, unless it is there.
pub(super) fn install(repo: &Repo) -> Result<()> {
    if programs(repo).is_ok() {
        return Ok(());
    }
    let found = interpreter(repo).context("it needs Python 3.12 or later; none is on PATH or in ~/.pyenv/versions")?;
    let folder = folder(repo);
    say!("installing openhands-agent-server {VERSION} for {} into {}", found.display(), folder.display());
    run(command(&found, repo.root()).args(["-m", "venv"]).arg(&folder))?;
    let mut pip = command(folder.join("bin/python"), repo.root());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // The parts of the peer have one version.
    let parts = ["agent-server", "sdk", "tools"];
    run(pip.args(parts.map(|part| format!("openhands-{part}=={VERSION}"))))
}

fn folder(repo: &Repo) -> PathBuf {
    repo.path("target/py312")
}

/// Returns the installed version of the peer.
fn installed(repo: &Repo, python: &Path) -> Option<String> {
    let code = "import importlib.metadata as m; print(m.version('openhands-agent-server'))";
    let printed = python.is_file().then(|| stdout_of(command(python, repo.root()).args(["-c", code])))?.ok()?;
    Some(printed.trim().to_owned())
}

/// Finds an interpreter: by the names on PATH, then among those of pyenv.
fn interpreter(repo: &Repo) -> Option<PathBuf> {
    let named = PYTHONS.iter().filter_map(|version| which(&format!("python{version}")));
    let home = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let folders = home.and_then(|home| std::fs::read_dir(home.join("versions")).ok()).into_iter().flatten().flatten();
    let mut pyenv: Vec<PathBuf> = folders.map(|folder| folder.path().join("bin/python")).collect();
    pyenv.sort();
    // A name on PATH can be a shim of pyenv that runs nothing.
    named.chain(pyenv).find(|python| is_fit(repo, python))
}

/// Returns whether a program is an interpreter of one of the versions that can make environments.
fn is_fit(repo: &Repo, python: &Path) -> bool {
    let code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])";
    let printed = stdout_of(command(python, repo.root()).args(["-c", code]));
    printed.is_ok_and(|printed| PYTHONS.contains(&printed.trim()))
}
