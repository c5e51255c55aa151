//! Walks the whole tree for the keeper: files, links and directories with their marks, ignored ones included.
//!
//! Only the state directory is left out. An ignored directory with many entries, such as one of dependencies or build
//! products, is one entry, and so is a directory that cannot be read, and the object store of a large repository.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;
use emend_agent::environment::FilePath;
use emend_agent::environment::gitignore::IgnoreRules;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::names::{self, on_disk, text_of};
use super::node::{Content, Entry, Stamp};
use crate::files::directory::{Kind, Reader, is_exhausted};
use crate::files::{RootFiles, is_absence, read_entry};

/// Maximum number of entries of an ignored directory whose content is kept.
pub(super) const CROWD: usize = 2_000;

/// The same for the object store of a repository, and the maximum number of bytes in it.
const OBJECTS: usize = 10_000;
const OBJECT_BYTES_MAX: u64 = 256 << 20;

/// Upper limit of threads.
const THREADS_MAX: usize = 8;

/// A file changed within this time may change again without a new time stamp.
const CLOCK_PRECISION: Duration = Duration::from_millis(50);
/// The same for file systems that store whole seconds, or even numbers of them.
const COARSE_PRECISION: Duration = Duration::from_secs(2);

const GITIGNORE: &str = ".gitignore";
const GIT: &str = ".git";

/// Returns all paths below the root in order, files without their contents. `skipped` is device and inode of a directory
/// to leave out.
///
/// # Errors
///
/// The root cannot be read, or the system has no file descriptors or memory left.
pub(super) fn scan(files: &RootFiles, skipped: (u64, u64)) -> io::Result<Vec<Entry>> {
    let top = Arc::new(files.directory().try_clone()?);
    let job = Job { parent: top, name: ".".to_owned(), entry: None, rules: IgnoreRules::default() };
    let queue = Mutex::new(Queue { ahead: vec![job], n_busy: 0, failed: None });
    let walk = Walk { skipped, now: now(), queue, changed: Condvar::new() };
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
    // Merges the sorted parts of the threads.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns the entry of a path as it is now, a file without its content. Follows no links. `None` if there is no such
/// entry; `skipped` as in [`scan`].
///
/// # Errors
///
/// The entry, or a directory above it, cannot be read.
pub(super) fn entry_at(
    files: &RootFiles,
    skipped: (u64, u64),
    path: &FilePath,
    is_product: bool,
) -> io::Result<Option<Entry>> {
    let Some(parent) = parent_of(files, path)? else { return Ok(None) };
    let queue = Mutex::new(Queue { ahead: Vec::new(), n_busy: 0, failed: None });
    let walk = Walk { skipped, now: now(), queue, changed: Condvar::new() };
    Ok(walk.entry(&parent, path.name(), path.clone(), is_product)?.map(|(entry, _)| entry))
}

/// Opens the directory that holds `path`; `None` if it does not exist or a link is on the way.
///
/// # Errors
///
/// A directory above the path cannot be opened.
pub(super) fn parent_of(files: &RootFiles, path: &FilePath) -> io::Result<Option<Dir>> {
    let Some(parent) = path.parent() else { return Ok(None) };
    let mut directory = files.directory().try_clone()?;
    for name in parent.as_str().split('/').filter(|name| !name.is_empty()) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&directory, &*on_disk(name), flags, Mode::empty()) {
            Ok(inner) => directory = Dir::from_std_file(inner.into()),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(directory))
}

/// Returns whether anything in a directory has changed since a time, in nanoseconds since 1970. Programs cannot set the time
/// of a change. A part that cannot be read counts as unchanged.
///
/// # Errors
///
/// The system has no file descriptors or memory left.
pub(super) fn has_changed_since(files: &RootFiles, path: &FilePath, since: i64) -> io::Result<bool> {
    let mut reader = Reader::default();
    let Some(parent) = parent_of(files, path)? else { return Ok(false) };
    let mut ahead = vec![(Arc::new(parent), path.name().to_owned())];
    while let Some((parent, name)) = ahead.pop() {
        let (directory, entries) = match reader.enter_as(&parent, &on_disk(&name), |name| Some(text_of(name))) {
            Ok(entered) => entered,
            Err(error) if is_exhausted(&error) => return Err(error),
            Err(_) => continue,
        };
        let directory = Arc::new(directory);
        let here = std::iter::once((".".to_owned(), Kind::File));
        for (name, kind) in here.chain(entries) {
            let found = statat(&*directory, &*on_disk(&name), AtFlags::SYMLINK_NOFOLLOW);
            if found.is_ok_and(|found| stamp(&found).changed >= since) {
                return Ok(true);
            }
            if kind == Kind::Directory {
                ahead.push((Arc::clone(&directory), name));
            }
        }
    }
    Ok(false)
}

