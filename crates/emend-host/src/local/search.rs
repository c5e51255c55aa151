//! Walks the tree and searches files, on all cores.
//!
//! The walk opens each directory by its name in the parent's handle and never follows a link, so concurrent changes to the
//! tree cannot lead it outside. Rules and order are those of `MemFs`. The walk ends before the search starts, and files are
//! searched in the order of their paths, so that stopping early always gives the same first matches.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use cap_std::fs::Dir;
use emend_agent::environment::FileMatches;
use emend_agent::environment::command::FileStamp;
use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::resolve::{Node, Tree as _};
use emend_agent::environment::walk::{self, Filter};
use emend_agent::environment::{DirEntry, EnvError, FilePath, GrepQuery};

use crate::files::directory::{Kind, Reader, is_exhausted};
use crate::files::{RootFiles, describe, entry_metadata, read_entry};

/// Upper limit of threads: more would only wait for the same disk.
const THREADS_MAX: usize = 12;

/// Returns whether a file in a directory stays in a search, given the directory, its name there and its path.
pub(super) type Keep<'a> = &'a (dyn Fn(&Dir, &str, &FilePath) -> bool + Sync);

/// Returns the files that a glob matches at or below `path`, with metadata, in order of their paths.
pub(super) fn glob(files: &RootFiles, path: &FilePath, glob: &str) -> Result<Vec<DirEntry>, EnvError> {
    let filter = Filter::of_glob(path, glob)?;
    if is_file(files, path)? {
        let metadata = files.metadata(path)?.filter(|_| filter.accepts(path));
        return Ok(metadata.map(|metadata| DirEntry { path: path.clone(), metadata }).into_iter().collect());
    }
    let mut found = find(files, path, &filter, Hidden::Skipped, &|directory, name, path| {
        let metadata = entry_metadata(directory, name)?;
        Some(DirEntry { path, metadata })
    })?;
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// As [`glob`], without metadata.
pub(super) fn glob_paths(files: &RootFiles, path: &FilePath, glob: &str) -> Result<Vec<FilePath>, EnvError> {
    paths(files, path, &Filter::of_glob(path, glob)?, &|_, _, _| true)
}

/// Searches files and returns the matches in order of their paths.
///
/// `keep` leaves out only files without a match, so it does not change the result.
pub(super) fn grep(files: &RootFiles, query: &GrepQuery, keep: Keep<'_>) -> Result<Vec<FileMatches>, EnvError> {
    let filter = Filter::of_grep(query)?;
    let paths = paths(files, &query.path, &filter, keep)?;
    let limits = query.limits();
    let (next, matched) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let search_some = || {
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        // A thread that takes a file searches it, so every file before the next index is searched once the limit is reached.
        while matched.load(Ordering::Relaxed) < query.max_results {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(index) else { break };
            let Some(filled) = files.read_text(path, &mut buffer) else { continue };
            let lines = query.matcher.search(&buffer[..filled], limits);
            if !lines.is_empty() {
                let matches = FileMatches { path: path.clone(), lines };
                matched.fetch_add(matches.match_count(), Ordering::Relaxed);
                found.push((index, matches));
            }
        }
        found
    };
    let mut found = on_all_cores(paths.len(), search_some);
    found.sort_unstable_by_key(|(index, _)| *index);
    let mut room = query.max_results;
    let cut = found.into_iter().map_while(|(_, mut matches)| {
        matches.truncate(room, query.context_lines);
        room -= matches.match_count();
        (!matches.lines.is_empty()).then_some(matches)
    });
    Ok(cut.collect())
}

/// Runs `work` on one thread per core, but at most one thread per 16 `items`, and collects the results.
fn on_all_cores<T: Send>(items: usize, work: impl Fn() -> Vec<T> + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX).min(items.div_ceil(16));
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut gathered = work();
        for other in others {
            match other.join() {
                Ok(more) => gathered.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        gathered
    })
}

fn is_file(files: &RootFiles, path: &FilePath) -> Result<bool, EnvError> {
    Ok(files.look(path)? == Node::File)
}

/// Returns the path of every file that `filter` accepts and `keep` keeps at or below `path`, in order.
fn paths(files: &RootFiles, path: &FilePath, filter: &Filter, keep: Keep<'_>) -> Result<Vec<FilePath>, EnvError> {
    if is_file(files, path)? {
        return Ok(if filter.accepts(path) { vec![path.clone()] } else { Vec::new() });
    }
    let mut found = find(files, path, filter, Hidden::Skipped, &|directory, name, path| {
        keep(directory, name, &path).then_some(path)
    })?;
    found.sort_unstable();
    Ok(found)
}

