//! Keeps files before commands run, so that everything a command changes can be undone.
//!
//! The keeper's directory, in the project's state, holds:
//!
//! - `tree.postcard`: every path with its marks, as of the last command. A path whose marks are the same is not read again.
//! - `pack-…` with `index-…`, and `large-…`: the contents, by hash.
//! - `running.json`: the run of the command that is running, with the mark of its processes. If this process is killed,
//!   the next process finds it, waits until the command has ended, and records its changes.
//! - `alive`: its modification time tells until when that process was alive.
//! - `aside`: files whose content is not stored and that an undo or redo took away.
//! - `changes.jsonl`: the changes of each command and of each undo, each redo, and mode bits before edits.
//!
//! Contents, tree and note are durable before the command starts.

mod alive;
mod aside;
mod compare;
mod copy;
mod index;
mod leftover;
mod merge;
mod modes;
mod names;
mod node;
mod pack;
mod preview;
mod record;
mod redo;
mod restore;
mod scan;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod tests;
mod tree;
mod undo;
mod unkept;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use emend_agent::environment::{
    FilePath, KeptChange, KeptChangeKind, KeptInterrupted, KeptRestored, KeptRun, KeptUndo, ReplacedDirectories,
    UndoStep,
};
use emend_edit::text::decode;
use emend_llm::Random as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::alive::{SignsOfLife, end_of_command};
use self::aside::{ASIDE, Aside};
use self::compare::{Differences, Seen, compare, forget_looks, is_later};
pub(crate) use self::copy::CopyTree;
use self::modes::{Modes, mode_at};
use self::node::{Blob, Change, Content, Entry, Node};
use self::pack::{Pack, STORE_BYTES_MAX};
use self::record::{Line, NotedModes, Record, Recorded, append_line};
use self::scan::{entry_at, scan};
use self::undo::{Outcome, Undoing};
use crate::clock::OsRandom;
use crate::files::{Attributes, RootFiles};
use crate::state::{create_private, replace};

/// Maximum number of files that get a line log by one command. The changes of further files are undone whole.
const LOGGED_FILES_MAX: usize = 1000;

/// From this size on, contents that nothing needs are removed from the store.
const TIDIED_BYTES_MIN: u64 = STORE_BYTES_MAX / 2;

const RUNNING: &str = "running.json";

/// A command that is running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    run: u64,
    at_ms: u64,
    /// Whether it runs in a copy, which shares only ignored directories with the root.
    #[serde(default)]
    in_copy: bool,
    /// The mark of its processes.
    #[serde(default)]
    mark: String,
}

/// The keeper of one root.
#[derive(Debug)]
pub(crate) struct Keeper {
    directory: PathBuf,
    mark: String,
    /// Whether another process may use the data, so that nothing may be recorded.
    only_reads: bool,
    /// Loaded at the first use, and again after an error.
    loaded: Option<Loaded>,
    /// Given while a command runs.
    signs: Option<SignsOfLife>,
}

#[derive(Debug)]
struct Loaded {
    directory: PathBuf,
    /// Device and inode of the state directory, which may be inside the project.
    state: (u64, u64),
    tree: Vec<Entry>,
    /// Whether the saved tree is older.
    is_dirty: bool,
    pack: Pack,
    aside: Aside,
    /// Size of the store after it was tidied.
    n_tidied: u64,
    record: Record,
    /// The first step of an undo; `None` if not all of it is known, because an earlier process was killed during this undo.
    undoing: Option<Undoing>,
    /// The outcome of the first step of a redo.
    redone: Option<Outcome>,
    /// Paths that have the state from before a command since the first step of the last undo.
    put_back: BTreeSet<FilePath>,
    /// Mode bits of edited files at the start of the present undo.
    at_start: Modes,
}

impl Keeper {
    /// Returns a keeper that only names runs: another process may use the data of `state`.
    pub(crate) fn for_reading(state: &Path) -> Self {
        Self { only_reads: true, ..Self::new(state) }
    }

