//! Runs: the agent's changes for each user message, with undo and redo.
//!
//! A run is also a checkpoint: undoing it and all later runs restores the state before it. Nothing is deleted by that.
//! An undo is a decision of the user like any other and can be undone itself.

use std::collections::{BTreeMap, BTreeSet};

use emend_edit::line_log::{Action, ChangeId, ChangeOp, DependentsPolicy, LineLog, LogEntry, LoggedChange, Origin};
use emend_edit::size::compact_sort::set_of;
use emend_llm::BoxFuture;

use super::error::WorkspaceError;
use super::review::{Review, ReviewError, run_names};
use super::state::Workspace;
use super::steps::Step;
use crate::environment::{
    EntryKind, EnvError, FileKeeper, FilePath, KeptPreview, KeptRestored, KeptRun, KeptState, KeptUndo, UndoStep,
};

/// Whether a keeper of files may restore paths. In a browser none does, and the constant keeps the code out of the module.
pub(super) const MAY_KEEP: bool = cfg!(not(target_family = "wasm"));

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
    /// Other paths that stay as they are because they have another state than the runs left. A later undo tries them
    /// again.
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
struct TakenBack {
    undone: UndoneRun,
    logs: Vec<(FilePath, LineLog)>,
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
        let mut early = self.undo_in_place_of_directories(runs, &logged).await?;
        let mut kept = KeptUndo { runs: runs.to_vec(), logged, ..KeptUndo::default() };
        let first = self.undo_kept(&kept, UndoStep::BeforeLogs).await?;
        // The keeper may have put such a text there, or the directories above it.
        #[cfg(not(target_family = "wasm"))]
        let first = {
            let mut first = first;
            loop {
                let more = self.undo_in_place_of_directories(runs, &kept.logged).await?;
                if more.is_empty() {
                    break first;
                }
                early.extend(more);
                first.restored.extend(self.undo_kept(&kept, UndoStep::BeforeLogs).await?.restored);
            }
        };
        let TakenBack { mut undone, logs } = self.taken_back(runs, None).await?;
        let step = Step { runs: runs.to_vec(), ..Step::new(undone.restored.clone()) };
        let saved = self.save_permitted(logs, true, step).await;
        let refused = saved.map_err(|error| if first.restored.is_empty() { error } else { partly(error) })?;
        // The keeper may still restore them whole.
        kept.logged.retain(|path| !refused.contains(path));
        undone.restored.retain(|path| !refused.contains(path));
        // Restored whole before its log was looked at.
        undone.kept.retain(|path| !first.restored.contains(path));
        kept.left = undone.kept.iter().filter(|path| !undone.restored.contains(path)).cloned().collect();
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
        if !early.is_empty() {
            undone.restored = set_of(undone.restored.drain(..).chain(early)).into_iter().collect();
        }
        // Of these, at most the mode bits were changed back.
        undone.restored.retain(|path| !undone.blocked.contains(path));
        Ok(undone)
    }

    /// Undoes, before anything else, the texts where a command of `runs` had removed a directory. Then the directory comes
    /// back, and after it the texts in it. Returns the undone texts.
    #[cfg(not(target_family = "wasm"))]
    async fn undo_in_place_of_directories(
        &self,
        runs: &[u64],
        logged: &BTreeSet<FilePath>,
    ) -> Result<BTreeSet<FilePath>, WorkspaceError> {
        let Some(keeper) = self.keeper() else { return Ok(BTreeSet::new()) };
        let mut logs = Vec::new();
        for path in keeper.replaced_directories(runs).intersection(logged) {
            let found = self.environment().metadata(path).await;
            if found.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::Directory)) {
                continue;
            }
            let taken = self.taken_back(runs, Some(path)).await?;
            let Some((_, log)) = taken.logs.first().filter(|_| taken.undone.kept.is_empty()) else { continue };
            // Something else may be in its place, such as a link.
            let is_as_logged = self.disk_content(path).await.is_ok_and(|old| log.is_saved_content(old.as_deref()));
            if is_as_logged {
                logs.extend(taken.logs);
            }
        }
        if logs.is_empty() {
            return Ok(BTreeSet::new());
        }
        let paths: Vec<FilePath> = logs.iter().map(|(path, _)| path.clone()).collect();
        let refused = self.save_permitted(logs, true, Step::new(paths.clone())).await?;
        Ok(paths.into_iter().filter(|path| !refused.contains(path)).collect())
    }

    /// Redoes texts that [`undo_in_place_of_directories`](Self::undo_in_place_of_directories) has undone, and commands that
    /// changed them later.
    #[cfg(not(target_family = "wasm"))]
    async fn redo_in_place_of_directories(
        &self,
        paths: Vec<FilePath>,
        redone: &mut RedoneRuns,
    ) -> Result<(), WorkspaceError> {
        if self.undo().await.is_err() {
            redone.kept.extend(paths);
            return Ok(());
        }
        let by_logs = set_of(redone.restored.iter().cloned().chain(paths));
        let later = self.redo_kept(&by_logs, UndoStep::AfterLogs).await?;
        redone.restored = by_logs.into_iter().chain(later.restored).collect();
        redone.kept.retain(|path| !redone.restored.contains(path));
        Ok(())
    }

    /// Returns the effect that [`undo_runs`](Self::undo_runs) would have now, as far as the system permits it.
    ///
    /// # Errors
    ///
    /// A file or the record of commands cannot be read.
    pub async fn preview_undo_runs(&self, runs: &[u64]) -> Result<UndoneRun, WorkspaceError> {
        let _writing = self.enter().await?;
        let mut undone = self.taken_back(runs, None).await?.undone;
        let undo = KeptUndo { runs: runs.to_vec(), logged: self.logged(runs), ..KeptUndo::default() };
        if let Some(keeper) = self.keeper() {
            for change in keeper.preview(&undo).await?.into_iter().filter(|change| !undo.logged.contains(&change.path))
            {
                if change.is_blocked { &mut undone.blocked } else { &mut undone.restored }.push(change.path);
            }
            undone.restored = set_of(undone.restored).into_iter().collect();
        }
        let undid = self.runs().into_iter().filter(|run| runs.contains(&run.run_id));
        undone.lost = set_of(undid.flat_map(|run| run.lost)).into_iter().collect();
        Ok(undone)
    }

    /// Returns the files with changes of the agent in `runs` that are in effect.
    fn logged(&self, runs: &[u64]) -> BTreeSet<FilePath> {
        let runs = run_names(runs);
        let state = self.state();
        let is_logged = |log: &LineLog| {
            log.changes().any(|change| {
                change.origin == Origin::Agent && change.status.is_on() && runs.contains(&change.meta.run)
            })
        };
        state.files.iter().filter(|(_, entry)| is_logged(&entry.log)).map(|(path, _)| path.clone()).collect()
    }

    /// Redoes the changes of the last [`undo_runs`](Self::undo_runs).
    ///
    /// # Errors
    ///
    /// Returns [`ReviewError::Nothing`] if the user has decided or edited since, [`ReviewError::Contested`] if a text was
    /// changed at the same lines or created anew, or the error of the disk.
    pub async fn redo_runs(&self) -> Result<RedoneRuns, ReviewError> {
        let nothing = || ReviewError::Nothing { action: "redo" };
        let logged = self.logs_to_redo();
        let (kept, kept_at) = self.kept_to_redo(logged.is_err());
        let logged = if MAY_KEEP && !kept.is_empty() { logged.ok().flatten() } else { logged? };
        let runs = self.rolled_back(logged.as_deref().unwrap_or_default());
        // Two undos rather than two parts of one. The last one is redone first.
        let is_apart = !kept.is_empty() && !runs.is_empty() && runs.is_disjoint(&set_of(kept.iter().copied()));
        let is_last = || match (self.undone_at(logged.as_deref().unwrap_or_default()), kept_at) {
            (Some(at), Some(kept_at)) if at != kept_at => at > kept_at,
            // Runs are undone from the last one back.
            _ => runs.first() < kept.first(),
        };
        let redoes_log = !MAY_KEEP || !is_apart || is_last();
        let redoes_kept = (!is_apart || !redoes_log) && !kept.is_empty();
        let mut redone = RedoneRuns::default();
        // These were undone before the commands that changed their directories, and are redone after them.
        #[cfg(not(target_family = "wasm"))]
        let replaced = self.keeper().filter(|_| redoes_kept).map(|keeper| keeper.replaced_directories(&kept));
        #[cfg(not(target_family = "wasm"))]
        let is_late = |paths: &Vec<FilePath>| {
            replaced.as_ref().is_some_and(|replaced| paths.iter().all(|path| replaced.contains(path)))
        };
        #[cfg(not(target_family = "wasm"))]
        let (logged, mut late) = match logged.filter(|_| redoes_log) {
            Some(paths) if is_late(&paths) => (None, Some(paths)),
            paths => (paths, None),
        };
        if let Some(logged) = logged.filter(|_| redoes_log) {
            if MAY_KEEP && redoes_kept {
                self.redo_kept(&set_of(logged.iter().cloned()), UndoStep::BeforeLogs).await?;
            }
            self.undo().await?;
            redone.restored = logged;
            #[cfg(not(target_family = "wasm"))]
            if let Some(paths) = self.logs_to_redo().ok().flatten().filter(is_late)
                && self.rolled_back(&paths).iter().all(|run| kept.contains(run))
            {
                late = Some(paths);
            }
        }
        #[cfg(not(target_family = "wasm"))]
        if let (false, Some(keeper)) = (redoes_kept, self.keeper()) {
            let _writing = self.enter().await?;
            let by_logs = set_of(redone.restored.iter().cloned());
            keeper.redo_modes(&by_logs).await.map_err(WorkspaceError::from)?;
        }
        if MAY_KEEP && redoes_kept {
            let by_logs = set_of(redone.restored.iter().cloned());
            #[cfg(not(target_family = "wasm"))]
            let by_logs = by_logs.into_iter().chain(late.iter().flatten().cloned()).collect();
            let KeptRestored { restored, kept } = self.redo_kept(&by_logs, UndoStep::AfterLogs).await?;
            redone.restored = set_of(redone.restored.drain(..).chain(restored)).into_iter().collect();
            redone.kept = kept.into_iter().filter(|path| !redone.restored.contains(path)).collect();
            #[cfg(not(target_family = "wasm"))]
            if let Some(late) = late {
                self.redo_in_place_of_directories(late, &mut redone).await?;
            }
        }
        if redone == RedoneRuns::default() { Err(nothing()) } else { Ok(redone) }
    }

    /// Undoes the user's last edit or decision as [`undo`](Self::undo) does. If that is a rollback which also restored what
    /// commands had changed beside texts, the commands are redone with it.
    ///
    /// # Errors
    ///
    /// As [`undo`](Self::undo) and [`redo_runs`](Self::redo_runs).
    pub async fn undo_whole(&self) -> Result<Review, ReviewError> {
        let last = self.logs_to_redo();
        let (kept, _) = self.kept_to_redo(last.is_err());
        let runs = self.rolled_back(&last.ok().flatten().unwrap_or_default());
        if kept.iter().any(|run| runs.contains(run)) {
            self.redo_runs().await?;
            return Ok(self.review());
        }
        self.undo().await
    }

    /// Returns the runs of the last undo of commands, and its time if that is known. There are none if the agent has edited
    /// since; if the time is not known, `is_ended` tells that.
    fn kept_to_redo(&self, is_ended: bool) -> (Vec<u64>, Option<u64>) {
        let Some(keeper) = self.keeper() else { return (Vec::new(), None) };
        let undone_at = keeper.undone_at();
        let edited_at = self.state().files.values().map(|entry| last_entry(&entry.log, Origin::Agent)).max();
        let is_over = undone_at.map_or(is_ended, |undone_at| edited_at > Some(undone_at));
        if is_over { (Vec::new(), None) } else { (keeper.undone(), undone_at) }
    }

    /// Returns the time of the last undo of texts.
    fn undone_at(&self, paths: &[FilePath]) -> Option<u64> {
        let state = self.state();
        let undone = paths.iter().filter_map(|path| state.files.get(path));
        undone.filter_map(|entry| last_rollback(&entry.log)).map(|undo| undo.at_ms).max()
    }

    /// Returns the files of the last undo of texts, if it can be redone. Fails if a later edit ended every redo.
    fn logs_to_redo(&self) -> Result<Option<Vec<FilePath>>, ReviewError> {
        let nothing = || ReviewError::Nothing { action: "redo" };
        let state = self.state();
        // Neither an undo of commands nor that of edits is redone over a later edit of the agent.
        let is_ended = |path| state.files.get(path).is_some_and(|entry| is_edited_after_rollback(&entry.log));
        if state.done.last().is_some_and(|paths| paths.iter().any(is_ended)) {
            return Err(nothing());
        }
        let took_back = |path| state.files.get(path).is_some_and(|entry| last_rollback(&entry.log).is_some());
        let last = state.done.last().filter(|paths| paths.iter().all(took_back)).cloned();
        let entries = last_entry;
        let undone_at = last.iter().flatten().filter_map(|path| state.files.get(path));
        let undone_at = undone_at.map(|entry| entries(&entry.log, Origin::User)).max();
        let edited_at = state.files.values().map(|entry| entries(&entry.log, Origin::Agent)).max();
        // A later run of the agent ends the list, as an edit of the user does.
        if undone_at.is_some() && edited_at > undone_at {
            return Err(nothing());
        }
        // A later command ends the redo of the texts that were undone before it, but not that of itself.
        let commands = self.keeper().map(FileKeeper::runs).unwrap_or_default();
        let is_ended = undone_at.is_some() && commands.into_iter().map(|run| run.at_ms).max() > undone_at;
        Ok(last.filter(|_| !is_ended))
    }

    /// Completes a redo of commands during which the process was killed.
    pub(super) async fn finish_redo(&self) -> Result<(), WorkspaceError> {
        self.redo_kept(&BTreeSet::new(), UndoStep::AfterLogs).await.map(drop)
    }

    /// Does the keeper's part of a redo; `by_logs` are the texts that line logs redo. Boxed: in a browser it is not called.
    fn redo_kept<'a>(
        &'a self,
        by_logs: &'a BTreeSet<FilePath>,
        step: UndoStep,
    ) -> BoxFuture<'a, Result<KeptRestored, WorkspaceError>> {
        Box::pin(async move {
            let _writing = self.enter().await?;
            let Some(keeper) = self.keeper() else { return Ok(KeptRestored::default()) };
            Ok(keeper.redo(&self.with_logs(), by_logs, step).await?)
        })
    }

    /// Returns the files that have line logs with changes of the agent.
    fn with_logs(&self) -> BTreeSet<FilePath> {
        let state = self.state();
        let is_agents = |log: &LineLog| log.changes().any(|change| change.origin == Origin::Agent);
        state.files.iter().filter(|(_, entry)| is_agents(&entry.log)).map(|(path, _)| path.clone()).collect()
    }

    /// Returns the runs whose changes [`redo_runs`](Self::redo_runs) would redo, if the user has not edited since.
    #[must_use]
    pub fn runs_to_redo(&self) -> BTreeSet<u64> {
        let last = self.logs_to_redo();
        let (kept, _) = self.kept_to_redo(last.is_err());
        self.runs_undone_in(&last.ok().flatten().unwrap_or_default()).into_iter().chain(kept).collect()
    }

    /// Returns the runs that the last undo in `paths` undid. In a browser it returns none.
    fn rolled_back(&self, paths: &[FilePath]) -> BTreeSet<u64> {
        if cfg!(target_family = "wasm") { BTreeSet::new() } else { self.runs_undone_in(paths) }
    }

    fn runs_undone_in(&self, paths: &[FilePath]) -> BTreeSet<u64> {
        let state = self.state();
        let mut runs = BTreeSet::new();
        for log in paths.iter().filter_map(|path| state.files.get(path)).map(|entry| &entry.log) {
            let changes = last_rollback(log).into_iter().flat_map(|entry| &entry.set);
            let changes = changes.filter_map(|set| log.change(set.change));
            runs.extend(changes.filter_map(|change| change.meta.run.parse::<u64>().ok()));
        }
        runs
    }

    /// Returns the changes of commands in `runs` that an undo would take back, other than those of texts that line logs undo.
    ///
    /// # Errors
    ///
    /// The changes of the commands cannot be read.
    pub async fn other_changes_of_runs(&self, runs: &[u64]) -> Result<Vec<KeptPreview>, WorkspaceError> {
        let mut changes = self.other_changes(runs, false).await?;
        changes.retain(|change| !change.is_blocked);
        Ok(changes)
    }

    /// As [`other_changes_of_runs`](Self::other_changes_of_runs), with the changes that an undo would leave alone because
    /// their paths were changed since. `is_hard` is that of a hard rollback, which restores deleted paths.
    ///
    /// # Errors
    ///
    /// The changes of the commands cannot be read.
    pub async fn other_changes(&self, runs: &[u64], is_hard: bool) -> Result<Vec<KeptPreview>, WorkspaceError> {
        let logged = self.logged(runs);
        let Some(keeper) = self.keeper() else { return Ok(Vec::new()) };
        let undo = KeptUndo { runs: runs.to_vec(), restores_deleted: is_hard, ..KeptUndo::default() };
        let mut changes = keeper.preview(&undo).await?;
        changes.retain(|change| {
            let mode = |state: &Option<KeptState>| state.as_ref().map(|state| state.mode);
            let both_exist = change.before.is_some() && change.after.is_some();
            !logged.contains(&change.path) || (both_exist && mode(&change.before) != mode(&change.after))
        });
        Ok(changes)
    }

    /// Returns the number of changes that commands of `runs` made in each ignored directory; with `only_live`, only those
    /// that an undo would take back. The paths in these directories are named nowhere else.
    #[must_use]
    pub fn ignored_changes(&self, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize> {
        self.keeper().map(|keeper| keeper.ignored(runs, only_live)).unwrap_or_default()
    }

    /// Returns the texts of the files that `runs` changed, or of `path` alone, as they are and as
    /// [`undo_runs`](Self::undo_runs) would leave them. Changes nothing.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub async fn texts_of_runs(
        &self,
        runs: &[u64],
        path: Option<&FilePath>,
    ) -> Result<Vec<TextChange>, WorkspaceError> {
        let _writing = self.enter().await?;
        let without = self.taken_back(runs, path).await?.logs;
        let mut changes = Vec::new();
        for (path, log) in without {
            let (before, after) = (log.visible_text(), self.visible(&path).await?);
            if before != after {
                changes.push(TextChange { path, before, after });
            }
        }
        Ok(changes)
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

    /// Returns the paths that were directories before commands of `runs` changed them.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn directories_before(&self, runs: &[u64]) -> BTreeSet<FilePath> {
        self.keeper().map(|keeper| keeper.directories_before(runs)).unwrap_or_default()
    }

    async fn taken_back(&self, runs: &[u64], path: Option<&FilePath>) -> Result<TakenBack, WorkspaceError> {
        // Other files are not even read: they may have become binary files or directories.
        let known = self.logged(runs);
        #[cfg(not(target_family = "wasm"))]
        let directories = self.directories_before(runs);
        let runs = run_names(runs);
        let mut taken = TakenBack { undone: UndoneRun::default(), logs: Vec::new() };
        for path in known.into_iter().filter(|known| path.is_none_or(|path| path == known)) {
            let mut log = match self.log_to_switch(&path).await {
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
            let overwritten = overwritten_by_user(&log);
            let (kept, ids): (Vec<ChangeId>, Vec<ChangeId>) = log
                .changes()
                .filter(|change| {
                    change.origin == Origin::Agent && runs.contains(&change.meta.run) && change.status.is_on()
                })
                .map(|change| change.id)
                .partition(|id| overwritten.contains(id));
            if !kept.is_empty() {
                taken.undone.kept.push(path.clone());
            }
            if ids.is_empty() {
                continue;
            }
            #[cfg(not(target_family = "wasm"))]
            let is_gone = log.is_visible_text(None);
            log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, self.clock.now_ms())
                .map_err(|error| WorkspaceError::Internal { reason: format!("{path}: {error}") })?;
            #[cfg(not(target_family = "wasm"))]
            if is_gone && directories.contains(&path) && !log.is_visible_text(None) {
                // A text of a command in the place of the directory. The keeper puts the directory there.
                continue;
            }
            taken.undone.restored.push(path.clone());
            taken.logs.push((path, log));
        }
        #[cfg(not(target_family = "wasm"))]
        self.keep_obstructed(&mut taken).await;
        Ok(taken)
    }

    /// Takes the texts out of an undo whose place is taken: by a directory in which anything stays, or by a file in the place
    /// of a directory above.
    #[cfg(not(target_family = "wasm"))]
    async fn keep_obstructed(&self, taken: &mut TakenBack) {
        let goes = |(_, log): &&(FilePath, LineLog)| log.is_visible_text(None);
        let going = set_of(taken.logs.iter().filter(goes).map(|(path, _)| path.clone()));
        let mut obstructed = BTreeSet::new();
        for (path, _) in taken.logs.iter().filter(|(path, _)| !going.contains(path)) {
            let above = self.file_above(path).await;
            let stays = |entry: &crate::environment::DirEntry| {
                entry.metadata.kind == EntryKind::File && !going.contains(&entry.path)
            };
            // Fails for a path that is not a directory.
            let inside = self.environment().list(path, usize::MAX).await.unwrap_or_default();
            let is_blocked = above.is_some_and(|above| !going.contains(&above)) || self.is_elsewhere(path).await;
            if is_blocked || inside.iter().any(stays) {
                obstructed.insert(path.clone());
            }
        }
        taken.logs.retain(|(path, _)| !obstructed.contains(path));
        taken.undone.restored.retain(|path| !obstructed.contains(path));
        taken.undone.kept = set_of(taken.undone.kept.drain(..).chain(obstructed)).into_iter().collect();
    }
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

