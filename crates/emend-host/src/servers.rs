//! State that several servers of one project share: the lock of changes, and a directory of its own for each server.
//!
//! The system ends a lock with its process, so a killed server leaves nothing locked.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use emend_agent::environment::EnvError;
use emend_llm::Clock as _;

use crate::clock::SystemClock;
use crate::commit::{self, CommitError};
use crate::local::LocalEnvironment;
use crate::state::{StateDir, StateError, create_private, failed};

/// File that is locked by the server that changes files of the project.
const CHANGES: &str = "changes.lock";

/// Directory with the directories of the servers.
const SERVERS: &str = "servers";

/// The most servers of one project on one computer.
const SERVERS_MAX: u32 = 256;

/// Time to wait for a server that changes files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two tries in milliseconds. Servers also take turns in the database, so a second try is rare.
const STEP_MS: u64 = 2;

/// The right of one server to change the files of a project and the shared documents, until it is dropped.
#[derive(Debug)]
pub struct ChangeLock {
    file: File,
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        // As in StateDir: a child process between fork and exec has the file open too.
        let _ = self.file.unlock();
    }
}

impl StateDir {
    /// Waits until no other server changes the project.
    ///
    /// # Errors
    ///
    /// The lock could not be taken within a minute.
    pub async fn change_lock(&self) -> Result<ChangeLock, EnvError> {
        let path = self.directory().join(CHANGES);
        let failed = |reason: String| EnvError::Io { path: path.display().to_string(), reason };
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(|error| failed(error.to_string()))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(ChangeLock { file }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => SystemClock.sleep(STEP_MS).await,
                Err(error) => return Err(failed(error.to_string())),
            }
        }
    }

    /// Opens the first directory for a server that no living server uses.
    ///
    /// # Errors
    ///
    /// `Busy` if all are in use; `Io`.
    pub fn open_server(&self) -> Result<Self, StateError> {
        for number in 0..SERVERS_MAX {
            let directory = self.directory().join(SERVERS).join(number.to_string());
            create_private(&directory).map_err(failed(&directory))?;
            if let Some(lock) = lock_of(&directory)? {
                return Ok(Self::locked(directory, lock));
            }
        }
        Err(StateError::Busy { root: self.directory().to_owned(), pid: None })
    }

    /// Returns the directories of killed servers that have a document.
    fn abandoned_with(&self, document: &str) -> Vec<Self> {
        let entries = fs::read_dir(self.directory().join(SERVERS)).into_iter().flatten().flatten();
        let directories = entries.map(|entry| entry.path());
        let with_document = directories.filter(|directory| directory.join(format!("{document}.json")).exists());
        let locked = |directory: PathBuf| Some(Self::locked(directory.clone(), lock_of(&directory).ok()??));
        with_document.filter_map(locked).collect()
    }
}

/// Locks the directory of a server; `None` if a living one uses it.
fn lock_of(directory: &Path) -> Result<Option<File>, StateError> {
    let path = directory.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(StateError::Io { path, source }),
    }
}

impl LocalEnvironment {
    /// Completes or rolls back the commits that killed servers left unfinished. The caller holds the lock of changes.
    ///
    /// # Errors
    ///
    /// As [`recover`](Self::recover).
    pub fn recover_servers(&self, state: &StateDir) -> Result<(), CommitError> {
        for abandoned in state.abandoned_with(commit::DOCUMENT) {
            self.recover(&abandoned, &mut |_| Ok::<(), io::Error>(()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn servers_share_the_state_and_keep_other_commands_out() {
        let around = TempDir::new().unwrap();
        let (home, root) = (around.path().join("home"), around.path().join("project"));
        fs::create_dir(&root).unwrap();
        let first = StateDir::open_as(&home, &root, true).unwrap();
        let second = StateDir::open_as(&home, &root, true).unwrap();
        assert_eq!(StateDir::open_in(&home, &root).unwrap_err().code().as_str(), "busy");
        let (own, other) = (first.open_server().unwrap(), second.open_server().unwrap());
        assert_ne!(own.directory(), other.directory());
        own.save(commit::DOCUMENT, &1).unwrap();
        assert!(second.abandoned_with(commit::DOCUMENT).is_empty(), "its server lives");
        let place = own.directory().to_owned();
        drop(own);
        let found = second.abandoned_with(commit::DOCUMENT);
        assert_eq!(found.iter().map(StateDir::directory).collect::<Vec<_>>(), [place.as_path()]);
        drop(found);
        assert_eq!(first.open_server().unwrap().directory(), place);
        let held = block_on(first.change_lock()).unwrap();
        let path = second.directory().join(CHANGES);
        let tried = || File::options().write(true).open(&path).unwrap().try_lock().is_ok();
        assert!(!tried());
        drop(held);
        assert!(tried());
        drop((first, second));
        StateDir::open_in(&home, &root).unwrap();
    }
}
