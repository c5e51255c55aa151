//! Runs: the agent's changes for each user message, and their undo.
//!
//! A run is also a checkpoint: undoing it and all later runs restores the state before it. Nothing is deleted by that.
//! An undo is a decision of the user like any other and can be undone itself.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(not(target_family = "wasm"))]
use emend_edit::ContentHash;
#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::ChangeOp;
use emend_edit::line_log::{Action, ChangeId, DependentsPolicy, LineLog, LogEntry, LoggedChange, Origin};
use emend_edit::size::compact_sort::set_of;

use super::around_logs::{AroundLogs, edits_to_take_back};
use super::error::WorkspaceError;
use super::review::run_names;
use super::state::Workspace;
use super::steps::Step;
use crate::environment::{EntryKind, EnvError, FileKeeper, FilePath, KeptRun, KeptUndo, UndoStep};
#[cfg(not(target_family = "wasm"))]
use crate::environment::{KeptPreview, KeptState, ReplacedDirectories};

/// Whether a keeper of files may restore paths. In a browser none does, and the constant keeps the code out of the module.
pub(super) const MAY_KEEP: bool = cfg!(not(target_family = "wasm"));

/// Maximum number of turns of an undo. After a kill, the keeper does not know which changes it has undone.
#[cfg(not(target_family = "wasm"))]
pub(super) const TURNS_MAX: usize = 100;

/// The agent's changes in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChanges {
    /// Number of the run.
    pub run_id: u64,
    /// Time of its first change in milliseconds since 1970.
    pub at_ms: u64,
    /// Files that it changed.
    pub files: Vec<FilePath>,
    /// Files that its commands changed and whose former state was not kept.
    pub lost: Vec<FilePath>,
    /// Whether a change of the run is still in effect.
    pub is_on: bool,
}

/// The text of one file with and without some changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// Path relative to the root.
    pub path: FilePath,
    /// Text without the changes; `None` if the file does not exist then.
    pub before: Option<String>,
    /// Text with the changes; `None` if the file does not exist then.
    pub after: Option<String>,
}

/// The result of undoing runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoneRun {
    /// Files that were changed back.
    pub restored: Vec<FilePath>,
    /// Text files that keep a part of the runs, because the user has edited it since.
    pub kept: Vec<FilePath>,
    /// Other paths with changes that stay because the paths have another state than the runs left. A later undo tries them
    /// again. If a later change of a path was undone, it is among `restored`, too.
    pub blocked: Vec<FilePath>,
    /// Files that stay as they are because the system does not permit to replace them, such as one with hard links, or because
    /// a directory is in their place.
    pub refused: Vec<FilePath>,
    /// Files that commands of the runs changed and whose former state was not kept.
    pub lost: Vec<FilePath>,
}

/// The result of redoing runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedoneRuns {
    /// Files that were changed, sorted.
    pub restored: Vec<FilePath>,
    /// Files that stay as they are because they have another state than the undo left. A later redo tries them again.
    pub kept: Vec<FilePath>,
}

/// The logs after undoing runs.
#[derive(Default)]
pub(super) struct TakenBack {
    pub(super) undone: UndoneRun,
    pub(super) logs: Vec<(FilePath, LineLog)>,
    /// Texts with lines of the user or of another program that cannot come back, because a directory takes their place.
    #[cfg(not(target_family = "wasm"))]
    covered: Vec<FilePath>,
}

#[cfg(not(target_family = "wasm"))]
impl TakenBack {
    /// Leaves these paths as they are.
    fn keep(&mut self, paths: BTreeSet<FilePath>) {
        self.logs.retain(|(path, _)| !paths.contains(path));
        self.undone.restored.retain(|path| !paths.contains(path));
        self.undone.kept = set_of(self.undone.kept.drain(..).chain(paths)).into_iter().collect();
    }
}

