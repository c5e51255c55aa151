//! Values that were read from files and directories, kept until these change.
//!
//! A file or directory that changes gets a new time of change, which no program can set. Times have a granularity,
//! so a value is kept only if the last change is older than that by then: a later change has another time.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Granularity of file systems whose times have fractions of a second. Linux uses its timer, of up to 10 ms.
const FINE: Duration = Duration::from_millis(50);
/// Granularity of others: FAT has two seconds.
const COARSE: Duration = Duration::from_secs(3);
/// The number of values that are kept.
const VALUES_MAX: usize = 1_000;

/// Values of type `T` by the path from which they are read.
pub(crate) struct StatCache<T>(Mutex<HashMap<PathBuf, Kept<T>>>);

struct Kept<T> {
    stamp: Stamp,
    value: Arc<T>,
}

/// Metadata that change with the content of a file, or the entries of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    n_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl<T> Default for StatCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> fmt::Debug for StatCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatCache").finish_non_exhaustive()
    }
}

impl<T> StatCache<T> {
    /// Returns the value that `read` returns for the file or directory at `path`. Links are followed.
    pub(crate) fn get(&self, path: &Path, read: impl FnOnce() -> T) -> Arc<T> {
        let now = SystemTime::now();
        let Some(stamp) = Stamp::of(path) else { return Arc::new(read()) };
        if let Some(kept) = self.values().get(path).filter(|kept| kept.stamp == stamp) {
            return Arc::clone(&kept.value);
        }
        let value = Arc::new(read());
        let mut values = self.values();
        values.remove(path);
        if stamp.is_settled(now) {
            if values.len() >= VALUES_MAX {
                values.clear();
            }
            values.insert(path.to_owned(), Kept { stamp, value: Arc::clone(&value) });
        }
        value
    }

    fn values(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Kept<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stamp {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let found = path.metadata().ok()?;
        Some(Self {
            file: (found.dev(), found.ino()),
            n_bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// The standard library does not tell the time of the last change.
    #[cfg(not(unix))]
    fn of(_path: &Path) -> Option<Self> {
        None
    }

    /// Returns whether every change from `now` on leads to another stamp.
    fn is_settled(self, now: SystemTime) -> bool {
        let granularity = if self.changed.1 == 0 && self.modified.1 == 0 { COARSE } else { FINE };
        let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH) else { return false };
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        Duration::new(seconds, nanos) + granularity < now
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_value_is_kept_until_its_file_changes() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let (cache, n_reads) = (StatCache::default(), Cell::new(0));
        let get = || {
            let read = || {
                n_reads.set(n_reads.get() + 1);
                fs::read(&path).ok()
            };
            cache.get(&path, read).as_ref().clone()
        };
        assert_eq!(get(), None);
        // Each content is read, however fast they follow each other and whatever their times of modification are.
        let time = SystemTime::now() - Duration::from_secs(100);
        for text in ["1", "2", "3"] {
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            assert_eq!(get().as_deref(), Some(text.as_bytes()));
        }
        // The last change is too young.
        let n_young = n_reads.get();
        assert_eq!(get().as_deref(), Some(&b"3"[..]));
        assert_eq!(n_reads.get(), n_young + 1);
        std::thread::sleep(2 * FINE);
        for _ in 0..3 {
            assert_eq!(get().as_deref(), Some(&b"3"[..]));
        }
        assert_eq!(n_reads.get(), n_young + 2, "it was kept");
        fs::write(&path, "4").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_eq!(get().as_deref(), Some(&b"4"[..]));
        fs::remove_file(&path).unwrap();
        assert_eq!(get(), None);
    }

    #[test]
    fn a_change_is_settled_when_later_ones_have_another_time() {
        let at = |second: u64, milli: u32| SystemTime::UNIX_EPOCH + Duration::new(second, milli * 1_000_000);
        let stamp = |changed| Stamp { file: (1, 1), n_bytes: 1, modified: (5, changed % 2), changed: (100, changed) };
        let table = [
            (stamp(1), at(100, 50), false),
            (stamp(1), at(100, 51), true),
            (stamp(0), at(103, 0), false),
            (stamp(0), at(103, 1), true),
            (stamp(1), at(99, 0), false),
        ];
        for (stamp, now, expected) in table {
            assert_eq!(stamp.is_settled(now), expected, "{stamp:?} {now:?}");
        }
    }
}