    /// Returns the keeper that stores its data in `state`, the state directory of the root.
    pub(crate) fn new(state: &Path) -> Self {
        let mark = format!("kept-{:016x}{:016x}", OsRandom.next_u64(), OsRandom.next_u64());
        Self { directory: state.join("kept"), mark, only_reads: false, loaded: None, signs: None }
    }

    /// Returns the mark that the processes of commands must carry in their variables.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Loads the data, and records the changes of a command during which an earlier process was killed.
    fn load(&mut self, files: &RootFiles) -> io::Result<&mut Loaded> {
        if self.only_reads {
            return Err(io::Error::other("the project was opened for reading only"));
        }
        if self.loaded.is_none() {
            self.loaded = Some(Loaded::open(&self.directory, files, self.signs.is_some())?);
        }
        self.loaded.as_mut().ok_or_else(|| io::Error::other("not loaded"))
    }

    /// Loads the data and calls `work`. After an error the data is loaded again.
    fn with<T>(&mut self, files: &RootFiles, work: impl FnOnce(&mut Loaded) -> io::Result<T>) -> io::Result<T> {
        let done = self.load(files).and_then(work);
        if done.is_err() {
            self.loaded = None;
        }
        done
    }

    /// Returns the run of a command whose changes are not recorded yet.
    pub(crate) fn running(&self) -> Option<u64> {
        let running: Option<Running> = document(&self.directory.join(RUNNING)).ok()?;
        Some(running?.run)
    }

    /// Records the changes of a command during which an earlier process was killed.
    pub(crate) fn record_interrupted(&mut self, files: &RootFiles) -> io::Result<()> {
        match self.directory.join(RUNNING).exists() {
            true => self.with(files, |_| Ok(())),
            false => Ok(()),
        }
    }

    /// Keeps all files, because a command of `run` starts.
    pub(crate) fn keep(&mut self, files: &RootFiles, running: (u64, u64)) -> io::Result<()> {
        self.keep_for(files, running, false)
    }

    /// Keeps all files, because a command of `run` starts in a copy that shares the ignored directories.
    pub(crate) fn keep_shared(&mut self, files: &RootFiles, running: (u64, u64)) -> io::Result<()> {
        self.keep_for(files, running, true)
    }

    fn keep_for(&mut self, files: &RootFiles, (run, at_ms): (u64, u64), in_copy: bool) -> io::Result<()> {
        create_private(&self.directory)?;
        let running = Running { run, at_ms, in_copy, mark: self.mark.clone() };
        self.with(files, |loaded| loaded.keep(files, &running))?;
        self.signs = Some(SignsOfLife::start(&self.directory)?);
        Ok(())
    }

    /// Records the changes since [`keep`](Self::keep).
    pub(crate) fn record(
        &mut self,
        files: &RootFiles,
        skip: &BTreeSet<FilePath>,
        logged: &BTreeSet<FilePath>,
    ) -> io::Result<Vec<KeptChange>> {
        let recorded = self.with(files, |loaded| loaded.record(files, skip, Some(logged), None));
        self.signs = None;
        recorded
    }

    /// Notes the mode bits of files that an edit of `run` is about to create, delete or replace.
    pub(crate) fn note_edit(&mut self, files: &RootFiles, run: u64, paths: Vec<FilePath>) -> io::Result<()> {
        create_private(&self.directory)?;
        let modes = paths.into_iter().map(|path| {
            let mode = mode_at(files, &path);
            (path, mode)
        });
        let line = Line::Modes(NotedModes { run, modes: modes.collect() });
        match self.loaded {
            // The rest of the data is not needed for this.
            None => append_line(&self.directory, &line),
            Some(_) => self.with(files, |loaded| loaded.append(line)),
        }
    }

    /// Returns the text of a file before the last recorded command.
    pub(crate) fn text_before(&mut self, files: &RootFiles, path: &FilePath) -> io::Result<Option<String>> {
        self.with(files, |loaded| {
            let change = loaded.record.commands.last().and_then(|recorded| recorded.change_of(path));
            match change.and_then(|change| change.before.as_ref()).map(|before| &before.content) {
                Some(Content::File { blob: Some(blob), .. }) => {
                    let blob = *blob;
                    let content = loaded.pack.read(&blob)?;
                    Ok(decode(&content).ok().map(str::to_owned))
                }
                _ => Ok(None),
            }
        })
    }