impl Workspace {
    /// Returns the runs with changes, oldest first.
    #[must_use]
    pub fn runs(&self) -> Vec<RunChanges> {
        let mut runs: BTreeMap<u64, RunChanges> = BTreeMap::new();
        // Runs with changes of files that exist no longer. A keeper may have removed these.
        let mut gone = BTreeSet::new();
        for (path, entry) in &self.state().files {
            let lost = lost_in_crash(&entry.log);
            let is_gone = !cfg!(target_family = "wasm") && entry.log.is_visible_text(None);
            let is_made = |change: &LoggedChange| change.origin == Origin::Agent && !lost.contains(&change.id);
            for change in entry.log.changes().filter(is_made) {
                let Ok(run) = change.meta.run.parse() else { continue };
                let at_ms = change.meta.at_ms;
                let found = runs.entry(run).or_insert_with(|| RunChanges {
                    run_id: run,
                    at_ms,
                    files: Vec::new(),
                    lost: Vec::new(),
                    is_on: false,
                });
                found.at_ms = found.at_ms.min(at_ms);
                if is_gone && change.status.is_on() {
                    gone.insert(run);
                } else {
                    found.is_on |= change.status.is_on();
                }
                if found.files.last() != Some(path) {
                    found.files.push(path.clone());
                }
            }
        }
        for kept in self.keeper().map(FileKeeper::runs).unwrap_or_default() {
            let KeptRun { run_id, at_ms, files, lost, is_on } = kept;
            let known = runs.entry(run_id).or_insert_with(|| RunChanges {
                run_id,
                at_ms,
                files: Vec::new(),
                lost: Vec::new(),
                is_on: false,
            });
            known.at_ms = known.at_ms.min(at_ms);
            known.files = set_of(known.files.drain(..).chain(files)).into_iter().collect();
            known.lost = lost;
            known.is_on |= is_on;
            gone.remove(&run_id);
        }
        for run in gone {
            runs.entry(run).and_modify(|run| run.is_on = true);
        }
        runs.into_values().collect()
    }

