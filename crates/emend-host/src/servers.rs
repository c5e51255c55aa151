//! State that several servers of one project share: the lock of changes, and a directory of its own for each server.
//!
//! The system ends a lock with its process, so a killed server leaves nothing locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
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

/// Time to wait for a server that changes files before a look whether its process stands still.
const STALL: Duration = Duration::from_millis(500);

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

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(own), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// No lock is taken over where processes cannot be looked at.
#[cfg(not(unix))]
fn is_same(_file: &File, _path: &Path) -> bool {
    true
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
    if let Some(pid) = holder_of(path) {
        return is_process_stopped(&pid);
    }
    let (own, holder) = (own_name(), fs::read_to_string(path).unwrap_or_default());
    let (Some((_, here)), Some((pid, there))) = (own.split_once(' '), holder.split_once(' ')) else { return false };
    here == there && is_process_stopped(pid)
}

fn is_process_stopped(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

/// Returns the number of the process that has locked a file; `None` where the kernel does not tell.
#[cfg(target_os = "linux")]
fn holder_of(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let file = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; a process that waits has `->` after the first number.
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, pid, place) = (words.next()?, words.nth(2)?, words.next()?);
        (kind == "FLOCK" && place == file).then(|| pid.to_owned())
    };
    // A process of another container has no number here.
    locks.lines().find_map(holder).filter(|pid| pid.parse::<u32>().is_ok_and(|pid| pid > 0))
}

#[cfg(not(target_os = "linux"))]
fn holder_of(_path: &Path) -> Option<String> {
    None
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
        let failed = |reason: String| EnvError::Io { path: path.display().to_string(), reason };
        let open = |path: &Path| File::options().create(true).truncate(false).write(true).open(path);
        let named = |file: File| {
            let lock = ChangeLock { file, path: path.clone() };
            let written = lock.file.set_len(0).and_then(|()| (&lock.file).write_all(own_name().as_bytes()));
            written.map(|()| lock)
        };
        let (begun, mut looked) = (Instant::now(), Instant::now());
        let mut file = open(&path).map_err(|error| failed(error.to_string()))?;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    if is_same(&file, &path) {
                        let lock = named(file).map_err(|error| failed(error.to_string()))?;
                        // A process can stand still before it has written its name, too.
                        if lock.is_current() {
                            return Ok(lock);
                        }
                    }
                    // It was taken over meanwhile.
                    file = open(&path).map_err(|error| failed(error.to_string()))?;
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    if looked.elapsed() > STALL {
                        looked = Instant::now();
                        if is_stopped(&path) {
                            // Others wait for a file with this name: it is locked before they see it.
                            let new = path.with_extension(format!("lock.{}", std::process::id()));
                            let taken = open(&new).and_then(|file| {
                                file.lock()?;
                                fs::rename(&new, &path)?;
                                Ok(file)
                            });
                            file = taken.map_err(|error| failed(error.to_string()))?;
                            return named(file).map_err(|error| failed(error.to_string()));
                        }
                        file = open(&path).map_err(|error| failed(error.to_string()))?;
                    }
                    SystemClock.sleep(STEP_MS).await;
                }
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_lock_of_a_stopped_process_is_taken_over() {
        use std::io::Read as _;
        use std::process::{Command, Stdio};

        let around = TempDir::new().unwrap();
        let (home, root) = (around.path().join("home"), around.path().join("project"));
        fs::create_dir(&root).unwrap();
        let state = StateDir::open_as(&home, &root, true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        drop(runtime.block_on(state.change_lock()).unwrap());
        let path = state.directory().join(CHANGES);
        // The other process has the lock and has not written its name: the file has that of this process, which runs.
        let mut flock = Command::new("flock");
        flock.arg("--no-fork").arg(&path).args(["sh", "-c", "echo; exec sleep 60"]);
        let mut other = flock.stdout(Stdio::piped()).spawn().unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let wait = || {
            runtime.block_on(async {
                let taken = tokio::time::timeout(Duration::from_millis(2_500), state.change_lock()).await;
                taken.ok().map(Result::unwrap)
            })
        };
        let while_it_runs = wait().is_some();
        let stopped = Command::new("kill").args(["-STOP", &other.id().to_string()]).status();
        let taken = wait();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(stopped.unwrap().success() && !while_it_runs, "a living process keeps its lock");
        let taken = taken.expect("the lock of the stopped process");
        assert!(taken.is_current() && wait().is_none(), "the end of the old lock frees nothing");
        drop(taken);
        assert!(wait().unwrap().is_current());
    }
}