/// Returns whether something was there before a time, in nanoseconds since 1970, and has no other name. The system may not
/// know since when it exists.
pub(super) fn is_older(files: &RootFiles, path: &FilePath, than: i64) -> bool {
    let Ok(found) = files.directory().symlink_metadata(&*on_disk(path.as_str())) else { return false };
    let born = found.created().ok().and_then(|born| born.into_std().duration_since(UNIX_EPOCH).ok());
    let is_known = born.is_some_and(|born| is_settled(i64::try_from(born.as_nanos()).unwrap_or(i64::MAX), than));
    is_known && (found.is_dir() || cap_std::fs::MetadataExt::nlink(&found) == 1)
}

/// Returns the time in nanoseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns whether a file that changes after `now` gets another change time than `changed`.
pub(super) fn is_settled(changed: i64, now: i64) -> bool {
    let is_coarse = changed % 1_000_000_000 == 0;
    let precision = if is_coarse { COARSE_PRECISION } else { CLOCK_PRECISION };
    changed <= now.saturating_sub(i64::try_from(precision.as_nanos()).unwrap_or(i64::MAX))
}

struct Walk {
    skipped: (u64, u64),
    /// Time of the start.
    now: i64,
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
    /// `None` for the root.
    entry: Option<Entry>,
    rules: IgnoreRules,
}

