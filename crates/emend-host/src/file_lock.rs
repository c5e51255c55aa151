//! Locks of files that several processes change in turn. The lock of a stopped process is taken over.
//!
//! A process that takes a lock over replaces the file. So the stopped process, when it goes on, writes to a file that has no
//! name any more.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use emend_llm::Clock as _;

use crate::clock::SystemClock;

/// Time to wait for another process.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two tries in milliseconds.
const STEP_MS: u64 = 2;

/// Time to wait for another process before a look whether it stands still.
const STALL: Duration = Duration::from_millis(500);

/// Added to the path of a file that takes the place of one whose lock a stopped process has.
const SUCCESSOR: &str = ".new";

/// A file to lock.
pub(crate) struct LockedFile<'a> {
    pub(crate) path: &'a Path,
    /// Opens the file, and creates it if it does not exist.
    pub(crate) open: fn(&Path) -> io::Result<File>,
    /// Makes the new file of a lock that is taken over from the path of the old one.
    pub(crate) replace: fn(&Path, &File) -> io::Result<()>,
    /// Returns whether the process with the lock is stopped.
    pub(crate) is_stopped: fn(&Path) -> bool,
}

impl LockedFile<'_> {
    /// Waits for the lock and returns the file that has the path. The lock ends when the file is closed.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if another process has the lock for a minute; those of the system.
    pub(crate) async fn lock(&self) -> io::Result<File> {
        let (begun, mut looked) = (Instant::now(), Instant::now());
        let mut file = (self.open)(self.path)?;
        loop {
            match file.try_lock() {
                Ok(()) if is_same(&file, self.path) => return Ok(file),
                // It was taken over meanwhile.
                Ok(()) => file = (self.open)(self.path)?,
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    if looked.elapsed() > STALL {
                        looked = Instant::now();
                        if (self.is_stopped)(self.path)
                            && let Some(file) = self.take_over()?
                        {
                            return Ok(file);
                        }
                        file = (self.open)(self.path)?;
                    }
                    pause().await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces the file, unless another process does it or has done it.
    fn take_over(&self) -> io::Result<Option<File>> {
        let mut new = self.path.to_owned();
        new.as_mut_os_string().push(SUCCESSOR);
        let file = (self.open)(&new)?;
        // Others wait for a file with this name: it is locked before they see it.
        if file.try_lock().is_err() || !is_same(&file, &new) || !(self.is_stopped)(self.path) {
            return Ok(None);
        }
        // A process that was killed may have left it.
        file.set_len(0)?;
        (self.replace)(self.path, &file)?;
        fs::rename(&new, self.path)?;
        Ok(Some(file))
    }
}

async fn pause() {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => SystemClock.sleep(STEP_MS).await,
        Err(_) => std::thread::sleep(Duration::from_millis(STEP_MS)),
    }
}

/// Returns whether an open file is the one that has the path.
#[cfg(unix)]
pub(crate) fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(own), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// No lock is taken over where processes cannot be looked at.
#[cfg(not(unix))]
pub(crate) fn is_same(_file: &File, _path: &Path) -> bool {
    true
}

/// Returns whether the process that has locked a file is stopped; `None` where the kernel does not tell the process.
pub(crate) fn is_holder_stopped(path: &Path) -> Option<bool> {
    Some(is_process_stopped(&holder_of(path)?))
}

/// Returns whether the process with this number is stopped.
pub(crate) fn is_process_stopped(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

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

/// Processes that lock a file, for tests.
#[cfg(test)]
#[cfg(target_os = "linux")]
pub(crate) mod holder {
    use std::io::Read as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// A process that has locked a file; killed when it is dropped.
    pub(crate) struct Holder(Child);

    impl Holder {
        pub(crate) fn of(path: &Path) -> Self {
            let mut flock = Command::new("flock");
            flock.arg("--no-fork").arg(path).args(["sh", "-c", "echo; exec sleep 60"]);
            let mut child = flock.stdout(Stdio::piped()).spawn().unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            Self(child)
        }

        pub(crate) fn stop(&self) {
            let status = Command::new("kill").args(["-STOP", &self.0.id().to_string()]).status();
            assert!(status.unwrap().success());
        }
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}