/// Returns a stamp of every file that is not ignored.
pub(super) fn manifest(files: &RootFiles) -> Result<Vec<FileStamp>, EnvError> {
    let root = FilePath::root();
    let filter = Filter::of_glob(&root, "**")?;
    let mut found = find(files, &root, &filter, Hidden::Found, &|directory, name, path| {
        let found = directory.symlink_metadata(name).ok()?;
        Some(FileStamp { path, size: found.len(), marks: marks(&found) })
    })?;
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns modification time, change time and inode. The change time is included because programs cannot set it back.
#[cfg(unix)]
fn marks(found: &cap_std::fs::Metadata) -> [u64; 3] {
    use cap_std::fs::MetadataExt as _;
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos).cast_unsigned();
    [time(found.mtime(), found.mtime_nsec()), time(found.ctime(), found.ctime_nsec()), found.ino()]
}

#[cfg(not(unix))]
fn marks(found: &cap_std::fs::Metadata) -> [u64; 3] {
    let modified = found.modified().ok().map(cap_std::time::SystemTime::into_std);
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    [since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default(), 0, 0]
}

/// Treatment of hidden files in a walk. The `.git` directory is always skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Skipped,
    Found,
}

/// Walks from the directory `path` and collects, in no order, the results of `take` for the files that `filter` accepts.
///
/// `take` gets the directory, the file's name in it, and its path.
pub(super) fn find<T: Send>(
    files: &RootFiles,
    path: &FilePath,
    filter: &Filter,
    hidden: Hidden,
    take: &(dyn Fn(&Dir, &str, FilePath) -> Option<T> + Sync),
) -> Result<Vec<T>, EnvError> {
    let top = files.open_directory(path)?;
    let mut rules = IgnoreRules::default();
    for directory in walk::above(path) {
        let gitignore = files.open_directory(&directory).ok().and_then(|directory| read_entry(&directory, GITIGNORE));
        rules = rules.enter(&directory, gitignore.as_deref());
    }
    let first = Job { parent: Arc::new(top), name: ".".to_owned(), path: path.clone(), rules };
    let queue = Mutex::new(Queue { ahead: vec![first], busy: 0, failed: None });
    let walk = Walk { filter, hidden, take, queue, changed: Condvar::new() };
    let found = on_all_cores(usize::MAX, || walk.work());
    match walk.lock().failed.take() {
        Some(error) => Err(describe(path.as_str(), &error)),
        None => Ok(found),
    }
}

pub(super) const GITIGNORE: &str = ".gitignore";

struct Walk<'a, T> {
    filter: &'a Filter,
    hidden: Hidden,
    take: &'a (dyn Fn(&Dir, &str, FilePath) -> Option<T> + Sync),
    queue: Mutex<Queue>,
    /// Signals new jobs, or the end of the walk.
    changed: Condvar,
}

struct Queue {
    /// Jobs are taken from the end: depth first keeps few directories open.
    ahead: Vec<Job>,
    /// Number of running jobs. Each may add more jobs.
    busy: usize,
    /// The reason why the walk stopped with an incomplete result.
    failed: Option<io::Error>,
}

/// A directory to visit.
struct Job {
    parent: Arc<Dir>,
    /// Name in `parent`.
    name: String,
    path: FilePath,
    /// The ignore rules above it, without its own `.gitignore`.
    rules: IgnoreRules,
}

impl<T> Walk<'_, T> {
    fn work(&self) -> Vec<T> {
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
            queue.busy -= 1;
            self.changed.notify_all();
        }
        found
    }

    /// Returns the next job, waiting while running jobs may add one.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.ahead.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the files of one directory and returns its subdirectories. An unreadable directory is skipped.
    ///
    /// # Errors
    ///
    /// The system has no file descriptors or memory left.
    fn visit(&self, job: &Job, reader: &mut Reader, found: &mut Vec<T>) -> io::Result<Vec<Job>> {
        let (directory, entries) = match reader.enter(&job.parent, &job.name) {
            Ok(entered) => entered,
            Err(error) if is_exhausted(&error) => return Err(error),
            Err(_) => return Ok(Vec::new()),
        };
        let directory = Arc::new(directory);
        let has_rules = entries.iter().any(|(name, _)| name == GITIGNORE);
        let gitignore = if has_rules { read_entry(&directory, GITIGNORE) } else { None };
        let rules = job.rules.enter(&job.path, gitignore.as_deref());
        let mut inner = Vec::new();
        for (name, kind) in entries {
            let (path, is_directory) = (job.path.join(&name), kind == Kind::Directory);
            let is_skipped = match self.hidden {
                Hidden::Skipped => rules.skips(&path, is_directory),
                Hidden::Found => name == ".git" || rules.ignores(&path, is_directory),
            };
            if is_skipped {
                continue;
            }
            if is_directory {
                inner.push(Job { parent: Arc::clone(&directory), name, path, rules: rules.clone() });
            } else if kind == Kind::File && self.filter.accepts(&path) {
                found.extend((self.take)(&directory, &name, path));
            }
        }
        Ok(inner)
    }
}