    /// Returns the runs with recorded changes. There are none if the data cannot be loaded.
    pub(crate) fn runs(&mut self, files: &RootFiles) -> Vec<KeptRun> {
        if !self.directory.exists() {
            return Vec::new();
        }
        if self.only_reads {
            return Record::read(&self.directory).map(|(record, _)| record.runs()).unwrap_or_default();
        }
        self.with(files, |loaded| Ok(loaded.record.runs())).unwrap_or_default()
    }

    /// Returns the paths that were directories before the first command of `runs` that changed them.
    pub(crate) fn directories_before(&mut self, files: &RootFiles, runs: &[u64]) -> ReplacedDirectories {
        if !self.directory.exists() {
            return ReplacedDirectories::new();
        }
        if self.only_reads {
            let read = Record::read(&self.directory);
            return read.map(|(record, _)| record.directories_before(runs)).unwrap_or_default();
        }
        self.with(files, |loaded| Ok(loaded.record.directories_before(runs))).unwrap_or_default()
    }

    /// Returns the number of changes in each ignored directory. There are none if the data cannot be loaded.
    pub(crate) fn ignored(&mut self, files: &RootFiles, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize> {
        if !self.directory.exists() {
            return BTreeMap::new();
        }
        if self.only_reads {
            return Record::read(&self.directory)
                .map(|(record, _)| record.ignored(runs, only_live))
                .unwrap_or_default();
        }
        self.with(files, |loaded| Ok(loaded.record.ignored(runs, only_live))).unwrap_or_default()
    }

    /// Begins an undo of runs; the number is that of the user's steps before it.
    pub(crate) fn begin_undo(
        &mut self,
        files: &RootFiles,
        undo: (&[u64], usize),
        texts: &BTreeSet<FilePath>,
    ) -> io::Result<()> {
        match self.directory.exists() {
            true => self.with(files, |loaded| loaded.begin_undo(files, undo, texts)),
            false => Ok(()),
        }
    }

    /// Does one step of an undo.
    pub(crate) fn undo(&mut self, files: &RootFiles, undo: &KeptUndo, step: UndoStep) -> io::Result<KeptRestored> {
        if !self.directory.exists() {
            return Ok(KeptRestored::default());
        }
        self.with(files, |loaded| loaded.undo(files, undo, step))
    }

    /// Returns the runs of the last undo that can be redone.
    pub(crate) fn undone(&mut self, files: &RootFiles) -> Vec<u64> {
        self.of_undone(files, Record::undone_runs).unwrap_or_default()
    }

    /// Returns the time of the last undo that can be redone, if it is known.
    pub(crate) fn undone_at(&mut self, files: &RootFiles) -> Option<u64> {
        self.of_undone(files, |record| record.undone.last().and_then(|undone| undone.at_ms)).flatten()
    }

    /// Returns the user's steps that line logs took in the last undo that can be redone, by number.
    pub(crate) fn undone_steps(&mut self, files: &RootFiles) -> Range<usize> {
        let steps = |record: &Record| record.undone.last().map(|undone| undone.steps.clone());
        self.of_undone(files, steps).flatten().unwrap_or_default()
    }

    /// Returns something that the record says of the last undo; `None` if the record cannot be loaded.
    fn of_undone<T>(&mut self, files: &RootFiles, read: impl FnOnce(&Record) -> T) -> Option<T> {
        if self.only_reads || !self.directory.exists() {
            return None;
        }
        self.with(files, |loaded| Ok(read(&loaded.record))).ok()
    }

    /// Returns the undo or redo that is not complete.
    pub(crate) fn interrupted(&self) -> Option<KeptInterrupted> {
        match &self.loaded {
            _ if self.only_reads => None,
            Some(loaded) => loaded.record.interrupted(),
            // The rest of the data is not needed for this.
            None => Record::read(&self.directory).ok()?.0.interrupted(),
        }
    }

    /// Gives files whose edits line logs have redone their mode bits.
    pub(crate) fn redo_modes(&mut self, files: &RootFiles, redone: &BTreeSet<FilePath>) -> io::Result<()> {
        if !self.directory.exists() {
            return Ok(());
        }
        self.with(files, |loaded| loaded.redo_modes(files, redone))
    }

    /// Returns the paths that a redo of the last undo would restore or find restored.
    pub(crate) fn preview_redo(&mut self, files: &RootFiles) -> io::Result<BTreeSet<FilePath>> {
        if !self.directory.exists() {
            return Ok(BTreeSet::new());
        }
        self.with(files, |loaded| loaded.preview_redo(files))
    }

    /// Does the first step of a redo of the last undo. Returns the paths that are restored now.
    pub(crate) fn redo(&mut self, files: &RootFiles) -> io::Result<BTreeSet<FilePath>> {
        if !self.directory.exists() {
            return Ok(BTreeSet::new());
        }
        self.with(files, |loaded| loaded.redo(files))
    }

    /// Completes a redo.
    pub(crate) fn complete_redo(
        &mut self,
        files: &RootFiles,
        merged: &BTreeSet<FilePath>,
        by_logs: &BTreeSet<FilePath>,
    ) -> io::Result<KeptRestored> {
        if !self.directory.exists() {
            return Ok(KeptRestored::default());
        }
        self.with(files, |loaded| loaded.complete_redo(files, merged, by_logs))
    }
}

impl Loaded {
    fn open(directory: &Path, files: &RootFiles, is_running: bool) -> io::Result<Self> {
        let found = fs::metadata(directory.parent().unwrap_or(directory))?;
        let (record, n_whole) = Record::read(directory)?;
        let mut loaded = Self {
            directory: directory.to_owned(),
            state: (found.dev(), found.ino()),
            tree: tree::read(directory)?,
            is_dirty: !directory.join(tree::TREE).exists(),
            pack: Pack::open(directory)?,
            aside: Aside(directory.join(ASIDE)),
            n_tidied: 0,
            record,
            undoing: None,
            redone: None,
            put_back: BTreeSet::new(),
            at_start: Modes::new(),
        };
        if let Some(n_whole) = n_whole {
            // A broken last line is that of a process that was killed.
            File::options().write(true).open(directory.join(record::CHANGES))?.set_len(n_whole)?;
        }
        if let Some(running) = document::<Running>(&directory.join(RUNNING))? {
            let has_waited = leftover::wait_for(&running.mark);
            // The command of this process still runs, or that of a killed one ran until now.
            let end = if is_running || has_waited { None } else { end_of_command(directory) };
            loaded.record(files, &BTreeSet::new(), None, end)?;
        }
        Ok(loaded)
    }

