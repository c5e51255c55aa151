//! The peers from npm, installed by `cargo xtask bench --peers`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::process::{command, run};
use crate::repo::Repo;

/// Folder of the peers of the agent and of editing.
pub(super) fn folder(repo: &Repo) -> PathBuf {
    repo.path("target/peers")
}

/// Folder of the peers of the model client, which are many and need versions of their own.
pub(super) fn llm_folder(repo: &Repo) -> PathBuf {
    repo.path("target/peers-llm")
}

/// Installs both.
pub(super) fn install(repo: &Repo) -> Result<()> {
    install_into(repo, "peers", &folder(repo))?;
    install_into(repo, "peers-llm", &llm_folder(repo))
}

fn install_into(repo: &Repo, name: &str, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(repo.path("crates/xtask").join(name).join(file), folder.join(file)).context(file)?;
    }
    run(command("npm", folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))
}
