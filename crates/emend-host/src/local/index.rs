//! The index of a large project: when it is built and brought up to date, and which files a search can leave out.
//!
//! A search never waits for the index. It uses the one that is ready and looks at the stamp of each file that it leaves
//! out. Work on the index runs on a thread of its own, which the first search starts. Later updates follow from what
//! searches notice: files that the index does not know.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;
use emend_agent::environment::walk::Filter;
use emend_agent::environment::{EnvError, FilePath};
use emend_agent::search::Matcher;
use emend_index::{Content, Files, Index, Plan, Reading, Scope, Selection, Stamp, Updated, Verdict};
use rustix::fs::{AtFlags, Stat, fstat, statat};

use super::path_list::PathList;
use super::search::{Hidden, find};
use crate::files::{RootFiles, describe, on_disk, read_text, reading};
use crate::state::StateDir;

/// Shortest time between two updates that searches cause.
const PAUSE: Duration = Duration::from_secs(5);

/// Time between two looks at a project that is too small for an index.
const PAUSE_WHILE_SMALL: Duration = Duration::from_secs(60);

/// Time after which a file that changed just before an update is trusted.
pub(super) const SETTLED: Duration = Duration::from_millis(2_500);

/// The index of one root.
pub(super) struct ProjectIndex {
    files: Arc<RootFiles>,
    directory: PathBuf,
    scope: Scope,
    /// Projects with fewer files have no index.
    files_min: usize,
    state: Mutex<State>,
    is_stopped: AtomicBool,
    /// All paths, for lists and completion while there is an index.
    paths: PathList,
}

#[derive(Default)]
struct State {
    ready: Option<Arc<Index>>,
    is_updating: bool,
    /// The earliest time of the next update; `None` before the first one.
    next: Option<Instant>,
}

/// The figures of one update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFigures {
    /// Files in the index; 0 if the project is too small for one.
    pub n_files: usize,
    /// Files that the update read.
    pub n_read: usize,
    /// Files that changed so recently that searches read them until the next update.
    pub n_racy: usize,
    /// Size of the index on the disk in bytes.
    pub n_bytes: u64,
}

impl ProjectIndex {
    pub(super) fn new(files: Arc<RootFiles>, state: &StateDir, files_min: usize) -> Self {
        Self {
            directory: state.directory().join("index"),
            scope: Scope::of(&files.real_root().to_string_lossy()),
            files,
            files_min,
            state: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            paths: PathList::default(),
        }
    }

    /// Returns the index if it is ready. Otherwise, work on it starts, unless there was some a short time ago.
    pub(super) fn ready(self: &Arc<Self>) -> Option<Arc<Index>> {
        let ready = self.lock().ready.clone();
        if ready.is_none() {
            self.start();
        }
        ready
    }

    /// Returns the paths of all files in order, as a walk finds them. `None` while no index is ready, so also in a project
    /// that is too small for one.
    pub(super) fn paths(self: &Arc<Self>) -> Option<Vec<FilePath>> {
        self.ready()?;
        self.paths.paths(&self.files)
    }

    /// Notes that a search met files that the index does not know.
    fn note_unknown(self: &Arc<Self>, n_files: usize) {
        if n_files > 0 {
            self.start();
        }
    }

    /// Starts an update on a thread of its own, unless one runs or ended a short time ago.
    fn start(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.is_updating || state.next.is_some_and(|next| Instant::now() < next) {
            return;
        }
        state.is_updating = true;
        drop(state);
        let this = Arc::clone(self);
        let started = thread::Builder::new().name("emend-index".to_owned()).spawn(move || this.work());
        if started.is_err() {
            // Searches work without the index, and the next one tries again.
            self.lock().is_updating = false;
        }
    }

    fn work(&self) {
        let begun = Instant::now();
        let mut pause = PAUSE;
        if self.lock().ready.is_none() {
            // The index of an earlier process serves until it is up to date.
            let found = Index::open(&self.directory, &self.scope).filter(|index| index.n_files() >= self.files_min);
            self.lock().ready = found.map(Arc::new);
        }
        match self.update() {
            Ok(updated) if updated.n_racy > 0 => {
                thread::sleep(SETTLED);
                // A failure leaves the index of the first update.
                let _ = self.update();
            }
            Ok(updated) if updated.n_files > 0 => {}
            // The project is small, or, for example, the disk is full. Searches work without the index.
            Ok(_) | Err(_) => pause = PAUSE_WHILE_SMALL,
        }
        let mut state = self.lock();
        state.is_updating = false;
        // Updates take at most a tenth of the time, also in a project whose files change all the time.
        state.next = Some(Instant::now() + pause.max(10 * begun.elapsed()));
    }

    /// Brings the index up to date. A project that is too small for one has none afterwards.
    pub(super) fn update(&self) -> Result<IndexFigures, EnvError> {
        self.update_as_of(now_ns())
    }

