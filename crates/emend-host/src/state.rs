//! State that outlives a process: named JSON documents, in one directory per project, outside the project.
//!
//! The directory is `$XDG_STATE_HOME/emend/<hash of the root>`, or `~/.local/state/emend/<hash>` if the variable is not
//! set. Callers choose the documents.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use emend_agent::error_code::Code;
use emend_edit::ContentHash;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::SyncContent as _;

/// File that is locked by the process that uses the directory.
const LOCK: &str = "lock";

/// File with the path of the project, for users who look into the directory.
const ROOT: &str = "root";

/// The state of one project, locked while this value lives.
#[derive(Debug)]
pub struct StateDir {
    directory: PathBuf,
    /// The locked file, `None` for a reader. The system unlocks it when the process dies.
    lock: Option<File>,
}

impl Drop for StateDir {
    fn drop(&mut self) {
        // Closing is not enough: a child process between fork and exec has the file open too.
        if let Some(lock) = &self.lock {
            let _ = lock.unlock();
        }
    }
}

fn named(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// Time to wait for a process that has locked the state. Most commands take less.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two attempts to lock the state.
const STEP: Duration = Duration::from_millis(20);

/// The reason why state could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No directory for state is known.
    #[error("there is no directory for state; set XDG_STATE_HOME or HOME to an absolute path")]
    NoHome,
    /// Another process uses the state of the same project.
    #[error("another emend process{} has {} open; end it or wait for its end", named(*pid), root.display())]
    Busy {
        /// Root of the project.
        root: PathBuf,
        /// The other process, if it is known.
        pid: Option<u32>,
    },
    /// A document's name is empty, longer than 200 bytes, begins with `.`, or has other characters than ASCII letters, digits,
    /// `-`, `_` and `.`.
    #[error("{name:?} is not a valid name for a document; use letters, digits, `-`, `_` and `.`")]
    BadName {
        /// The rejected name.
        name: String,
    },
    /// A document exists but cannot be parsed.
    #[error("{} cannot be parsed: {source}; move it away to start anew", path.display())]
    Corrupt {
        /// Path of the document.
        path: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl StateError {
    /// Returns the stable error code.
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
    /// Opens and locks the state of the project at `root`, in the user's directory for state. Waits a short time for
    /// another process that has locked it.
    ///
    /// # Errors
    ///
    /// `NoHome`; `Busy` if another process has locked it; `Io`.
    pub fn open(root: &Path) -> Result<Self, StateError> {
        let home = home().ok_or(StateError::NoHome)?;
        Self::patiently(|| Self::open_in(&home, root))
    }

    /// Opens and locks the state of a project on another machine or in a container, in the user's directory for state on
    /// this one. `key` names the project; it is not an absolute path, so it never equals that of a project here.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_elsewhere(key: &str) -> Result<Self, StateError> {
        let home = home().ok_or(StateError::NoHome)?;
        Self::patiently(|| Self::open_named(&home, Path::new(key), false))
    }

    /// Returns the state of a project elsewhere for a reader, which needs no lock. It must not save anything.
    ///
    /// # Errors
    ///
    /// `NoHome`.
    pub fn elsewhere_for_reading(key: &str) -> Result<Self, StateError> {
        let home = home().ok_or(StateError::NoHome)?;
        Ok(Self { directory: directory_of(&home, Path::new(key)), lock: None })
    }

    /// Tries again for a short time while another process has locked the state.
    fn patiently(open: impl Fn() -> Result<Self, StateError>) -> Result<Self, StateError> {
        let begun = Instant::now();
        loop {
            match open() {
                Err(StateError::Busy { .. }) if begun.elapsed() < PATIENCE => std::thread::sleep(STEP),
                outcome => return outcome,
            }
        }
    }

    /// Opens and locks the state as [`open`](Self::open) does, but without waiting.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_at_once(root: &Path) -> Result<Self, StateError> {
        Self::open_in(&home().ok_or(StateError::NoHome)?, root)
    }

    /// Returns the state for a reader, which needs no lock. It must not save anything.
    ///
    /// # Errors
    ///
    /// `NoHome`, or `Io` if `root` does not exist.
    pub fn for_reading(root: &Path) -> Result<Self, StateError> {
        Ok(Self { directory: Self::location(root)?, lock: None })
    }

    /// Returns whether this is the state for a reader, which holds no lock.
    #[must_use]
    pub fn is_for_reading(&self) -> bool {
        self.lock.is_none()
    }

    /// Opens and locks the state of the project at `root` in `home`, the directory for the state of all projects.
    ///
    /// # Errors
    ///
    /// `Busy` if another process has locked it, or `Io`.
    pub fn open_in(home: &Path, root: &Path) -> Result<Self, StateError> {
        Self::open_as(home, root, false)
    }

    /// Opens the state for one of several servers, which keep other commands out and not each other. A server changes
    /// documents only while it holds [`change_lock`](Self::change_lock).
    ///
    /// # Errors
    ///
    /// As [`open_at_once`](Self::open_at_once).
    pub fn open_shared(root: &Path) -> Result<Self, StateError> {
        Self::open_as(&home().ok_or(StateError::NoHome)?, root, true)
    }

    pub(crate) fn open_as(home: &Path, root: &Path, is_shared: bool) -> Result<Self, StateError> {
        // A project has the same state under all its names.
        Self::open_named(home, &root.canonicalize().map_err(failed(root))?, is_shared)
    }

    /// Opens and locks the state of the project with this name: its canonical root, or a key.
    fn open_named(home: &Path, root: &Path, is_shared: bool) -> Result<Self, StateError> {
        let root = root.to_owned();
        let directory = directory_of(home, &root);
        create_private(&directory).map_err(failed(&directory))?;
        let path = directory.join(LOCK);
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(&path))?;
        match if is_shared { lock.try_lock_shared() } else { lock.try_lock() } {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // Some systems do not let others read a locked file.
                let pid = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
                return Err(StateError::Busy { root, pid });
            }
            Err(TryLockError::Error(source)) => return Err(StateError::Io { path, source }),
        }
        // The number only serves the error texts of other processes.
        let pid = format!("{:<10}\n", std::process::id());
        let _ = (&lock).write_all(pid.as_bytes());
        let path = directory.join(ROOT);
        let bytes = root.as_os_str().as_encoded_bytes();
        // Written only once: syncing takes longer than all other work before the first request.
        if fs::read(&path).ok().as_deref() != Some(bytes) {
            replace(&path, bytes).map_err(failed(&path))?;
            hide(home).map_err(failed(home))?;
        }
        Ok(Self { directory, lock: Some(lock) })
    }

    /// Returns whether the project at `root` has the document `name`, without locking or creating anything.
    #[must_use]
    pub fn holds(root: &Path, name: &str) -> bool {
        let directory = home().zip(root.canonicalize().ok()).map(|(home, root)| directory_of(&home, &root));
        directory.is_some_and(|directory| directory.join(format!("{name}.json")).is_file())
    }

    /// Returns the directory of the state of the project at `root`, without locking or creating anything. Another process may
    /// use it.
    ///
    /// # Errors
    ///
    /// `NoHome`, or `Io` if `root` does not exist.
    pub fn location(root: &Path) -> Result<PathBuf, StateError> {
        let home = home().ok_or(StateError::NoHome)?;
        Ok(directory_of(&home, &root.canonicalize().map_err(failed(root))?))
    }

    /// Returns the state in a directory whose lock file is locked.
    pub(crate) fn locked(directory: PathBuf, lock: File) -> Self {
        Self { directory, lock: Some(lock) }
    }

    /// Returns the directory, for messages.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the document `name`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// `BadName`; `Corrupt` if it is not JSON of type `T`; `Io`.
    pub fn load<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StateError> {
        let path = self.path(name)?;
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Io { path, source }),
        };
        serde_json::from_slice(&content).map(Some).map_err(|source| StateError::Corrupt { path, source })
    }

    /// Saves `document` as `name`, replacing the previous version. After a crash the old or the new version is there.
    ///
    /// # Errors
    ///
    /// `BadName`, or `Io`, which includes a `document` that cannot be encoded as JSON.
    pub fn save<T: Serialize + ?Sized>(&self, name: &str, document: &T) -> Result<(), StateError> {
        let path = self.path(name)?;
        let content = serde_json::to_vec(document).map_err(io::Error::from).map_err(failed(&path))?;
        replace(&path, &content).map_err(failed(&path))
    }

    /// Removes the document `name`. Returns whether it existed.
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
    /// `Io` if the directory cannot be read.
    pub fn names(&self) -> Result<Vec<String>, StateError> {
        let entries = fs::read_dir(&self.directory).map_err(failed(&self.directory))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, StateError> {
        let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || name.len() > 200 || !name.chars().all(is_word) {
            return Err(StateError::BadName { name: name.to_owned() });
        }
        Ok(self.directory.join(format!("{name}.json")))
    }
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    |source| StateError::Io { path, source }
}

