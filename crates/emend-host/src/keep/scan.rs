//! Walks the whole tree for the keeper: files, links and directories with their marks, ignored ones included.
//!
//! Only `.git` directories and the state directory are left out. An ignored directory with many entries, such as one of
//! dependencies or build products, is one entry.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;
use emend_agent::environment::FilePath;
use emend_agent::environment::gitignore::IgnoreRules;
use rustix::fs::{AtFlags, FileType, Stat, readlinkat, statat};

use super::node::{Content, Entry, Stamp};
use crate::files::directory::{Kind, Reader, is_exhausted};
use crate::files::{RootFiles, read_entry};

/// Maximum number of entries of an ignored directory whose content is kept.
pub(super) const CROWD: usize = 2_000;

/// Upper limit of threads.
const THREADS_MAX: usize = 8;

/// A file changed within this time may change again without a new time stamp.
const CLOCK_PRECISION: Duration = Duration::from_millis(50);

const GITIGNORE: &str = ".gitignore";

/// Returns all paths below the root in order, files without their contents. `skipped` is device and inode of a directory
/// to leave out.
///
/// # Errors
///
/// The root cannot be read, or the system has no file descriptors or memory left.
pub(super) fn scan(files: &RootFiles, skipped: (u64, u64)) -> io::Result<Vec<Entry>> {
    let now = SystemTime::now().checked_sub(CLOCK_PRECISION).unwrap_or(UNIX_EPOCH);
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let top = Arc::new(files.directory().try_clone()?);
    let job = Job { parent: top, name: ".".to_owned(), path: FilePath::root(), rules: IgnoreRules::default() };
    let queue = Mutex::new(Queue { ahead: vec![job], n_busy: 0, failed: None });
    let walk = Walk { skipped, settled: i64::try_from(now).unwrap_or(i64::MAX), queue, changed: Condvar::new() };
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(|| walk.work())).collect();
        let mut found = walk.work();
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    if let Some(error) = walk.lock().failed.take() {
        return Err(error);
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct Walk {
    skipped: (u64, u64),
    /// Change times before this are settled.
    settled: i64,
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    ahead: Vec<Job>,
    n_busy: usize,
    failed: Option<io::Error>,
}

/// A directory to visit that is not ignored.
struct Job {
    parent: Arc<Dir>,
    name: String,
    path: FilePath,
    rules: IgnoreRules,
}

impl Walk {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Vec<Entry> {
        let (mut reader, mut found) = (Reader::default(), Vec::new());
        while let Some(job) = self.next() {
            let more = self.visit(&job, &mut reader, &mut found);
            let mut queue = self.lock();
            match more {
                Ok(more) if queue.failed.is_none() => queue.ahead.extend(more),
                Ok(_) => {}
                Err(error) => {
                    queue.ahead.clear();
                    queue.failed = Some(error);
                }
            }
            queue.n_busy -= 1;
            self.changed.notify_all();
        }
        found
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.ahead.pop() {
                queue.n_busy += 1;
                return Some(job);
            }
            if queue.n_busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn visit(&self, job: &Job, reader: &mut Reader, found: &mut Vec<Entry>) -> io::Result<Vec<Job>> {
        let (directory, entries) = match reader.enter(&job.parent, &job.name) {
            Ok(entered) => entered,
            Err(error) if is_exhausted(&error) || job.path.is_root() => return Err(error),
            Err(_) => return Ok(Vec::new()),
        };
        let directory = Arc::new(directory);
        let has_rules = entries.iter().any(|(name, _)| name == GITIGNORE);
        let gitignore = if has_rules { read_entry(&directory, GITIGNORE) } else { None };
        let rules = job.rules.enter(&job.path, gitignore.as_deref());
        let mut inner = Vec::new();
        for (name, kind) in entries {
            let path = job.path.join(&name);
            let is_ignored = rules.ignores(&path, kind == Kind::Directory);
            let Some((entry, is_directory)) =
                self.entry(&directory, &name, path, is_ignored && kind == Kind::Directory)
            else {
                continue;
            };
            if !is_directory {
                found.push(entry);
            } else if is_ignored {
                self.ignored(&directory, &name, entry, reader, found)?;
            } else {
                let path = entry.path.clone();
                found.push(entry);
                inner.push(Job { parent: Arc::clone(&directory), name, path, rules: rules.clone() });
            }
        }
        Ok(inner)
    }

    /// Takes an ignored directory with its content, or as one entry if it is too large.
    fn ignored(
        &self,
        parent: &Arc<Dir>,
        name: &str,
        top: Entry,
        reader: &mut Reader,
        found: &mut Vec<Entry>,
    ) -> io::Result<()> {
        let n_before = found.len();
        let mut n_top = 0;
        let mut ahead = vec![(Arc::clone(parent), name.to_owned(), top.path.clone())];
        found.push(top.clone());
        while let Some((parent, name, path)) = ahead.pop() {
            let (directory, entries) = match reader.enter(&parent, &name) {
                Ok(entered) => entered,
                Err(error) if is_exhausted(&error) => return Err(error),
                Err(_) => continue,
            };
            if path == top.path {
                n_top = entries.len() as u64;
            }
            if found.len() - n_before + entries.len() > CROWD {
                found.truncate(n_before);
                let stamp = Stamp { size: n_top, ..top.stamp };
                found.push(Entry { content: Content::Crowd, stamp, ..top });
                return Ok(());
            }
            let directory = Arc::new(directory);
            for (name, _) in entries {
                let path = path.join(&name);
                let Some((entry, is_directory)) = self.entry(&directory, &name, path, true) else { continue };
                if is_directory {
                    ahead.push((Arc::clone(&directory), name, entry.path.clone()));
                }
                found.push(entry);
            }
        }
        if let Some(entry) = found.get_mut(n_before) {
            entry.stamp.size = n_top;
        }
        Ok(())
    }

    /// Returns the entry `name` of a directory and whether it is a directory; `None` for special files, `.git` and the
    /// state directory.
    fn entry(&self, directory: &Dir, name: &str, path: FilePath, is_product: bool) -> Option<(Entry, bool)> {
        if name == ".git" {
            return None;
        }
        let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let content = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Content::File { blob: None, is_text: false },
            FileType::Directory if id(&found) == self.skipped => return None,
            FileType::Directory => Content::Directory,
            FileType::Symlink => Content::Link(readlinkat(directory, name, Vec::new()).ok()?.into_string().ok()?),
            _ => return None,
        };
        let is_directory = content == Content::Directory;
        let mut stamp = stamp(&found);
        if is_directory {
            // A directory changes with its entries, which are compared themselves.
            (stamp.size, stamp.modified, stamp.changed) = (0, 0, 0);
        } else if stamp.changed > self.settled {
            stamp.changed = 0;
        }
        Some((Entry { path, stamp, is_product, content }, is_directory))
    }
}

/// Returns the mode bits.
#[expect(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
pub(super) fn mode_of(found: &Stat) -> u32 {
    found.st_mode as u32 & 0o7777
}

#[expect(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
fn id(found: &Stat) -> (u64, u64) {
    (found.st_dev as u64, found.st_ino as u64)
}

#[expect(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the types of the fields differ between systems")]
fn stamp(found: &Stat) -> Stamp {
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    Stamp {
        mode: mode_of(found),
        size: found.st_size as u64,
        modified: time(found.st_mtime as i64, found.st_mtime_nsec as i64),
        changed: time(found.st_ctime as i64, found.st_ctime_nsec as i64),
        inode: found.st_ino as u64,
    }
}