    /// As [`update`](Self::update), with the time before the update.
    fn update_as_of(&self, now_ns: i64) -> Result<IndexFigures, EnvError> {
        let list = self.list()?;
        if list.len() < self.files_min {
            self.lock().ready = None;
            return Ok(IndexFigures::default());
        }
        let listed = Listed { owner: self, list };
        let updated = emend_index::update(&self.directory, &self.scope, now_ns, &listed);
        let Updated { index, n_read, n_racy } = updated.map_err(|error| describe(".", &error))?;
        let figures = IndexFigures { n_files: index.n_files(), n_read, n_racy, n_bytes: index.n_bytes() };
        self.lock().ready = Some(Arc::new(index));
        Ok(figures)
    }

    /// Returns all files with their stamps, in the order of their paths.
    fn list(&self) -> Result<Vec<(String, Stamp)>, EnvError> {
        let root = FilePath::root();
        let filter = Filter::of_glob(&root, "**")?;
        let mut found = find(&self.files, &root, &filter, Hidden::Skipped, &|directory, name, path| {
            Some((path.as_str().to_owned(), stamp_in(directory, name)?))
        })?;
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The index of an environment. Its drop ends the work on the index.
pub(super) struct LocalIndex(Arc<ProjectIndex>);

impl LocalIndex {
    pub(super) fn new(index: ProjectIndex) -> Self {
        Self(Arc::new(index))
    }

    pub(super) fn shared(&self) -> Arc<ProjectIndex> {
        Arc::clone(&self.0)
    }
}

impl Drop for LocalIndex {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// The files of a search that the index leaves out.
pub(super) struct Prefilter {
    owner: Arc<ProjectIndex>,
    index: Arc<Index>,
    selection: Selection,
    n_unknown: AtomicUsize,
}

impl Prefilter {
    /// Returns the prefilter of a pattern; `None` while no index is ready.
    pub(super) fn of(owner: &Arc<ProjectIndex>, matcher: &Matcher) -> Option<Self> {
        let index = owner.ready()?;
        let selection = index.select(&Plan::new(matcher.hir()));
        Some(Self { owner: Arc::clone(owner), index, selection, n_unknown: AtomicUsize::new(0) })
    }

    /// Returns whether the file `name` of `directory`, whose path is `path`, has to be searched. The others have no match.
    pub(super) fn keeps(&self, directory: &Dir, name: &str, path: &FilePath) -> bool {
        match self.index.verdict(&self.selection, path.as_str()) {
            Verdict::MayMatch => return true,
            // A link in place of the file has another stamp, because its inode is another one.
            Verdict::SkipIfStill(stamp) if stamp_in(directory, name) == Some(stamp) => return false,
            Verdict::SkipIfStill(_) | Verdict::Unknown => {}
        }
        self.n_unknown.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Tells the index how many files it did not know.
    pub(super) fn finish(&self) {
        self.owner.note_unknown(self.n_unknown.load(Ordering::Relaxed));
    }
}

/// The files of the project, for an update.
struct Listed<'a> {
    owner: &'a ProjectIndex,
    list: Vec<(String, Stamp)>,
}

impl Files for Listed<'_> {
    fn list(&self) -> &[(String, Stamp)] {
        &self.list
    }

    fn is_stopped(&self) -> bool {
        self.owner.is_stopped.load(Ordering::Relaxed)
    }

    fn read(&self, path: &str) -> Option<Reading> {
        let path = FilePath::clean(path)?;
        let file = self.owner.files.directory().open_with(on_disk(&path), &reading()).ok()?;
        let before = stamp(&fstat(&file).ok()?);
        // A file of the kernel has size 0 and a content that changes without a trace.
        if before.size == 0 || before.size > emend_index::TEXT_BYTES_MAX {
            return None;
        }
        let mut buffer = Vec::new();
        let content = match read_text(&file, &mut buffer) {
            Some(filled) => {
                buffer.truncate(filled);
                Content::Text(buffer)
            }
            None => Content::Binary,
        };
        (stamp(&fstat(&file).ok()?) == before).then_some(Reading { stamp: before, content })
    }
}

/// Returns the stamp of the file `name` of `directory`, without following a link.
fn stamp_in(directory: &Dir, name: &str) -> Option<Stamp> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().as_ref().map(stamp)
}

pub(super) fn stamp(found: &Stat) -> Stamp {
    /// Types differ between systems.
    fn nanoseconds(seconds: impl TryInto<i64>, rest: impl TryInto<i64>) -> i64 {
        let seconds: i64 = seconds.try_into().unwrap_or_default();
        seconds.saturating_mul(1_000_000_000).saturating_add(rest.try_into().unwrap_or_default())
    }
    Stamp {
        modified_ns: nanoseconds(found.st_mtime, found.st_mtime_nsec),
        changed_ns: nanoseconds(found.st_ctime, found.st_ctime_nsec),
        size: u64::try_from(found.st_size).unwrap_or_default(),
        inode: found.st_ino,
    }
}

pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
