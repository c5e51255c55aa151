//! Where things are in the checkout, and what its lock file pins.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process::{command, stdout_of};

/// The crates that do no I/O of their own; their tests run in a browser as well.
pub(crate) const PURE_CRATES: [&str; 3] = ["emend-edit", "emend-llm", "emend-agent"];

/// The checkout that the running xtask was built from.
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// Finds the checkout: two folders above this crate.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().with_context(|| format!("no checkout at {}", root.display()))?;
        Ok(Self { root })
    }

    /// The checkout's first folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path given relative to the checkout.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where tools are installed, apart from anything of the user's.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// The build directory for wasm32 with some `target_features`. Two compilers share nothing, so it is never the native
    /// one; and of two sets of flags in one directory, each build throws away what the other made.
    pub(crate) fn wasm_target(&self, target_features: &[String]) -> PathBuf {
        let native = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let name = target_features.iter().fold("wasm".to_owned(), |name, feature| name + "-" + feature);
        self.root.join(native).join(name)
    }

    /// Every file of the checkout that git tracks or would, given relative to its first folder.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut git = command("git", &self.root);
        let listed = stdout_of(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let files = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // A file that was deleted but not yet committed as such is still listed.
        Ok(files.filter(|file| self.root.join(file).is_file()).collect())
    }

    /// Copies those files, as they are now, to an empty folder in the place of `tree`.
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

    /// The version of `package` that Cargo.lock pins.
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