/// Returns the directory for the state of all projects.
fn home() -> Option<PathBuf> {
    // The XDG specification says to ignore relative paths. They would also lead into the project.
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| {
        if cfg!(windows) { variable("LOCALAPPDATA") } else { variable("HOME").map(|home| home.join(".local/state")) }
    });
    state.map(|state| state.join("emend"))
}

/// Returns the directory for the state of the project at `root`, a canonical path.
fn directory_of(home: &Path, root: &Path) -> PathBuf {
    home.join(&ContentHash::of(root.as_os_str().as_encoded_bytes()).hex()[..32])
}

/// Creates a directory and its parents, readable only by this user, because state contains text of files.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Writes a `.gitignore` that hides `directory`. In a project that is a whole home directory, state is inside the project.
fn hide(directory: &Path) -> io::Result<()> {
    let rules = directory.join(".gitignore");
    if rules.exists() { Ok(()) } else { fs::write(rules, "*\n") }
}

/// Replaces a file's content. Only one process does so at a time, because the directory is locked.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_if(path, content, || true).map(drop)
}

/// Replaces a file's content if `may` agrees directly before. Returns whether it did.
pub(crate) fn replace_if(path: &Path, content: &[u8], may: impl FnOnce() -> bool) -> io::Result<bool> {
    let mut temporary = path.to_owned();
    temporary.as_mut_os_string().push(".new");
    // A new file: a process that lost its lock while it stood still may have the one before open, and writes on.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_content()?;
    if !may() {
        return Ok(false);
    }
    fs::rename(&temporary, path).map(|()| true)
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
    fn documents_outlive_a_run_and_are_outside_the_project() {
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
    fn each_project_has_its_own_state_under_all_its_names() {
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
    fn a_project_that_contains_its_state_does_not_find_it() {
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
    fn a_child_between_fork_and_exec_does_not_hold_the_lock() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        // A child between fork and exec has another handle of the same open file.
        let inherited = state.lock.as_ref().unwrap().try_clone().unwrap();
        drop(state);
        StateDir::open_in(&home, &root).unwrap();
        drop(inherited);
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_rejected() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        for name in ["", ".", "..", "../a", "a/b", "a\\b", ".hidden", "a b", "ä", &"x".repeat(201)] {
            assert_eq!(state.save(name, &1).unwrap_err().code().as_str(), "invalid_argument", "{name:?}");
        }
    }

    #[test]
    fn a_corrupt_document_is_reported_and_left_alone() {
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
    #[cfg(unix)]
    fn a_document_is_on_the_disk_before_it_has_its_name() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        state.save("a", &[1, 2, 3]).unwrap();
        crate::files::synced::check(&state.directory().join("a.json"));
    }

    #[test]
    fn an_interrupted_save_leaves_the_old_document() {
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        state.save("a", &1).unwrap();
        // A crash during the next save leaves this file.
        fs::write(state.directory().join("a.json.new"), "2").unwrap();
        assert_eq!(state.load("a").unwrap(), Some(1));
        assert_eq!(state.names().unwrap(), ["a"]);
        state.save("a", &3).unwrap();
        assert_eq!(state.load("a").unwrap(), Some(3));
    }

    #[cfg(unix)]
    #[test]
    fn other_users_cannot_read_the_state() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_around, home, root) = two();
        let state = StateDir::open_in(&home, &root).unwrap();
        assert_eq!(fs::metadata(state.directory()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
