//! Saving and loading of a workspace between processes or page loads.

use std::collections::BTreeMap;

#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::LoadError;
use emend_edit::line_log::{Action, HunkLimits, LineLog, LogEntry, Origin};
use emend_edit::size::compact_sort::map_of;
use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};
use serde::{Deserialize, Serialize};

use super::entry::{Entry, SavedEntry};
use super::error::WorkspaceError;
use super::state::{State, Workspace};
#[cfg(not(target_family = "wasm"))]
use super::steps::RepeatedRollback;
use super::steps::{FinishedStep, Step, StepKind};
#[cfg(not(target_family = "wasm"))]
use crate::canvas::SavedCanvas;
use crate::environment::{EnvError, FilePath};
#[cfg(not(target_family = "wasm"))]
use crate::environment::{FileKeeper, KeptInterrupted};

/// Version of the format. A later one is rejected. A page writes no deltas, and so the first version.
const VERSION: u32 = if cfg!(target_family = "wasm") { VERSION_MIN } else { 2 };
/// The oldest version that is read. It has no deltas.
const VERSION_MIN: u32 = 1;

/// The line logs of a workspace, as plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    version: u32,
    revision: u64,
    run: u64,
    n_entries: u64,
    files: BTreeMap<FilePath, SavedEntry>,
    done: Vec<Vec<FilePath>>,
    undone: Vec<Vec<FilePath>>,
    /// The rollback that a redo may repeat.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeated_rollback: Option<RepeatedRollback>,
    /// The canvas of a root that several servers share.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    canvas: Option<SavedCanvas>,
    /// Files that were about to be written: see [`Workspace::catch_up`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expected: Vec<FilePath>,
    /// The step of the user that those writes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<Step>,
}

/// Why a snapshot is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Another version of this library wrote it.
    #[error(
        "the saved review is of format {found}, this program reads format {VERSION}; finish it with the program that wrote it"
    )]
    Version {
        /// That version.
        found: u32,
    },
    /// A log contradicts itself, or a delta does not fit the log before it.
    #[cfg(not(target_family = "wasm"))]
    #[error("the saved review of {path}: {source}")]
    Log {
        /// The file.
        path: FilePath,
        /// The contradiction.
        source: LoadError,
    },
}

impl SnapshotError {
    fn ensure_version(found: u32) -> Result<(), Self> {
        if (VERSION_MIN..=VERSION).contains(&found) { Ok(()) } else { Err(Self::Version { found }) }
    }
}

/// Saves the line logs of a workspace, for a host that keeps them.
pub trait SaveSnapshot: MaybeSend + MaybeSync {
    /// Saves the state durably: `changes` in addition to the previous ones, or all of `whole` in their place.
    ///
    /// `changes` has only the files that changed since the last call that succeeded, see [`Snapshot::apply`].
    ///
    /// # Errors
    ///
    /// The state could not be saved; the previous one is intact then.
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError>;
}

/// Lets one process at a time change a root.
pub trait RootGate: MaybeSend + MaybeSync {
    /// Waits until no other process changes the root. `reload` asks for the whole of the saved line logs instead of the
    /// changes since the last call.
    ///
    /// # Errors
    ///
    /// The right could not be obtained, or the claim of [`fenced`](Self::fenced) is lost. Nothing may change then.
    fn enter(&self, reload: bool) -> BoxFuture<'_, Result<RootEntry, EnvError>>;

    /// Returns the gate for a job: it refuses to open once the claim of the job is lost.
    fn fenced(&self, claim: &str) -> Shared<dyn RootGate>;
}

/// The right to change the root, until it is dropped.
pub trait RootRight: MaybeSend + MaybeSync {}

/// An open gate.
pub struct RootEntry {
    /// The line logs that others have saved.
    pub missed: Missed,
    /// The right.
    pub right: Box<dyn RootRight>,
}

