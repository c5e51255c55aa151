//! The place of a project: the root of its git repository, and the directory below it in which the user works; or the
//! name of a place on another machine or in a container, which is examined when the project is opened.

use std::path::{Path, PathBuf};

use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_host::project_root;

use crate::failure::Failure;

/// The directory that the user names: on this machine, or elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The directory on this machine.
    pub(crate) root: PathBuf,
    /// The place elsewhere, as `--env` names it. It replaces the directory on this machine.
    pub(crate) elsewhere: Option<String>,
}

/// The directories of a project: its root, and the directory below it in which the user works.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The directory as the user named it.
    given: PathBuf,
    /// The root, canonical.
    root: PathBuf,
    /// The directory relative to the root.
    start: FilePath,
    /// The place elsewhere; the paths are then only names.
    elsewhere: Option<String>,
}

impl Place {
    /// Finds the project of the directory that the user names. A place elsewhere is not examined.
    pub(crate) fn of(start: &Start) -> Result<Self, Failure> {
        match &start.elsewhere {
            None => Self::here(&start.root),
            Some(_) if cfg!(not(unix)) => {
                let message =
                    "--env: this system leads to no other machines and containers; run emend on Linux or macOS";
                Err(Failure::new(Code::Unsupported, message))
            }
            Some(name) => Ok(Self {
                given: PathBuf::from(name),
                root: PathBuf::from(name),
                start: FilePath::root(),
                elsewhere: Some(name.clone()),
            }),
        }
    }

    /// Finds the project of a directory on this machine.
    pub(crate) fn here(start: &Path) -> Result<Self, Failure> {
        let failed = |what: String| {
            let message = format!("cannot open {}: {what}; give a directory with --root", start.display());
            Failure::new(Code::Configuration, message)
        };
        let root = project_root(start).map_err(|error| failed(error.to_string()))?;
        let below = start.canonicalize().map_err(|error| failed(error.to_string()))?;
        let below = below.strip_prefix(&root).unwrap_or(Path::new(""));
        let names = below.iter().map(|name| name.to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned())));
        let names: Vec<&str> = names.collect::<Result<_, _>>()?;
        let start_path = FilePath::clean(&names.join("/")).unwrap_or_default();
        Ok(Self { given: start.to_owned(), root, start: start_path, elsewhere: None })
    }

    /// Returns the name of the place, if it is not on this machine.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        self.elsewhere.as_deref()
    }

    /// Returns the directory `root` as a project of its own, even inside another one. `root` is canonical.
    pub(crate) fn apart(root: PathBuf) -> Self {
        Self { given: root.clone(), root, start: FilePath::root(), elsewhere: None }
    }

    /// Returns the directory in which the user works, as the user named it.
    pub(crate) fn given(&self) -> &Path {
        &self.given
    }

    /// Returns the directory in which the user works, relative to the root.
    pub(crate) fn start(&self) -> &FilePath {
        &self.start
    }

    /// Returns the root as the user would name it.
    pub(crate) fn root(&self) -> &Path {
        if self.start.is_root() { &self.given } else { &self.root }
    }

    /// Returns the directories from the root down to the one in which the user works, each with its path relative to the
    /// root. There are none on this machine for a place elsewhere.
    pub(crate) fn directories(&self) -> Vec<(PathBuf, FilePath)> {
        if self.elsewhere.is_some() {
            return Vec::new();
        }
        let parents = std::iter::successors(Some(self.start.clone()), FilePath::parent);
        let mut directories: Vec<_> = parents
            .map(|path| (if path == self.start { self.given.clone() } else { self.root.join(path.as_str()) }, path))
            .collect();
        directories.reverse();
        directories
    }
}
