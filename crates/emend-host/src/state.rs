//! What outlives a run: named JSON documents, one directory per project, outside the project.
//!
//! The directory is `$XDG_STATE_HOME/emend/<hash of the root>`, `~/.local/state/emend/…` where that is not set. Which
//! documents there are is up to callers.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_edit::ContentHash;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where the process that uses a directory says so.
const LOCK: &str = "lock";

/// What a project's directory says of whose it is, for people who look at it.
const ROOT: &str = "root";

/// The state of one project, locked for as long as this lives.
#[derive(Debug)]
pub struct StateDir {
    directory: PathBuf,
    /// Locked; the system unlocks it when the process dies.
    lock: File,
}

impl Drop for StateDir {
    fn drop(&mut self) {
        // Closing it would do, were there not the moment in which a process that is being started has it open too.
        let _ = self.lock.unlock();
    }
}

/// Why state could not be opened, read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is nowhere to keep it.
    #[error("there is no directory for state; set XDG_STATE_HOME or HOME")]
    NoHome,
    /// Another process works on the same project.
    #[error("another emend process is at work on {}; wait for it or stop it", root.display())]
    Busy {
        /// The project.
        root: PathBuf,
    },
    /// A document's name is not one word of letters, digits, `-`, `_` and `.`.
    #[error("{name:?} cannot name a document")]
    BadName {
        /// The name.
        name: String,
    },
    /// A document is there and makes no sense.
    #[error("{} cannot be read: {source}; move it away to start afresh", path.display())]
    Corrupt {
        /// The document.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl StateError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoHome => Code::Configuration,
            Self::Busy { .. } => Code::Busy,
            Self::BadName { .. } => Code::InvalidArgument,
            Self::Corrupt { .. } | Self::Io { .. } => Code::IoError,
        }
    }
}

impl StateDir {
    /// Opens and locks the state of the project at `root`, where the user keeps such things.
    ///
    /// # Errors
    ///
    /// `NoHome`, `Busy` if another process has it, or `Io`.
    pub fn open(root: &Path) -> Result<Self, StateError> {
        Self::open_in(&home().ok_or(StateError::NoHome)?, root)
    }

    /// Opens and locks the state of the project at `root` under `home`, the place for the state of all projects.
    ///
    /// # Errors
    ///
    /// `Busy` if another process has it, or `Io`.
    pub fn open_in(home: &Path, root: &Path) -> Result<Self, StateError> {
        // The same project by any of its names.
        let root = root.canonicalize().map_err(failed(root))?;
        let directory = directory_of(home, &root);
        create_private(&directory).map_err(failed(&directory))?;
        let path = directory.join(LOCK);
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateError::Busy { root }),
            Err(TryLockError::Error(source)) => return Err(StateError::Io { path, source }),
        }
        let path = directory.join(ROOT);
        let bytes = root.as_os_str().as_encoded_bytes();
        // Written and synced once: that takes longer than all else that happens before the first request is sent.
        if fs::read(&path).ok().as_deref() != Some(bytes) {
            replace(&path, bytes).map_err(failed(&path))?;
            hide(home).map_err(failed(home))?;
        }
        Ok(Self { directory, lock })
    }

    /// Returns whether the project at `root` keeps the document `name`, without locking or making anything.
    #[must_use]
    pub fn holds(root: &Path, name: &str) -> bool {
        let directory = home().zip(root.canonicalize().ok()).map(|(home, root)| directory_of(&home, &root));
        directory.is_some_and(|directory| directory.join(format!("{name}.json")).is_file())
    }

    /// Returns where the state of the project at `root` is kept, without locking or making anything. What is there may
    /// be in use by another process.
    ///
    /// # Errors
    ///
    /// `NoHome`, or `Io` if there is no such project.
    pub fn location(root: &Path) -> Result<PathBuf, StateError> {
        let home = home().ok_or(StateError::NoHome)?;
        Ok(directory_of(&home, &root.canonicalize().map_err(failed(root))?))
    }

    /// Returns the directory, for messages.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the document `name`, `None` if there is none.
    ///
    /// # Errors
    ///
    /// `BadName`, `Corrupt` if it is not what was asked for, or `Io`.
    pub fn load<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let path = self.path(name)?;
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Io { path, source }),
        };
        serde_json::from_slice(&content).map(Some).map_err(|source| StateError::Corrupt { path, source })
    }

    /// Keeps `document` as `name`, in place of what was kept before: after a crash it is the old one or the new one.
    ///
    /// # Errors
    ///
    /// `BadName`, or `Io`, also if `document` cannot be written as JSON.
    pub fn save<T: Serialize + ?Sized>(&self, name: &str, document: &T) -> Result<(), StateError> {
        let path = self.path(name)?;
        let content = serde_json::to_vec(document).map_err(io::Error::from).map_err(failed(&path))?;
        replace(&path, &content).map_err(failed(&path))
    }

    /// Forgets the document `name`. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// `BadName` or `Io`.
    pub fn remove(&self, name: &str) -> Result<bool, StateError> {
        let path = self.path(name)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StateError::Io { path, source }),
        }
    }

    /// Returns the names of all documents, sorted.
    ///
    /// # Errors
    ///
    /// `Io`.
    pub fn names(&self) -> Result<Vec<String>, StateError> {
        let entries = fs::read_dir(&self.directory).map_err(failed(&self.directory))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn path(&self, name: &str) -> Result<PathBuf, StateError> {
        let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || name.len() > 200 || !name.chars().all(is_word) {
            return Err(StateError::BadName { name: name.to_owned() });
        }
        Ok(self.directory.join(format!("{name}.json")))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    |source| StateError::Io { path, source }
}

/// Returns where the state of all projects is kept.
fn home() -> Option<PathBuf> {
    // A relative path is to be ignored, says the XDG specification; it would also lead into the project.
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| {
        if cfg!(windows) { variable("LOCALAPPDATA") } else { variable("HOME").map(|home| home.join(".local/state")) }
    });
    state.map(|state| state.join("emend"))
}

