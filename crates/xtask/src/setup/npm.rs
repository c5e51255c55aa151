//! npm packages: the build tools, and those of the package, the page and the tests in Node.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::outcome::Done;
use crate::process::{command, run, which};
use crate::repo::Repo;

/// A folder whose package.json names packages to install.
pub(crate) struct Package {
    folder: PathBuf,
    name: String,
}

/// Returns the folders of the checkout that have a package.json, and the one for the build tools.
pub(crate) fn packages(repo: &Repo) -> Result<Vec<Package>> {
    let tools = repo.tools().join("npm");
    std::fs::create_dir_all(&tools)?;
    for file in ["package.json", "package-lock.json"] {
        let source = repo.path("crates/xtask/npm").join(file);
        std::fs::copy(&source, tools.join(file)).with_context(|| source.display().to_string())?;
    }
    let mut packages = vec![Package { folder: tools, name: "build tools".to_owned() }];
    for name in ["pkg", "web", "tests/e2e", "tests/http", "tests/bundlers", "tests/reference"] {
        let folder = repo.path(name);
        if folder.join("package.json").is_file() {
            packages.push(Package { folder, name: name.to_owned() });
        }
    }
    Ok(packages)
}

impl Package {
    pub(crate) fn label(&self) -> String {
        format!("npm packages of {}", self.name)
    }

    /// Installs exactly what the lock file says, unless that was the last thing installed here.
    pub(crate) fn install(&self) -> Result<Done> {
        let stamp = self.folder.join("node_modules/.installed-from");
        let wanted = self.wanted()?;
        if std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Done::Skipped("what the lock file names".to_owned()));
        }
        if which("npm").is_none() {
            return Ok(Done::Missing("install Node.js 20.19 or later with npm".to_owned()));
        }
        let locked = self.folder.join("package-lock.json").is_file();
        run(command("npm", &self.folder).args([
            if locked { "ci" } else { "install" },
            "--no-audit",
            "--no-fund",
            "--silent",
        ]))?;
        if let Some(folder) = stamp.parent().filter(|folder| !folder.exists()) {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())?;
        Ok(Done::Installed("what the lock file names".to_owned()))
    }

    /// Returns the contents of the files that decide the installed versions.
    fn wanted(&self) -> Result<Vec<u8>> {
        let mut wanted = read(&self.folder.join("package.json"))?;
        let lock = self.folder.join("package-lock.json");
        if lock.is_file() {
            wanted.extend(read(&lock)?);
        }
        Ok(wanted)
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| file.display().to_string())
}