    /// Takes in what other programs have done to the files that the agent has edited, so that [`runs`](Self::runs) tells which
    /// changes are in effect on the disk. A file that cannot be read is left for its next use.
    ///
    /// # Errors
    ///
    /// The state cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub async fn take_in_changes(&self) -> Result<(), WorkspaceError> {
        let _writing = self.enter().await?;
        let paths: Vec<FilePath> = self.state().files.keys().cloned().collect();
        for path in paths {
            let _ = self.visible(&path).await;
        }
        Ok(())
    }

    /// Undoes the agent's changes in `runs`. Lines of the user stay. A change also stays if the user has deleted or
    /// replaced its lines since: its old lines would otherwise return beside the user's replacement.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or the disk fails; nothing changes then.
    pub async fn undo_runs(&self, runs: &[u64]) -> Result<UndoneRun, WorkspaceError> {
        let _writing = self.enter().await?;
        let logged = self.logged(runs);
        #[cfg(not(target_family = "wasm"))]
        self.begin_undo(runs, &logged).await?;
        let mut kept = KeptUndo { runs: runs.to_vec(), logged, ..KeptUndo::default() };
        #[cfg(not(target_family = "wasm"))]
        kept.last_edits.extend(kept.logged.iter().filter_map(|path| Some((path.clone(), self.last_edit(path, runs)?))));
        #[cfg(not(target_family = "wasm"))]
        let mut around = AroundLogs { before: self.settled_logs(&kept.logged).await, ..AroundLogs::default() };
        #[cfg(target_family = "wasm")]
        let around = AroundLogs {};
        let first = self.undo_kept(&kept, UndoStep::BeforeLogs).await?;
        #[cfg(not(target_family = "wasm"))]
        {
            around.before.retain(|path, _| first.restored.contains(path));
            around.since = self.last_unlogged(&kept);
        }
        let taken = self.taken_back_around(runs, None, &around).await?;
        let TakenBack { mut undone, logs, .. } = taken;
        let step = Step { runs: runs.to_vec(), ..Step::new(undone.restored.clone()) };
        let saved = self.save_permitted(logs, true, step).await;
        let refused = saved.map_err(|error| if first.restored.is_empty() { error } else { partly(error) })?;
        // The keeper may still restore them whole.
        kept.logged.retain(|path| !refused.contains(path));
        undone.restored.retain(|path| !refused.contains(path));
        #[cfg(not(target_family = "wasm"))]
        self.forget_restored(runs, &first.restored, &mut undone.kept).await;
        kept.left = undone.kept.iter().filter(|path| !undone.restored.contains(path)).cloned().collect();
        #[cfg(not(target_family = "wasm"))]
        let between = self.undo_in_turns(&mut kept, &mut undone).await.map_err(partly)?;
        kept.n_steps = self.state().done.len();
        #[cfg(not(target_family = "wasm"))]
        self.note_first_edits(&mut kept);
        let last = self.undo_kept(&kept, UndoStep::AfterLogs).await.map_err(|error| partly(error.into()))?;
        let undid = self.runs().into_iter().filter(|run| runs.contains(&run.run_id));
        undone.lost = set_of(undid.flat_map(|run| run.lost)).into_iter().collect();
        undone.kept.retain(|path| !last.restored.contains(path));
        undone.refused = refused.into_iter().filter(|path| !last.restored.contains(path)).collect();
        for kept in [first, last] {
            undone.restored = set_of(undone.restored.drain(..).chain(kept.restored)).into_iter().collect();
            undone.blocked = kept.kept;
        }
        #[cfg(not(target_family = "wasm"))]
        if !between.is_empty() {
            undone.restored = set_of(undone.restored.drain(..).chain(between)).into_iter().collect();
        }
        #[cfg(not(target_family = "wasm"))]
        {
            undone.kept = set_of(undone.kept.drain(..).chain(taken.covered)).into_iter().collect();
        }
        undone.refused.retain(|path| !undone.restored.contains(path));
        Ok(undone)
    }

    /// Returns the run and the time of the last change of the agent in a text that an undo of `runs` takes back.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn last_edit(&self, path: &FilePath, runs: &[u64]) -> Option<(u64, u64)> {
        let state = self.state();
        let changes = state.files.get(path)?.log.changes();
        let is_live = |change: &LoggedChange| change.origin == Origin::Agent && change.status.is_on();
        let times =
            changes.filter(is_live).filter_map(|change| Some((change.meta.run.parse().ok()?, change.meta.at_ms)));
        times.filter(|(run, _)| runs.contains(run)).max()
    }

    /// Takes the texts out of `kept` that are as before the runs: the keeper restored them before their logs were looked at,
    /// which take that for a change by the user.
    #[cfg(not(target_family = "wasm"))]
    async fn forget_restored(&self, runs: &[u64], restored: &[FilePath], kept: &mut Vec<FilePath>) {
        for path in restored.iter().filter(|path| kept.contains(path)).collect::<Vec<_>>() {
            let Ok(text) = self.disk_text(path).await else { continue };
            let proposal = self.state().files.get(path).and_then(|entry| entry.log.proposal(&run_names(runs)));
            if text.is_none() || proposal.is_some_and(|proposal| proposal.base == text) {
                kept.retain(|kept| kept != path);
            }
        }
    }

    /// Undoes the rest of texts that commands and edits changed in turn, such as an edit before a command that put a link in
    /// the place of the text. Each turn undoes a command, and then what the log can undo below it. Returns the paths that the
    /// keeper restored.
    #[cfg(not(target_family = "wasm"))]
    async fn undo_in_turns(
        &self,
        kept: &mut KeptUndo,
        undone: &mut UndoneRun,
    ) -> Result<BTreeSet<FilePath>, WorkspaceError> {
        let mut restored = BTreeSet::new();
        for _ in 0..TURNS_MAX {
            let left = self.logged(&kept.runs);
            if left.is_empty() || self.keeper().is_none() {
                return Ok(restored);
            }
            let found = self.undo_kept(kept, UndoStep::BetweenLogs).await?.restored;
            let turn = set_of(found.iter().filter(|path| left.contains(*path)).cloned());
            restored.extend(found);
            let mut logs = Vec::new();
            let since = self.last_unlogged(&KeptUndo { logged: turn.clone(), ..kept.clone() });
            let around = AroundLogs { since, ..AroundLogs::default() };
            for path in &turn {
                let taken = self.taken_back_around(&kept.runs, Some(path), &around).await?;
                undone.kept.retain(|kept| kept != path);
                undone.kept.extend(taken.undone.kept);
                logs.extend(taken.logs);
            }
            let paths = set_of(logs.iter().map(|(path, _)| path.clone()));
            if !logs.is_empty() {
                let refused = self.save_permitted(logs, true, Step::new(paths.iter().cloned().collect())).await?;
                undone.restored.extend(paths.iter().filter(|path| !refused.contains(*path)).cloned());
            }
            kept.left = undone.kept.iter().filter(|path| !undone.restored.contains(path)).cloned().collect();
            if paths.is_empty() {
                return Ok(restored);
            }
        }
        Ok(restored)
    }

    /// Returns the files with changes of the agent in `runs` that are in effect.
    pub(super) fn logged(&self, runs: &[u64]) -> BTreeSet<FilePath> {
        let runs = run_names(runs);
        let state = self.state();
        let is_logged = |log: &LineLog| {
            log.changes().any(|change| {
                change.origin == Origin::Agent && change.status.is_on() && runs.contains(&change.meta.run)
            })
        };
        state.files.iter().filter(|(_, entry)| is_logged(&entry.log)).map(|(path, _)| path.clone()).collect()
    }

    /// Returns the file that is in the place of a directory above a path, so that the path cannot exist.
    pub async fn file_above(&self, path: &FilePath) -> Option<FilePath> {
        for above in std::iter::successors(path.parent(), FilePath::parent) {
            let found = self.environment().metadata(&above).await;
            if found.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::File)) {
                return Some(above);
            }
        }
        None
    }

    /// Returns the paths that were directories before commands of `runs` changed them, each with the hash of the file that a
    /// command put in its place.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn directories_before(&self, runs: &[u64]) -> ReplacedDirectories {
        self.keeper().map(|keeper| keeper.directories_before(runs)).unwrap_or_default()
    }

    /// Returns the last changes of commands that keep the line logs from undoing older edits now.
    #[cfg(not(target_family = "wasm"))]
    fn last_unlogged(&self, kept: &KeptUndo) -> BTreeMap<FilePath, (u64, u64)> {
        self.keeper().map(|keeper| keeper.last_unlogged(kept)).unwrap_or_default()
    }

    /// Returns the logs as an undo of runs would leave them.
    pub(super) async fn taken_back(&self, runs: &[u64], path: Option<&FilePath>) -> Result<TakenBack, WorkspaceError> {
        #[cfg(target_family = "wasm")]
        let around = AroundLogs {};
        #[cfg(not(target_family = "wasm"))]
        let around = AroundLogs { giving_way: self.giving_way(runs).await?, ..AroundLogs::default() };
        self.taken_back_around(runs, path, &around).await
    }

    /// Returns the paths at which an undo puts a directory in the place of something else.
    #[cfg(not(target_family = "wasm"))]
    pub(super) async fn giving_way(&self, runs: &[u64]) -> Result<BTreeSet<FilePath>, WorkspaceError> {
        let Some(keeper) = self.keeper() else { return Ok(BTreeSet::new()) };
        let is_directory = |state: &Option<KeptState>| {
            state.as_ref().is_some_and(|state| state.kind == crate::environment::KeptStateKind::Directory)
        };
        let replaces =
            |change: &KeptPreview| !change.is_blocked && is_directory(&change.before) && !is_directory(&change.after);
        let undo = KeptUndo { runs: runs.to_vec(), logged: self.logged(runs), ..KeptUndo::default() };
        let changes = keeper.preview(&undo).await?;
        Ok(changes.into_iter().filter(replaces).map(|change| change.path).collect())
    }

    /// Returns the logs after undoing runs, beside the keeper's part of the undo.
    async fn taken_back_around(
        &self,
        runs: &[u64],
        path: Option<&FilePath>,
        around: &AroundLogs,
    ) -> Result<TakenBack, WorkspaceError> {
        #[cfg(target_family = "wasm")]
        let _ = around;
        // Other files are not even read: they may have become binary files or directories.
        let known = self.logged(runs);
        #[cfg(not(target_family = "wasm"))]
        let directories = self.directories_before(runs);
        let runs = run_names(runs);
        let mut taken = TakenBack::default();
        // The texts that the user has made, by path.
        #[cfg(not(target_family = "wasm"))]
        let mut taken_places = BTreeMap::new();
        for path in known.into_iter().filter(|known| path.is_none_or(|path| path == known)) {
            #[cfg(not(target_family = "wasm"))]
            let (known_log, is_removed) = match self.log_of_removed(&path, around).await {
                Some(log) => (Ok(log), true),
                None => (self.log_to_switch(&path).await, false),
            };
            #[cfg(target_family = "wasm")]
            let known_log = self.log_to_switch(&path).await;
            let mut log = match known_log {
                Ok(log) if !MAY_KEEP && log.is_visible_text(None) && self.file_above(&path).await.is_some() => {
                    taken.undone.kept.push(path);
                    continue;
                }
                Ok(log) => log,
                Err(error) if is_of_path_alone(&error) => {
                    taken.undone.kept.push(path);
                    continue;
                }
                Err(error) => return Err(error),
            };
            #[cfg(not(target_family = "wasm"))]
            let since = around.since.get(&path).copied();
            #[cfg(target_family = "wasm")]
            let since = None;
            let (kept, ids) = edits_to_take_back(&log, &runs, since);
            if !kept.is_empty() {
                taken.undone.kept.push(path.clone());
                #[cfg(not(target_family = "wasm"))]
                if since.is_none()
                    && let Some(text) = log.visible_text()
                {
                    taken_places.insert(path.clone(), text.to_string());
                }
            }
            if ids.is_empty() {
                continue;
            }
            #[cfg(not(target_family = "wasm"))]
            let is_gone = is_removed || log.is_visible_text(None);
            log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, self.clock.now_ms())
                .map_err(|error| WorkspaceError::Internal { reason: format!("{path}: {error}") })?;
            #[cfg(not(target_family = "wasm"))]
            if is_gone
                && let Some(file) = directories.get(&path)
                && let Some(text) = log.visible_text()
            {
                // A text of a command in the place of the directory. The keeper puts the directory there.
                let is_of_command = file.is_some_and(|file| file == ContentHash::of(text.as_bytes()));
                if !is_of_command && !text.is_empty() {
                    taken.covered.push(path);
                }
                continue;
            }
            taken.undone.restored.push(path.clone());
            taken.logs.push((path, log));
        }
        #[cfg(not(target_family = "wasm"))]
        self.keep_obstructed(&mut taken, &around.giving_way).await;
        #[cfg(not(target_family = "wasm"))]
        self.keep_moved(&runs, &mut taken, &taken_places);
        Ok(taken)
    }

    /// Takes a moved text out of an undo that leaves its former path as it is, because it is one of `taken_places`: the user has
    /// made another text there. Otherwise the moved text would be at neither path.
    #[cfg(not(target_family = "wasm"))]
    fn keep_moved(&self, runs: &[String], taken: &mut TakenBack, taken_places: &BTreeMap<FilePath, String>) {
        let state = self.state();
        let has = |path: &FilePath, op: fn(&ChangeOp) -> bool| {
            let is_meant = |change: &LoggedChange| {
                change.origin == Origin::Agent
                    && change.status.is_on()
                    && runs.contains(&change.meta.run)
                    && op(&change.op)
            };
            state.files.get(path).is_some_and(|entry| entry.log.changes().any(|change| is_meant(&change)))
        };
        let is_moved = |path: &FilePath| {
            let Some(entry) = state.files.get(path).filter(|entry| !entry.log.is_visible_text(None)) else {
                return false;
            };
            entry.moved_from.as_ref().is_some_and(|from| {
                taken_places.get(from).is_some_and(|text| !entry.log.is_visible_text(Some(text)))
                    && has(from, |op| matches!(op, ChangeOp::Delete))
                    && has(path, |op| matches!(op, ChangeOp::Create))
            })
        };
        let moved = set_of(taken.undone.restored.iter().filter(|path| is_moved(path)).cloned());
        drop(state);
        taken.keep(moved);
    }

    /// Takes the texts out of an undo whose place is taken: by a directory in which anything stays, or by a file in the place
    /// of a directory above.
    #[cfg(not(target_family = "wasm"))]
    async fn keep_obstructed(&self, taken: &mut TakenBack, giving_way: &BTreeSet<FilePath>) {
        let goes = |(_, log): &&(FilePath, LineLog)| log.is_visible_text(None);
        let going = set_of(taken.logs.iter().filter(goes).map(|(path, _)| path).chain(giving_way).cloned());
        let mut obstructed = BTreeSet::new();
        for (path, _) in taken.logs.iter().filter(|(path, _)| !going.contains(path)) {
            let above = self.file_above(path).await;
            let stays = |entry: &crate::environment::DirEntry| {
                entry.metadata.kind == EntryKind::File && !going.contains(&entry.path)
            };
            // Fails for a path that is not a directory.
            let inside = self.environment().list(path, usize::MAX).await.unwrap_or_default();
            let has_link_above = self.is_elsewhere(path).await && !is_below_any(path, giving_way);
            let is_blocked = above.is_some_and(|above| !going.contains(&above)) || has_link_above;
            if is_blocked || inside.iter().any(stays) {
                obstructed.insert(path.clone());
            }
        }
        taken.keep(obstructed);
    }
}

