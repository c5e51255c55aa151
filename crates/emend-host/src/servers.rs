//! State that several servers of one project share: the lock of changes, and a directory of its own for each server.
//!
//! The system ends a lock with its process, so a killed server leaves nothing locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use emend_agent::environment::EnvError;

use crate::commit::{self, CommitError};
use crate::file_lock::{self, LockedFile, is_same};
use crate::local::LocalEnvironment;
use crate::state::{StateDir, StateError, create_private, failed};

/// File that is locked by the server that changes files of the project.
const CHANGES: &str = "changes.lock";

/// Directory with the directories of the servers.
const SERVERS: &str = "servers";

/// The most servers of one project on one computer.
const SERVERS_MAX: u32 = 256;

/// The right of one server to change the files of a project and the shared documents, until it is dropped.
#[derive(Debug)]
pub struct ChangeLock {
    file: File,
    path: PathBuf,
}

impl ChangeLock {
    /// Returns whether the lock was not taken over while this process stood still.
    #[must_use]
    pub fn is_current(&self) -> bool {
        is_same(&self.file, &self.path)
    }
}

/// Returns this process as it is written into its lock: its number, and where that number is valid.
fn own_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {} {}", std::process::id(), boot.trim(), space.display())
    })
}

/// Returns whether the process that holds a lock is stopped, and so does not end its change.
///
/// The kernel knows the holder from the first moment on. The name in the file is that of the former holder until the new one
/// has written its own.
fn is_stopped(path: &Path) -> bool {
    file_lock::is_holder_stopped(path).unwrap_or_else(|| {
        let (own, holder) = (own_name(), fs::read_to_string(path).unwrap_or_default());
        let (Some((_, here)), Some((pid, there))) = (own.split_once(' '), holder.split_once(' ')) else { return false };
        here == there && file_lock::is_process_stopped(pid)
    })
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        // As in StateDir: a child process between fork and exec has the file open too.
        let _ = self.file.unlock();
    }
}

impl StateDir {
    /// Waits until no other server changes the project. The lock of a stopped process is taken over: the caller must have
    /// the turn in the database, and the stopped process must ask [`ChangeLock::is_current`] before it goes on.
    ///
    /// # Errors
    ///
    /// The lock could not be taken within a minute.
    pub async fn change_lock(&self) -> Result<ChangeLock, EnvError> {
        let path = self.directory().join(CHANGES);
        let failed = |error: io::Error| EnvError::Io { path: path.display().to_string(), reason: error.to_string() };
        let open = |path: &Path| File::options().create(true).truncate(false).write(true).open(path);
        let wanted = LockedFile { path: &path, open, replace: |_, _| Ok(()), is_stopped };
        loop {
            let mut file = wanted.lock().await.map_err(failed)?;
            file.set_len(0).and_then(|()| file.write_all(own_name().as_bytes())).map_err(failed)?;
            let lock = ChangeLock { file, path: path.clone() };
            // A process can stand still before it has written its name, too.
            if lock.is_current() {
                return Ok(lock);
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_lock_of_a_stopped_process_is_taken_over() {
        use std::time::Duration;

        use crate::file_lock::holder::Holder;

        let around = TempDir::new().unwrap();
        let (home, root) = (around.path().join("home"), around.path().join("project"));
        fs::create_dir(&root).unwrap();
        let state = StateDir::open_as(&home, &root, true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        drop(runtime.block_on(state.change_lock()).unwrap());
        // The other process has not written its name: the file has that of this process, which runs.
        let other = Holder::of(&state.directory().join(CHANGES));
        let wait = || {
            runtime.block_on(async {
                let taken = tokio::time::timeout(Duration::from_millis(2_500), state.change_lock()).await;
                taken.ok().map(Result::unwrap)
            })
        };
        assert!(wait().is_none(), "a living process keeps its lock");
        other.stop();
        let taken = wait().expect("the lock of the stopped process");
        drop(other);
        assert!(taken.is_current() && wait().is_none(), "the end of the old lock frees nothing");
        drop(taken);
        let held = wait().unwrap();
        assert!(held.is_current());
        let new = around.path().join("new");
        fs::write(&new, "").unwrap();
        fs::rename(&new, state.directory().join(CHANGES)).unwrap();
        assert!(!held.is_current(), "another process has taken it over");
    }
}