/// Returns the time of the last entry of a log by someone; 0 if there is none.
fn last_entry(log: &LineLog, by: Origin) -> u64 {
    log.entries().iter().rev().find(|entry| entry.by == by).map_or(0, |entry| entry.at_ms)
}

/// Returns the user's last action in a file, undone ones left out, if it was an undo of runs.
fn last_rollback(log: &LineLog) -> Option<&LogEntry> {
    rollback_at_end(log.entries())
}

/// Returns whether the agent has edited a file since the user's last action, an undo of runs.
fn is_edited_after_rollback(log: &LineLog) -> bool {
    let entries = log.entries();
    let Some(at) = entries.iter().rposition(|entry| entry.by == Origin::User) else { return false };
    let is_edit = |entry: &LogEntry| entry.by == Origin::Agent && matches!(entry.action, Action::Write);
    entries[at + 1..].iter().any(is_edit) && rollback_at_end(&entries[..=at]).is_some()
}

fn rollback_at_end(entries: &[LogEntry]) -> Option<&LogEntry> {
    let (mut undone, mut redone) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries.iter().rev() {
        match entry.action {
            Action::Write if entry.by == Origin::Agent => return None,
            _ if entry.by != Origin::User => {}
            Action::Undo { entry } if !redone.contains(&entry) => {
                undone.insert(entry);
            }
            Action::Redo { entry } if !undone.contains(&entry) => {
                redone.insert(entry);
            }
            Action::Undo { .. } | Action::Redo { .. } => {}
            _ if undone.contains(&entry.number) => {}
            action => return matches!(action, Action::Rollback { .. }).then_some(entry),
        }
    }
    None
}

/// Returns the agent's changes with lines that a live change of the user or of another program deletes, and all of them
/// that are older than a file that they have created again.
fn overwritten_by_user(log: &LineLog) -> BTreeSet<ChangeId> {
    let of_others = |change: &LoggedChange| change.origin != Origin::Agent && change.status.is_on();
    let mut overwritten: BTreeSet<ChangeId> = log
        .changes()
        .filter(|change| of_others(change) && change.deleted_lines > 0)
        .flat_map(|change| change.deps)
        .collect();
    let created = log.changes().filter(|change| of_others(change) && change.op == ChangeOp::Create).last();
    if let Some(created) = created {
        overwritten.extend(log.changes().map(|change| change.id).filter(|id| *id < created.id));
    }
    overwritten
}