    /// Appends a line to the record, durably, and applies it.
    fn append(&mut self, line: Line) -> io::Result<()> {
        append_line(&self.directory, &line)?;
        self.record.take(line);
        Ok(())
    }

    /// Removes contents that nothing needs. If the others exceed `bytes_max`, the oldest commands can no longer be undone.
    fn tidy(&mut self, bytes_max: u64) -> io::Result<()> {
        let mut live: BTreeSet<Blob> = self.tree.iter().filter_map(|entry| blob_of(&entry.content)).collect();
        let mut n_bytes: u64 = live.iter().map(|blob| blob.len).sum();
        let mut has_dropped = false;
        for blob in self.record.nodes_of_undos().filter_map(|node| blob_of(&node.content)) {
            if live.insert(blob) {
                n_bytes += blob.len;
            }
        }
        for recorded in self.record.commands.iter_mut().rev() {
            let nodes = recorded.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
            for blob in nodes.filter_map(|node| blob_of(&node.content)) {
                if live.insert(blob) {
                    n_bytes += blob.len;
                }
            }
            if n_bytes > bytes_max && !recorded.changes.is_empty() {
                has_dropped = true;
                recorded.forget();
            }
        }
        if has_dropped {
            let mut lines = Vec::new();
            for line in self.record.steps().chain([Line::no_undo()]) {
                serde_json::to_writer(&mut lines, &line)?;
                lines.push(b'\n');
            }
            replace(&self.directory.join(record::CHANGES), &lines)?;
            self.record.undone.clear();
            let nodes = self.record.commands.iter().flat_map(|recorded| &recorded.changes);
            let nodes = nodes.flat_map(|change| [&change.before, &change.after]).flatten();
            let kept = nodes.filter_map(|node| blob_of(&node.content));
            live = kept.chain(self.tree.iter().filter_map(|entry| blob_of(&entry.content))).collect();
        }
        self.pack.retain(&live)
    }