/// Returns whether one of these paths is above `path`.
#[cfg(not(target_family = "wasm"))]
pub(super) fn is_below_any(path: &FilePath, paths: &BTreeSet<FilePath>) -> bool {
    std::iter::successors(path.parent(), FilePath::parent).any(|above| paths.contains(&above))
}

/// Returns whether a file cannot be read because of its own path: a directory or a binary file is in its place, or a link
/// leads outside the root. Other files can be undone all the same.
pub(super) fn is_of_path_alone(error: &WorkspaceError) -> bool {
    matches!(
        error,
        WorkspaceError::Environment(
            EnvError::InvalidPath { .. }
                | EnvError::IsDirectory { .. }
                | EnvError::PermissionDenied { .. }
                | EnvError::OutsideRoot { .. }
        ) | WorkspaceError::NotText { .. }
    )
}

/// Returns the error of an undo that had restored some files before.
fn partly(error: WorkspaceError) -> WorkspaceError {
    // In a browser no commands change files.
    if cfg!(target_family = "wasm") {
        return error;
    }
    let WorkspaceError::Environment(EnvError::Io { path, reason }) = error else { return error };
    let reason = reason.replace("; nothing was changed", "");
    if reason.contains("repeat the undo") {
        return EnvError::Io { path, reason }.into();
    }
    let reason = format!("{reason}; some files are restored; repeat the undo to restore the others");
    EnvError::Io { path, reason }.into()
}

/// Returns the agent's changes that did not reach the disk, because the process was killed before.
pub(super) fn lost_in_crash(log: &LineLog) -> BTreeSet<ChangeId> {
    if cfg!(target_family = "wasm") {
        return BTreeSet::new();
    }
    // Only the recovery undoes for the agent.
    let is_lost = |entry: &&LogEntry| entry.by == Origin::Agent && matches!(entry.action, Action::Undo { .. });
    log.entries().iter().filter(is_lost).flat_map(|entry| entry.set.iter().map(|set| set.change)).collect()
}