/// Returns where the state of the project at `root`, links followed, is kept.
fn directory_of(home: &Path, root: &Path) -> PathBuf {
    home.join(&ContentHash::of(root.as_os_str().as_encoded_bytes()).hex()[..32])
}

/// Makes a directory, and those above it, that nobody else may look into: state holds what files held.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Keeps tools and git from finding what is in `directory`: whoever works on a whole home directory has it in the project.
fn hide(directory: &Path) -> io::Result<()> {
    let rules = directory.join(".gitignore");
    if rules.exists() { Ok(()) } else { fs::write(rules, "*\n") }
}

/// Puts `content` in the place of a file. Only one process does so at a time: the directory is locked.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.to_owned();
    temporary.as_mut_os_string().push(".new");
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use emend_agent::environment::{DirEntry, ExecutionEnvironment as _, FilePath};
    use futures::executor::block_on;
    use tempfile::TempDir;

    use super::*;
    use crate::LocalEnvironment;

    fn two() -> (TempDir, PathBuf, PathBuf) {
        let around = TempDir::new().unwrap();
        let (home, root) = (around.path().join("home/emend"), around.path().join("project"));
        fs::create_dir(&root).unwrap();
        (around, home, root)
    }

    #[test]
    fn documents_are_kept_between_runs_outside_the_project() {
        let (_around, home, root) = two();
        let document = BTreeMap::from([("a".to_owned(), 1), ("é".to_owned(), 2)]);
        let state = StateDir::open_in(&home, &root).unwrap();
        assert_eq!(state.load::<BTreeMap<String, i32>>("workspace").unwrap(), None);
        state.save("workspace", &document).unwrap();
        state.save("session-1.draft", "text").unwrap();
        drop(state);
        let state = StateDir::open_in(&home, &root).unwrap();
        assert_eq!(state.load("workspace").unwrap(), Some(document));
        assert_eq!(state.names().unwrap(), ["session-1.draft", "workspace"]);
        assert!(state.remove("workspace").unwrap() && !state.remove("workspace").unwrap());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        assert_eq!(
            fs::read_to_string(state.directory().join(ROOT)).unwrap(),
            root.canonicalize().unwrap().to_str().unwrap()
        );
    }

    #[test]
    fn each_project_has_its_own_by_any_of_its_names() {
        let (around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        state.save("a", &1).unwrap();
        let other = around.path().join("other");
        fs::create_dir(&other).unwrap();
        assert_eq!(StateDir::open_in(&home, &other).unwrap().load::<i32>("a").unwrap(), None);
        drop(state);
        let roundabout = other.join("../project/.");
        assert_eq!(StateDir::open_in(&home, &roundabout).unwrap().load("a").unwrap(), Some(1));
    }

    #[test]
    fn a_project_around_its_own_state_does_not_find_it() {
        let (_around, _, root) = two();
        fs::write(root.join("a.txt"), "needle\n").unwrap();
        let state = StateDir::open_in(&root.join("state/emend"), &root).unwrap();
        state.save("needle", &"needle").unwrap();
        let files = LocalEnvironment::new(&root).unwrap();
        let paths = |found: Vec<DirEntry>| found.into_iter().map(|entry| entry.path.to_string()).collect::<Vec<_>>();
        assert_eq!(paths(block_on(files.glob(&FilePath::root(), "**/*")).unwrap()), ["a.txt"]);
        let stamps = block_on(files.manifest()).unwrap();
        assert_eq!(stamps.iter().map(|stamp| stamp.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    }

    #[test]
    fn one_process_at_a_time() {
        let (_around, home, root) = two();
        let first = StateDir::open_in(&home, &root).unwrap();
        let second = StateDir::open_in(&home, &root).unwrap_err();
        assert_eq!(second.code().as_str(), "busy");
        assert!(second.to_string().contains("project"), "{second}");
        drop(first);
        StateDir::open_in(&home, &root).unwrap();
    }

    #[test]
    fn a_process_that_is_being_started_holds_no_lock_back() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        // What a child has between fork and exec: another handle of the same open file.
        let inherited = state.lock.try_clone().unwrap();
        drop(state);
        StateDir::open_in(&home, &root).unwrap();
        drop(inherited);
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        for name in ["", ".", "..", "../a", "a/b", "a\\b", ".hidden", "a b", "ä", &"x".repeat(201)] {
            assert_eq!(state.save(name, &1).unwrap_err().code().as_str(), "invalid_argument", "{name:?}");
        }
    }

    #[test]
    fn a_document_that_makes_no_sense_is_named_and_left_alone() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        let path = state.directory().join("a.json");
        fs::write(&path, "{\"a\": ").unwrap();
        let error = state.load::<BTreeMap<String, i32>>("a").unwrap_err();
        assert_eq!(error.code().as_str(), "io_error");
        assert!(error.to_string().contains("a.json"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": ");
    }

    #[test]
    fn a_save_that_broke_off_leaves_the_old_document() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        state.save("a", &1).unwrap();
        // What a crash in the middle of the next save leaves.
        fs::write(state.directory().join("a.json.new"), "2").unwrap();
        assert_eq!(state.load("a").unwrap(), Some(1));
        assert_eq!(state.names().unwrap(), ["a"]);
        state.save("a", &3).unwrap();
        assert_eq!(state.load("a").unwrap(), Some(3));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_look() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        assert_eq!(fs::metadata(state.directory()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
