//! Syncs directories shortly after files in them were replaced, on a thread of its own.
//!
//! A replaced file has its old or its new content after a power cut, whether its directory was synced or not: the new
//! content is on the disk before it gets its name. So the caller of a write need not wait for the directory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cap_std::fs::Dir;
use emend_agent::environment::FilePath;

use super::open::reading;

/// Time in which later writes to the same directory join one sync.
const PERIOD: Duration = Duration::from_millis(20);

/// The directories that are to be synced. Dropping it syncs them.
#[derive(Default)]
pub(super) struct LateSync {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    directories: BTreeMap<FilePath, Dir>,
    /// Whether the thread is running.
    is_running: bool,
}

impl LateSync {
    /// Syncs a directory soon.
    pub(super) fn sync(&self, path: FilePath, directory: Dir) {
        let mut waiting = locked(&self.waiting);
        waiting.directories.insert(path, directory);
        if waiting.is_running {
            return;
        }
        let shared = Arc::clone(&self.waiting);
        let started = std::thread::Builder::new().name("emend-sync".to_owned()).spawn(move || run(&shared));
        match started {
            Ok(_) => waiting.is_running = true,
            Err(_) => take(&mut waiting).values().for_each(sync_directory),
        }
    }
}

impl Drop for LateSync {
    fn drop(&mut self) {
        let left = take(&mut locked(&self.waiting));
        left.values().for_each(sync_directory);
    }
}

fn run(waiting: &Mutex<Waiting>) {
    loop {
        std::thread::sleep(PERIOD);
        let directories = {
            let mut waiting = locked(waiting);
            waiting.is_running = !waiting.directories.is_empty();
            take(&mut waiting)
        };
        if directories.is_empty() {
            return;
        }
        directories.values().for_each(sync_directory);
    }
}

fn take(waiting: &mut Waiting) -> BTreeMap<FilePath, Dir> {
    std::mem::take(&mut waiting.directories)
}

fn locked(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs a directory, so that a rename survives a power cut. A failure is ignored: the rename is done anyway.
pub(crate) fn sync_directory(directory: &Dir) {
    // Opened as a file: a `Dir` may be a handle of the path only, which cannot be synced.
    if cfg!(unix)
        && let Ok(directory) = directory.open_with(".", &reading())
    {
        let _ = directory.sync_all();
        #[cfg(test)]
        #[cfg(unix)]
        tests::note(&directory);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::collections::BTreeSet;

    use cap_std::ambient_authority;
    use cap_std::fs::{File, MetadataExt as _};

    use super::*;

    /// The inodes of all directories that were synced.
    static SYNCED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

    pub(super) fn note(directory: &File) {
        let inode = directory.metadata().unwrap().ino();
        SYNCED.lock().unwrap_or_else(PoisonError::into_inner).insert(inode);
    }

    fn is_synced(directory: &Dir) -> bool {
        let inode = directory.dir_metadata().unwrap().ino();
        SYNCED.lock().unwrap_or_else(PoisonError::into_inner).contains(&inode)
    }

    #[test]
    fn directories_are_synced_soon_and_at_the_latest_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Dir::open_ambient_dir(path, ambient_authority()).unwrap()
        };
        let late = LateSync::default();
        for name in ["a", "b", "c"] {
            late.sync(FilePath::root().join(name), open(name));
        }
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !["a", "b", "c"].iter().all(|name| is_synced(&open(name))) {
            assert!(std::time::Instant::now() < deadline, "the directories were not synced");
            std::thread::sleep(PERIOD);
        }
        late.sync(FilePath::root().join("d"), open("d"));
        drop(late);
        // Either the thread has taken the directory, or the drop syncs it.
        while !is_synced(&open("d")) {
            assert!(std::time::Instant::now() < deadline, "the last directory was not synced");
            std::thread::sleep(PERIOD);
        }
    }
}