/// The line logs that a process has not seen yet.
#[derive(Default)]
pub struct Missed {
    /// All of them, in place of those that the process knows.
    pub whole: Option<Snapshot>,
    /// Later changes, oldest first.
    pub later: Vec<Snapshot>,
}

/// A log that a write is about to install.
pub(super) struct ExpectedLog<'a> {
    pub(super) path: &'a FilePath,
    pub(super) log: &'a LineLog,
    /// The path that the file is moved from.
    pub(super) moved_from: Option<&'a FilePath>,
    /// Whether the disk keeps its text until the user saves.
    pub(super) waits: bool,
}

/// The logs that a write is about to install.
#[derive(Default)]
pub(super) struct Expected<'a> {
    pub(super) logs: Vec<ExpectedLog<'a>>,
    /// The step of the user that the write is, if it is one.
    pub(super) step: Option<&'a Step>,
}

/// The logs that a write has saved before it changes files, and that are not installed yet. Another save
/// meanwhile, such as with an event of a job, must keep them: after a crash, the files are compared with them.
#[cfg(not(target_family = "wasm"))]
#[derive(Default)]
pub(super) struct InFlight {
    files: BTreeMap<FilePath, SavedEntry>,
    expected: Vec<FilePath>,
    step: Option<Step>,
    revision: u64,
    n_entries: u64,
}

#[cfg(not(target_family = "wasm"))]
impl InFlight {
    /// `saved` is what [`Workspace::save_expecting`] has saved, and `logs` are the logs of which it saved deltas.
    fn of(mut saved: Snapshot, mut logs: BTreeMap<FilePath, LineLog>, expected: &Expected<'_>, state: &State) -> Self {
        let file = |expected: &ExpectedLog<'_>| {
            let (path, mut entry) = saved.files.remove_entry(expected.path)?;
            if let Some((log, known)) = logs.remove(&path).zip(state.files.get(&path)) {
                entry.regrow(log, known);
            }
            Some((path, entry))
        };
        Self {
            files: expected.logs.iter().filter_map(file).collect(),
            expected: saved.expected,
            step: saved.step,
            revision: saved.revision,
            n_entries: saved.n_entries,
        }
    }

    /// Puts the logs of the write into a snapshot of everything. One of changes leaves them as they are saved.
    fn keep_in(&self, snapshot: &mut Snapshot, is_whole: bool) {
        if self.files.is_empty() {
            return;
        }
        for (path, entry) in &self.files {
            match is_whole {
                true => drop(snapshot.files.insert(path.clone(), entry.clone())),
                false => drop(snapshot.files.remove(path)),
            }
        }
        snapshot.expected.clone_from(&self.expected);
        snapshot.step.clone_from(&self.step);
        snapshot.revision = snapshot.revision.max(self.revision);
        snapshot.n_entries = snapshot.n_entries.max(self.n_entries);
    }
}

/// Whether a host may keep the line logs. In a browser none does, and the constant keeps the code out of the module.
pub(super) const MAY_SAVE: bool = cfg!(not(target_family = "wasm"));

/// The logs that are saved: the workspace revision of their last change, by path.
///
/// A log that is saved before it is installed has no revision yet.
pub(super) type SavedLogs = BTreeMap<FilePath, Option<u64>>;

impl Snapshot {
    /// Returns the revision of the workspace that was saved.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the files that were about to be written.
    #[must_use]
    pub fn expected(&self) -> &[FilePath] {
        &self.expected
    }

    /// Applies later changes, as [`SaveSnapshot::save`] gets them: their files replace those of the same path, or change
    /// them.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] for changes that a later version wrote, or those of another snapshot. This snapshot is unusable
    /// then.
    #[cfg(not(target_family = "wasm"))]
    pub fn apply(&mut self, changes: Self) -> Result<(), SnapshotError> {
        SnapshotError::ensure_version(changes.version)?;
        let mut files = std::mem::take(&mut self.files);
        *self = Self { canvas: changes.canvas.clone().or(self.canvas.take()), ..changes };
        for (path, entry) in std::mem::take(&mut self.files) {
            let failed = |source| SnapshotError::Log { path: path.clone(), source };
            let entry = entry.apply_to(files.remove(&path)).map_err(failed)?;
            files.insert(path, entry);
        }
        self.files = files;
        Ok(())
    }

