//! Paths of the checkout, its list of files, and the versions in its lock file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process::{command, stdout_of};

/// The crates without I/O; their tests run natively and in a browser.
pub(crate) const PURE_CRATES: [&str; 4] = ["emend-edit", "emend-llm", "emend-offline", "emend-agent"];

/// The checkout that the running xtask was built from.
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// Finds the checkout, two folders above this crate.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().with_context(|| format!("no checkout at {}", root.display()))?;
        Ok(Self { root })
    }

    /// The root folder of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the absolute path of a path relative to the checkout.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Folder of the installed tools, inside the build directory.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// Returns the build directory for wasm32 with these `target_features`.
    ///
    /// Each set of flags has its own directory: in a shared directory, each build would discard the artifacts of the
    /// other. The native directory belongs to the native compiler.
    pub(crate) fn wasm_target(&self, target_features: &[String]) -> PathBuf {
        let native = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let name = target_features.iter().fold("wasm".to_owned(), |name, feature| name + "-" + feature);
        self.root.join(native).join(name)
    }

    /// Returns every file that git tracks or would track, relative to the root folder.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut git = command("git", &self.root);
        let listed = stdout_of(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let files = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // git still lists a file whose deletion is not committed yet.
        Ok(files.filter(|file| self.root.join(file).is_file()).collect())
    }

    /// Copies the files of the checkout to `tree`, which is emptied first.
    pub(crate) fn copy_to(&self, tree: &Path) -> Result<()> {
        if tree.exists() {
            std::fs::remove_dir_all(tree).with_context(|| tree.display().to_string())?;
        }
        for file in self.files()? {
            let to = tree.join(&file);
            if let Some(folder) = to.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::copy(self.root.join(&file), &to).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    /// Returns the version of `package` in Cargo.lock.
    pub(crate) fn locked_version(&self, package: &str) -> Result<String> {
        let lock = std::fs::read_to_string(self.path("Cargo.lock")).context("Cargo.lock")?;
        let lock: LockFile = toml::from_str(&lock).context("Cargo.lock")?;
        let found = lock.package.into_iter().find(|entry| entry.name == package);
        found.map(|entry| entry.version).with_context(|| format!("Cargo.lock names no {package}"))
    }
}

#[derive(serde::Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(serde::Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
}