impl Walk {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Vec<Entry> {
        let (mut reader, mut found) = (Reader::default(), Vec::new());
        while let Some(job) = self.next() {
            let more = self.visit(job, &mut reader, &mut found);
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
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
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

    /// Takes a directory with its content. Returns the directories in it that are not ignored.
    fn visit(&self, job: Job, reader: &mut Reader, found: &mut Vec<Entry>) -> io::Result<Vec<Job>> {
        let n_before = found.len();
        let path = job.entry.as_ref().map(|entry| entry.path.clone()).unwrap_or_default();
        let visited = self.content(&job, &path, reader, found);
        let Some(mut entry) = job.entry else { return visited.map(|(inner, _)| inner) };
        match visited {
            Ok((inner, n_entries)) => {
                entry.stamp.size = n_entries;
                found.push(entry);
                Ok(inner)
            }
            Err(error) if is_exhausted(&error) => Err(error),
            Err(error) => {
                found.truncate(n_before);
                // Paths that cannot be seen must not count as deleted now, nor as created when they can be seen again.
                let content = if is_absence(&error) { entry.content } else { Content::Crowd };
                found.push(Entry { content, ..entry });
                Ok(Vec::new())
            }
        }
    }

    /// Takes the content of a directory. Returns the directories in it that are not ignored, and the number of entries.
    fn content(
        &self,
        job: &Job,
        path: &FilePath,
        reader: &mut Reader,
        found: &mut Vec<Entry>,
    ) -> io::Result<(Vec<Job>, u64)> {
        let (directory, entries) = reader.enter_as(&job.parent, &on_disk(&job.name), |name| Some(text_of(name)))?;
        let n_entries = entries.len() as u64;
        let directory = Arc::new(directory);
        let has_rules = entries.iter().any(|(name, _)| name == GITIGNORE);
        let gitignore = if has_rules { read_entry(&directory, GITIGNORE) } else { None };
        let rules = job.rules.enter(path, gitignore.as_deref());
        let mut inner = Vec::new();
        for (name, kind) in entries {
            let path = path.join(&name);
            let is_ignored = rules.ignores(&path, kind == Kind::Directory);
            let Some((entry, is_directory)) =
                self.entry(&directory, &name, path, is_ignored && kind == Kind::Directory)?
            else {
                continue;
            };
            if !is_directory {
                found.push(entry);
            } else if is_ignored || name == GIT {
                self.ignored(&directory, &name, entry, reader, found)?;
            } else {
                let (parent, entry) = (Arc::clone(&directory), Some(entry));
                inner.push(Job { parent, name, entry, rules: rules.clone() });
            }
        }
        Ok((inner, n_entries))
    }

    /// Takes an ignored directory or a repository with its content, or as one entry if it is too large. The object store of
    /// a repository counts on its own.
    fn ignored(
        &self,
        parent: &Arc<Dir>,
        name: &str,
        top: Entry,
        reader: &mut Reader,
        found: &mut Vec<Entry>,
    ) -> io::Result<()> {
        let n_before = found.len();
        let is_store = names::is_object(&top.path);
        let n_max = if is_store { OBJECTS } else { CROWD };
        let (mut stores, mut n_bytes) = (Vec::new(), 0);
        let mut ahead = vec![(Arc::clone(parent), name.to_owned(), n_before)];
        found.push(top.clone());
        while let Some((parent, name, at)) = ahead.pop() {
            let entered = reader.enter_as(&parent, &on_disk(&name), |name| Some(text_of(name)));
            let listed = entered.and_then(|(directory, entries)| {
                let path = found.get(at).map(|entry| entry.path.clone()).unwrap_or_default();
                let directory = Arc::new(directory);
                let inner = entries.into_iter().map(|(name, _)| {
                    let entry = self.entry(&directory, &name, path.join(&name), top.is_product)?;
                    Ok((name, entry))
                });
                Ok((Arc::clone(&directory), inner.collect::<io::Result<Vec<_>>>()?))
            });
            let (directory, entries) = match listed {
                Ok(listed) => listed,
                Err(error) if is_exhausted(&error) => return Err(error),
                Err(error) => {
                    if let Some(entry) = found.get_mut(at).filter(|_| !is_absence(&error)) {
                        entry.content = Content::Crowd;
                    }
                    continue;
                }
            };
            if let Some(entry) = found.get_mut(at) {
                entry.stamp.size = entries.len() as u64;
            }
            if is_store {
                n_bytes += entries.iter().filter_map(|(_, entry)| Some(entry.as_ref()?.0.stamp.size)).sum::<u64>();
            }
            if found.len() - n_before + entries.len() > n_max || n_bytes > OBJECT_BYTES_MAX {
                let n_top = found.get(n_before).map_or(0, |entry| entry.stamp.size);
                found.truncate(n_before);
                found.push(Entry { content: Content::Crowd, stamp: Stamp { size: n_top, ..top.stamp }, ..top });
                return Ok(());
            }
            for (name, entry) in entries {
                let Some((entry, is_directory)) = entry else { continue };
                if is_directory && !is_store && names::is_object(&entry.path) {
                    stores.push((Arc::clone(&directory), name, entry));
                    continue;
                }
                if is_directory {
                    ahead.push((Arc::clone(&directory), name, found.len()));
                }
                found.push(entry);
            }
        }
        for (parent, name, store) in stores {
            self.ignored(&parent, &name, store, reader, found)?;
        }
        Ok(())
    }

    /// Returns the entry `name` of a directory and whether it is a directory; `None` for the state directory, and for an
    /// entry that was deleted since it was listed.
    fn entry(
        &self,
        directory: &Dir,
        name: &str,
        path: FilePath,
        is_product: bool,
    ) -> io::Result<Option<(Entry, bool)>> {
        let name = on_disk(name);
        let found = match statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let content = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Content::File { blob: None, is_text: false },
            FileType::Directory if id(&found) == self.skipped => return Ok(None),
            FileType::Directory => Content::Directory,
            FileType::Symlink => match readlinkat(directory, &*name, Vec::new()) {
                Ok(target) => Content::Link(text_of(target.to_bytes())),
                Err(_) => return Ok(None),
            },
            FileType::Fifo => Content::Fifo,
            _ => Content::Special,
        };
        let is_directory = content == Content::Directory;
        let mut stamp = stamp(&found);
        if is_directory {
            // A directory changes with its entries, which are compared themselves.
            (stamp.size, stamp.modified, stamp.changed, stamp.links) = (0, 0, 0, 0);
        } else if !is_settled(stamp.changed, self.now) {
            stamp.changed = 0;
        }
        Ok(Some((Entry { path, stamp, is_product, content }, is_directory)))
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
pub(super) fn stamp(found: &Stat) -> Stamp {
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    Stamp {
        mode: mode_of(found),
        size: found.st_size as u64,
        modified: time(found.st_mtime as i64, found.st_mtime_nsec as i64),
        changed: time(found.st_ctime as i64, found.st_ctime_nsec as i64),
        inode: found.st_ino as u64,
        links: found.st_nlink as u64,
    }
}