    /// Applies later changes: their files replace those of the same path. Changes of another version are refused when the
    /// snapshot is restored.
    ///
    /// # Errors
    ///
    /// None: a page has no deltas.
    #[cfg(target_family = "wasm")]
    pub fn apply(&mut self, changes: Self) -> Result<(), std::convert::Infallible> {
        let mut files = std::mem::take(&mut self.files);
        *self = changes;
        files.append(&mut self.files);
        self.files = files;
        Ok(())
    }

    /// Returns the files with their logs.
    #[cfg(not(target_family = "wasm"))]
    fn entries(
        files: BTreeMap<FilePath, SavedEntry>,
        limits: HunkLimits,
    ) -> Result<Vec<(FilePath, Entry)>, SnapshotError> {
        let entry = |(path, saved): (FilePath, SavedEntry)| match saved.into_entry(limits) {
            Ok(entry) => Ok((path, entry)),
            Err(source) => Err(SnapshotError::Log { path, source }),
        };
        files.into_iter().map(entry).collect()
    }

    /// Returns the files with their logs.
    #[cfg(target_family = "wasm")]
    fn entries(files: BTreeMap<FilePath, SavedEntry>, limits: HunkLimits) -> impl Iterator<Item = (FilePath, Entry)> {
        files.into_iter().map(move |(path, saved)| (path, saved.into_entry(limits)))
    }

    /// Replaces logs by their changes since they were saved. Returns those logs.
    #[cfg(not(target_family = "wasm"))]
    fn shrunk(mut self, state: &State) -> (Self, BTreeMap<FilePath, LineLog>) {
        let mut logs = BTreeMap::new();
        for (path, entry) in &mut self.files {
            let is_saved = |known: &&Entry| state.saved.get(path) == Some(&Some(known.changed_at));
            let known = state.files.get(path).filter(is_saved);
            logs.extend(known.and_then(|known| entry.shrink(known)).map(|log| (path.clone(), log)));
        }
        (self, logs)
    }

    fn of(state: &State, expected: &Expected<'_>, includes: impl Fn(&FilePath, &Entry) -> bool) -> Self {
        let chosen = state.files.iter().filter(|(path, entry)| includes(path, entry));
        let files = chosen.map(|(path, entry)| (path.clone(), SavedEntry::of(entry.clone())));
        let mut snapshot = Self {
            version: VERSION,
            revision: state.revision,
            run: state.run,
            n_entries: state.n_entries,
            files: map_of(files),
            done: state.done.clone(),
            undone: state.undone.clone(),
            #[cfg(not(target_family = "wasm"))]
            repeated_rollback: state.repeated_rollback.clone(),
            #[cfg(not(target_family = "wasm"))]
            canvas: None,
            expected: expected.logs.iter().filter(|file| !file.waits).map(|file| file.path.clone()).collect(),
            step: expected.step.cloned(),
        };
        for &ExpectedLog { path, log, moved_from, waits } in &expected.logs {
            let mut log = log.clone();
            snapshot.revision += 1;
            let known = state.files.get(path);
            // A log with several entries that are not on the disk yet would not be recognized after a crash: the disk
            // must then still have the text that it had.
            if !waits && known.is_none_or(|entry| !entry.waits) {
                log.mark_saved();
            }
            let number = known.map_or_else(
                || {
                    snapshot.n_entries += 1;
                    snapshot.n_entries
                },
                |entry| entry.number,
            );
            let moved_from = moved_from.or(known.and_then(|entry| entry.moved_from.as_ref())).cloned();
            let mut marks = known.map(|entry| entry.marks.clone()).unwrap_or_default();
            marks.push((snapshot.revision, log.entries().len()));
            let entry = Entry { number, log, moved_from, changed_at: snapshot.revision, marks, waits };
            snapshot.files.insert(path.clone(), SavedEntry::of(entry));
        }
        snapshot
    }
}