    fn keep(&mut self, files: &RootFiles, running: &Running) -> io::Result<()> {
        if self.directory.join(RUNNING).exists() {
            // The changes of the last command were not recorded, because of an error.
            self.record(files, &BTreeSet::new(), None, None)?;
        }
        if self.pack.size() > TIDIED_BYTES_MIN.max(2 * self.n_tidied) {
            self.tidy(STORE_BYTES_MAX / 2)?;
            self.n_tidied = self.pack.size();
        }
        let tree = self.look(files)?;
        self.is_dirty |= tree != self.tree;
        self.tree = tree;
        self.pack.sync()?;
        if self.is_dirty {
            tree::write(&self.directory, &self.tree)?;
            self.is_dirty = false;
        }
        replace(&self.directory.join(RUNNING), &serde_json::to_vec(running)?)?;
        File::open(&self.directory)?.sync_all()
    }

    /// Returns the present tree. Stores the contents of files that have changed since the last one.
    fn look(&mut self, files: &RootFiles) -> io::Result<Vec<Entry>> {
        let mut tree = scan(files, self.state)?;
        self.read_contents(files, &mut tree)?;
        Ok(tree)
    }

    /// Stores the contents of the files of a new tree that have changed since the last one.
    fn read_contents(&mut self, files: &RootFiles, tree: &mut [Entry]) -> io::Result<()> {
        let mut known = self.tree.iter().peekable();
        for entry in tree {
            while known.next_if(|known| known.path < entry.path).is_some() {}
            let same = known.next_if(|known| known.path == entry.path);
            self.pack.add_entry(files, entry, same)?;
        }
        Ok(())
    }

    /// Returns whether a change of a git index stages something else, rather than noting times of files.
    fn stages(&mut self, change: &Change) -> io::Result<bool> {
        let blobs = [&change.before, &change.after].map(|node| blob_of(&node.as_ref()?.content));
        let (true, [Some(before), Some(after)]) = (names::is_index(&change.path), blobs) else { return Ok(false) };
        let (before, after) = (index::staged(&self.pack.read(&before)?), index::staged(&self.pack.read(&after)?));
        Ok(before.is_some() && after.is_some() && before != after)
    }