impl State {
    /// Records that the log of a file may differ from the saved one.
    pub(super) fn note_unsaved(&mut self, path: &FilePath) {
        if MAY_SAVE {
            self.saved.remove(path);
        }
    }

    /// Records that a write of a file begins. A log that an earlier write has saved and not installed counts as unsaved.
    pub(super) fn note_begun(&mut self, path: &FilePath) {
        if MAY_SAVE && self.saved.get(path) == Some(&None) {
            self.saved.remove(path);
        }
    }

    /// Records that the write under way has ended: its logs are installed without a wait, or taken back.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn forget_in_flight(&mut self) {
        self.in_flight = InFlight::default();
    }

    /// Records that the log of a file is installed now. If it was saved before its file changed, it is saved as it is.
    pub(super) fn note_installed(&mut self, path: &FilePath) {
        if MAY_SAVE && let Some(saved @ None) = self.saved.get_mut(path) {
            *saved = Some(self.revision);
        }
    }
}

impl Workspace {
    /// Saves the line logs, if the host keeps them.
    ///
    /// # Errors
    ///
    /// They could not be saved; those saved before are intact then.
    pub fn persist(&self) -> Result<(), WorkspaceError> {
        Ok(self.save_expecting(&Expected::default())?)
    }

    /// Saves the line logs as a write that is about to happen will leave them, if the host keeps them.
    pub(super) fn save_expecting(&self, expected: &Expected<'_>) -> Result<(), EnvError> {
        let Some(saver) = self.saver.as_ref().filter(|_| MAY_SAVE) else { return Ok(()) };
        let mut state = self.state();
        let is_changed = |path: &FilePath, entry: &Entry| state.saved.get(path) != Some(&Some(entry.changed_at));
        #[cfg(not(target_family = "wasm"))]
        let canvas = self.gate.as_ref().and_then(|_| self.canvas.saved());
        // Another server may have changed one that is as it was read.
        #[cfg(not(target_family = "wasm"))]
        let is_canvas_changed = !self.canvas.is_saved();
        let kept = |snapshot, is_whole| {
            #[cfg(not(target_family = "wasm"))]
            let snapshot = Snapshot { canvas: canvas.clone().filter(|_| is_whole || is_canvas_changed), ..snapshot };
            #[cfg(not(target_family = "wasm"))]
            if expected.logs.is_empty() {
                let mut snapshot = snapshot;
                state.in_flight.keep_in(&mut snapshot, is_whole);
                return snapshot;
            }
            let _ = is_whole;
            snapshot
        };
        let changes = kept(Snapshot::of(&state, expected, is_changed), false);
        // Servers that share a root may have other logs in memory than those saved.
        #[cfg(not(target_family = "wasm"))]
        let (changes, logs) = match self.gate {
            Some(_) => (changes, BTreeMap::new()),
            None => changes.shrunk(&state),
        };
        let whole = || kept(Snapshot::of(&state, expected, |_, _| true), true);
        saver.save(&changes, &whole).map_err(|error| match error {
            EnvError::Io { path, reason } if !expected.logs.is_empty() => {
                EnvError::Io { path, reason: format!("{reason}; nothing was changed") }
            }
            error => error,
        })?;
        #[cfg(not(target_family = "wasm"))]
        if let Some(canvas) = canvas.as_ref().filter(|_| is_canvas_changed) {
            self.canvas.note_saved(canvas);
        }
        state.saved_revision = changes.revision;
        state.saved.extend(changes.files.iter().map(|(path, entry)| (path.clone(), Some(entry.changed_at))));
        state.saved.extend(expected.logs.iter().map(|file| (file.path.clone(), None)));
        #[cfg(not(target_family = "wasm"))]
        if !expected.logs.is_empty() {
            state.in_flight = InFlight::of(changes, logs, expected, &state);
        }
        Ok(())
    }