    /// Records the changes since [`keep`](Self::keep). Those after `end` are not the command's. `logged` are the files with
    /// line logs; `None` if no line log gets the changes.
    fn record(
        &mut self,
        files: &RootFiles,
        skip: &BTreeSet<FilePath>,
        logged: Option<&BTreeSet<FilePath>>,
        end: Option<i64>,
    ) -> io::Result<Vec<KeptChange>> {
        let running: Option<Running> = document(&self.directory.join(RUNNING))?;
        let Some(Running { run, at_ms, in_copy, .. }) = running else { return Ok(Vec::new()) };
        let tree = self.look(files)?;
        let (state, pack) = (self.state, &mut self.pack);
        let look = |known: &Entry| match entry_at(files, state, &known.path, known.is_product) {
            Ok(Some(mut entry)) => {
                pack.add_entry(files, &mut entry, Some(known))?;
                Ok(Seen::Entry(Box::new(entry)))
            }
            Ok(None) => Ok(Seen::Nothing),
            Err(_) => Ok(Seen::Unreadable),
        };
        let Differences { mut changes, mut lost, .. } = compare(&self.tree, &tree, look)?;
        changes.retain(|change| !skip.contains(&change.path));
        forget_looks(&mut changes, |change| self.stages(change))?;
        let since = self.since()?;
        lost.extend(self.brought(files, &mut changes, since));
        lost.extend(self.changed_crowds(files, &tree, since)?);
        lost.sort_unstable();
        lost.dedup();
        lost.retain(|path| !skip.contains(path));
        if let Some(end) = end {
            let (late, known) = changes.into_iter().partition(|change| is_later(&tree, change, end));
            changes = known;
            lost.extend(late.into_iter().map(|change: Change| change.path));
            lost.sort_unstable();
        }
        let product = |path: &FilePath| [&self.tree, &tree].into_iter().find_map(|tree| copy::top_product(tree, path));
        if in_copy {
            // Everything else was changed by the user or another program.
            changes.retain(Change::is_product);
            lost.retain(|path| product(path).is_some());
        }
        let removed = changes.iter().filter_map(|change| match (&change.before, &change.after) {
            (Some(before @ Node { content: Content::File { .. }, .. }), None)
                if names::repository(&change.path).is_none() =>
            {
                Some((change.path.clone(), Attributes { mode: before.mode, owner: None }))
            }
            _ => None,
        });
        // A line log that creates such a file again gives it its mode bits at once.
        files.note_removed(&removed.collect::<Vec<_>>())?;
        self.pack.sync()?;
        // A build product that an edit has changed, too, has a line log, which must know all changes.
        let has_log = |change: &Change| logged.is_some_and(|logged| logged.contains(&change.path));
        let is_text =
            |change: &&Change| change.is_text() && !change.keeps_content() && (!change.is_product() || has_log(change));
        // Build products are undone, too, but nobody has to read their names.
        let (mut texts, mut unlogged) = (BTreeSet::new(), BTreeSet::new());
        for path in changes.iter().filter(is_text).map(|change| &change.path) {
            let is_logged = logged.is_some_and(|logged| logged.contains(path) || texts.len() < LOGGED_FILES_MAX);
            if is_logged { &mut texts } else { &mut unlogged }.insert(path.clone());
        }
        let shown = changes.iter().filter(|change| !change.is_product() || texts.contains(&change.path));
        let changed = names::all_shown(shown.map(|change| &change.path)).into_iter().map(|path| {
            let kind = if texts.contains(&path) { KeptChangeKind::Text } else { KeptChangeKind::Other };
            KeptChange { path, kind }
        });
        let shared: BTreeSet<FilePath> = match in_copy {
            true => changes.iter().filter_map(|change| product(&change.path)).cloned().collect(),
            false => BTreeSet::new(),
        };
        let shared = shared.iter().map(|path| KeptChange { path: names::shown(path), kind: KeptChangeKind::Other });
        let lost_ones = names::all_shown(&lost).into_iter();
        let lost_ones = lost_ones.map(|path| KeptChange { path, kind: KeptChangeKind::Lost });
        let mut all: Vec<KeptChange> = changed.chain(shared).chain(lost_ones).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup();
        if !changes.is_empty() || !lost.is_empty() {
            let mut ignored = BTreeMap::new();
            let products = || changes.iter().filter(|change| change.is_product());
            let logged_products = products().map(|change| &change.path).filter(|path| texts.contains(*path));
            let logged_products = logged_products.cloned().collect();
            for change in products().filter(|change| !texts.contains(&change.path)) {
                *ignored.entry(product(&change.path).unwrap_or(&change.path).clone()).or_default() += 1;
            }
            let recorded =
                Recorded::new(run, at_ms, changes, lost).without_logs(unlogged).with_ignored(ignored, logged_products);
            self.append(Line::Command(recorded))?;
        }
        self.is_dirty |= tree != self.tree;
        self.tree = tree;
        fs::remove_file(self.directory.join(RUNNING))?;
        Ok(all)
    }
}

fn blob_of(content: &Content) -> Option<Blob> {
    match content {
        Content::File { blob, .. } => *blob,
        _ => None,
    }
}

/// Returns a document; `None` if it does not exist.
fn document<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