    /// Returns the state to save.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.state(), &Expected::default(), |_, _| true)
    }

    /// Returns the files that changed after a revision, to save in addition to what was saved then: see
    /// [`Snapshot::apply`].
    #[must_use]
    pub fn snapshot_since(&self, revision: u64) -> Snapshot {
        Snapshot::of(&self.state(), &Expected::default(), |_, entry| entry.changed_at > revision)
    }

    /// Compares the files that were about to be written when the restored snapshot was saved. A write that did not reach
    /// them, as after a crash, is taken back in their logs. An interrupted undo or redo of commands is completed.
    ///
    /// Other files are compared at their next use. A file that cannot be read is left for its next use, too.
    ///
    /// Returns the step of the user to which the writes belonged, if they have reached a file.
    pub async fn catch_up(&self) -> Option<FinishedStep> {
        let finished = self.catch_up_logs().await;
        #[cfg(not(target_family = "wasm"))]
        let finished = self.finish_interrupted().await.or(finished);
        finished
    }

    /// Completes the undo or redo of commands during which the process was killed.
    #[cfg(not(target_family = "wasm"))]
    async fn finish_interrupted(&self) -> Option<FinishedStep> {
        // An error is left for the next undo, which reports it.
        match self.keeper().and_then(FileKeeper::interrupted)? {
            KeptInterrupted::Undo(runs) => {
                let is_undone = self.undo_runs(&runs).await.is_ok();
                is_undone.then_some(FinishedStep::RunsUndone(runs))
            }
            KeptInterrupted::Redo => self.finish_redo().await.is_ok().then_some(FinishedStep::StepUndone),
        }
    }

    /// As [`catch_up`](Self::catch_up), for the line logs alone. The caller may hold the lock of writes.
    pub(super) async fn catch_up_logs(&self) -> Option<FinishedStep> {
        if !MAY_SAVE {
            // No write is announced in the snapshots of a browser.
            return None;
        }
        let (expected, step) = {
            let mut state = self.state();
            (std::mem::take(&mut state.expected), state.expected_step.take())
        };
        let mut lost = Vec::new();
        for path in expected {
            let n_entries = |state: &State| state.files.get(&path).map_or(0, |entry| entry.log.entries().len());
            let n_before = n_entries(&self.state());
            let _ = self.visible_after(&path, LineLog::after_crash).await;
            // A write that did not reach its file is taken back by a further entry, without a change of another program.
            let state = self.state();
            let log = state.files.get(&path).map(|entry| &entry.log);
            let takes_back = |entry: &LogEntry| {
                entry.by != Origin::External && matches!(entry.action, Action::Undo { .. } | Action::Redo { .. })
            };
            if log.is_some_and(|log| log.entries().iter().skip(n_before).any(takes_back)) {
                lost.push(path.clone());
            }
        }
        let mut step = step?;
        if !lost.is_empty() {
            // A step reaches all its files or none. A rejection changes no file, so the files do not show its loss.
            let others = step.paths.iter().filter(|path| !lost.contains(path));
            let taken_back: Vec<FilePath> = others.filter(|path| self.take_back(path)).cloned().collect();
            lost.extend(taken_back);
        }
        step.paths.retain(|path| !lost.contains(path));
        let finished = match step.kind {
            _ if step.paths.is_empty() => return None,
            StepKind::New | StepKind::Redone if !step.runs.is_empty() => FinishedStep::RunsUndone(step.runs.clone()),
            StepKind::Undone => FinishedStep::StepUndone,
            StepKind::New | StepKind::Redone => FinishedStep::Other,
        };
        self.state().take_step(step);
        Some(finished)
    }

    /// Takes the last entry of a log back if that changes no text on the disk.
    fn take_back(&self, path: &FilePath) -> bool {
        let mut state = self.state();
        let revision = state.revision + 1;
        let Some(entry) = state.files.get_mut(path) else { return false };
        let is_lost = entry.log.take_back_without_effect(self.clock.now_ms());
        if is_lost {
            entry.changed_at = revision;
            state.revision = revision;
        }
        is_lost
    }

    /// Replaces the state of this workspace by a snapshot. Changes on disk since then are recorded at the next use of
    /// each file, and by [`catch_up`](Self::catch_up).
    ///
    /// # Errors
    ///
    /// Returns a [`SnapshotError`]; nothing changes then.
    pub fn restore(&self, snapshot: Snapshot) -> Result<(), SnapshotError> {
        SnapshotError::ensure_version(snapshot.version)?;
        let mut state = self.state();
        #[cfg(not(target_family = "wasm"))]
        let files = Snapshot::entries(snapshot.files, state.hunk_limits)?;
        state.revision = snapshot.revision;
        state.saved_revision = snapshot.revision;
        state.run = snapshot.run;
        state.n_entries = snapshot.n_entries;
        state.done = snapshot.done;
        state.undone = snapshot.undone;
        #[cfg(not(target_family = "wasm"))]
        {
            state.repeated_rollback = snapshot.repeated_rollback;
        }
        state.expected = snapshot.expected;
        state.expected_step = snapshot.step;
        #[cfg(target_family = "wasm")]
        let files = Snapshot::entries(snapshot.files, state.hunk_limits);
        state.files = map_of(files);
        state.saved.clear();
        Ok(())
    }

    /// Takes in changes that other processes have saved. Their logs count as saved.
    pub(super) fn take_in(&self, missed: Missed) -> Result<(), WorkspaceError> {
        let failed = |error: SnapshotError| WorkspaceError::Internal { reason: error.to_string() };
        let Missed { whole, later } = missed;
        #[cfg(not(target_family = "wasm"))]
        if let Some(canvas) = whole.iter().chain(&later).rev().find_map(|saved| saved.canvas.clone()) {
            self.canvas.take_in(canvas);
        }
        // A process that had the root for itself has saved deltas.
        #[cfg(not(target_family = "wasm"))]
        let (whole, later) = match whole {
            Some(mut whole) => {
                later.into_iter().try_for_each(|changes| whole.apply(changes)).map_err(failed)?;
                (Some(whole), Vec::new())
            }
            None => (None, later),
        };
        if let Some(whole) = whole {
            self.restore(whole).map_err(failed)?;
            self.keep_waiting();
            let mut state = self.state();
            state.is_stale = false;
            state.saved = state.files.iter().map(|(path, entry)| (path.clone(), Some(entry.changed_at))).collect();
        }
        for changes in later {
            SnapshotError::ensure_version(changes.version).map_err(failed)?;
            let mut state = self.state();
            state.revision = changes.revision;
            state.saved_revision = changes.revision;
            state.run = state.run.max(changes.run);
            state.n_entries = changes.n_entries;
            state.done = changes.done;
            state.undone = changes.undone;
            #[cfg(not(target_family = "wasm"))]
            {
                state.repeated_rollback = changes.repeated_rollback;
            }
            state.expected = changes.expected;
            state.expected_step = changes.step;
            let files = Snapshot::entries(changes.files, state.hunk_limits);
            #[cfg(not(target_family = "wasm"))]
            let files = files.map_err(failed)?;
            for (path, mut entry) in files {
                state.saved.insert(path.clone(), Some(entry.changed_at));
                entry.waits = !entry.log.is_disk_saved();
                state.files.insert(path, entry);
            }
        }
        Ok(())
    }
}
