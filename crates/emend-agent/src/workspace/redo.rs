//! Redo of undone runs: of edits by their line logs, and of commands by the keeper.

#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use emend_edit::line_log::{Action, LineLog, LogEntry, Origin};
#[cfg(not(target_family = "wasm"))]
use emend_edit::size::compact_sort::set_of;

#[cfg(not(target_family = "wasm"))]
use super::decisions::reject_doubled;
#[cfg(not(target_family = "wasm"))]
use super::entry::Entry;
#[cfg(not(target_family = "wasm"))]
use super::error::WorkspaceError;
use super::review::{Review, ReviewError};
#[cfg(not(target_family = "wasm"))]
use super::runs::TextChange;
use super::runs::{MAY_KEEP, RedoneRuns};
use super::state::Workspace;
#[cfg(not(target_family = "wasm"))]
use super::steps::{Step, StepKind};
#[cfg(not(target_family = "wasm"))]
use crate::environment::KeptInterrupted;
use crate::environment::{FileKeeper, FilePath};

impl Workspace {
    /// Redoes the changes of the last [`undo_runs`](Self::undo_runs).
    ///
    /// # Errors
    ///
    /// Returns [`ReviewError::Nothing`] if the user has decided or edited since, [`ReviewError::Contested`] if a text was
    /// changed at the same lines or created anew, or the error of the disk.
    pub async fn redo_runs(&self) -> Result<RedoneRuns, ReviewError> {
        let nothing = || ReviewError::Nothing { action: "redo" };
        #[cfg(not(target_family = "wasm"))]
        if let Some(KeptInterrupted::Undo(runs)) = self.keeper().and_then(FileKeeper::interrupted) {
            self.undo_runs(&runs).await?;
        }
        let logged = self.logs_to_redo();
        let kept = self.kept_to_redo(logged.is_err());
        let logged = if MAY_KEEP && !kept.is_empty() { logged.ok().flatten() } else { logged? };
        #[cfg(not(target_family = "wasm"))]
        if !kept.is_empty() {
            let steps = match self.last_undo(logged.is_some()) {
                LastUndo::OfLogs => None,
                LastUndo::OfCommands(steps) => Some(steps),
            };
            if let Some(steps) = steps {
                let redone = self.redo_commands(steps).await?;
                return if redone == RedoneRuns::default() { Err(nothing()) } else { Ok(redone) };
            }
        }
        let Some(restored) = logged else { return Err(nothing()) };
        self.undo().await?;
        #[cfg(not(target_family = "wasm"))]
        if let Some(keeper) = self.keeper() {
            let _writing = self.enter().await?;
            let by_logs = set_of(restored.iter().cloned());
            keeper.redo_modes(&by_logs).await.map_err(WorkspaceError::from)?;
        }
        Ok(RedoneRuns { restored, kept: Vec::new() })
    }

    /// Undoes the user's last edit or decision as [`undo`](Self::undo) does. If that is a rollback, what it restored beside
    /// texts is redone with them: the changes of commands, and mode bits.
    ///
    /// # Errors
    ///
    /// As [`undo`](Self::undo) and [`redo_runs`](Self::redo_runs).
    pub async fn undo_whole(&self) -> Result<Review, ReviewError> {
        #[cfg(not(target_family = "wasm"))]
        {
            let last = self.logs_to_redo();
            let is_of_commands = || matches!(self.last_undo(true), LastUndo::OfCommands(_));
            let is_kept = !self.kept_to_redo(last.is_err()).is_empty() && is_of_commands();
            if is_kept || !self.runs_undone_in(&last.ok().flatten().unwrap_or_default()).is_empty() {
                let redone = self.runs_to_redo();
                self.redo_runs().await?;
                self.note_undone_rollback(&redone);
                return Ok(self.review());
            }
        }
        self.undo().await
    }

    /// Returns the runs of the last undo of commands. There are none if the agent has edited since; if its time is not known,
    /// `is_ended` tells that.
    fn kept_to_redo(&self, is_ended: bool) -> Vec<u64> {
        let Some(keeper) = self.keeper() else { return Vec::new() };
        let edited_at = self.state().files.values().map(|entry| last_entry(&entry.log, Origin::Agent)).max();
        let is_over = keeper.undone_at().map_or(is_ended, |undone_at| edited_at > Some(undone_at));
        if is_over { Vec::new() } else { keeper.undone() }
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

    /// Returns the runs whose changes [`redo_runs`](Self::redo_runs) would redo, if the user has not edited since.
    #[must_use]
    pub fn runs_to_redo(&self) -> BTreeSet<u64> {
        let last = self.logs_to_redo();
        let kept = self.kept_to_redo(last.is_err());
        self.runs_undone_in(&last.ok().flatten().unwrap_or_default()).into_iter().chain(kept).collect()
    }

    /// Returns the runs that the last undo in `paths` undid.
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
}

/// The last undo.
#[cfg(not(target_family = "wasm"))]
enum LastUndo {
    /// It undid edits alone, after the last undo of commands.
    OfLogs,
    /// It undid commands, and edits in these steps, the last one first.
    OfCommands(Vec<Vec<FilePath>>),
}

#[cfg(not(target_family = "wasm"))]
impl Workspace {
    /// Returns the last undo, if the keeper knows an undo of commands. `is_of_logs` tells whether the user's last step is an
    /// undo of edits.
    fn last_undo(&self, is_of_logs: bool) -> LastUndo {
        let steps = self.keeper().map(FileKeeper::undone_steps).unwrap_or_default();
        let done = self.state().done.clone();
        match done.len() > steps.end {
            true if is_of_logs => LastUndo::OfLogs,
            // A killed redo may have redone the last ones.
            false if is_of_logs => LastUndo::OfCommands(done.into_iter().skip(steps.start).rev().collect()),
            // The user has edited since, which says nothing of what the keeper restores.
            _ => LastUndo::OfCommands(Vec::new()),
        }
    }

    /// Returns the present text of a file, and the one from before the last undo, which [`redo_runs`](Self::redo_runs) would
    /// restore if the user had not changed the file since; `None` if no undo changed it.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub async fn texts_of_redo(&self, path: &FilePath) -> Result<Option<TextChange>, WorkspaceError> {
        let _writing = self.enter().await?;
        let last = self.logs_to_redo().ok().flatten();
        let n_undos = match self.last_undo(last.is_some()) {
            LastUndo::OfCommands(steps) if !steps.is_empty() => steps.iter().flatten().filter(|of| *of == path).count(),
            _ => usize::from(last.is_some_and(|last| last.contains(path))),
        };
        let Some(log) = self.log_before_undo(path, n_undos).filter(|_| n_undos > 0) else { return Ok(None) };
        let (before, after) = (self.visible(path).await?, log.visible_text());
        Ok(Some(TextChange { path: path.clone(), before, after }))
    }

    /// Completes a redo of commands during which the process was killed.
    pub(super) async fn finish_redo(&self) -> Result<(), ReviewError> {
        let is_of_logs = self.logs_to_redo().is_ok_and(|last| last.is_some());
        match self.last_undo(is_of_logs) {
            LastUndo::OfCommands(steps) => self.redo_commands(steps).await.map(drop),
            LastUndo::OfLogs => self.redo_commands(Vec::new()).await.map(drop),
        }
    }

    /// Redoes the last undo of commands, and with it the undo of texts in `steps`.
    ///
    /// The keeper restores the files from before the undo, and their line logs follow. A text that the user has changed since
    /// is merged by its log.
    async fn redo_commands(&self, steps: Vec<Vec<FilePath>>) -> Result<RedoneRuns, ReviewError> {
        let _writing = self.enter().await?;
        let Some(keeper) = self.keeper() else { return Ok(RedoneRuns::default()) };
        let mut counts: BTreeMap<FilePath, usize> = BTreeMap::new();
        for path in steps.iter().flatten() {
            *counts.entry(path.clone()).or_default() += 1;
        }
        // Before anything changes: a redo that the user's changes contest is rejected.
        let restorable = keeper.preview_redo().await.map_err(WorkspaceError::from)?;
        // The undo has left these as they were, although their logs have seen them go and come back.
        let mut untouched = BTreeSet::new();
        for path in counts.keys().filter(|path| !restorable.contains(*path)) {
            if self.is_as_left(path).await {
                untouched.insert(path.clone());
            }
        }
        for (path, &n_undos) in counts.iter().filter(|(path, _)| !restorable.contains(*path)) {
            // Something else than a text stays, and the rest is redone.
            if self.is_changed_since(path, n_undos).await
                && let Err(error @ ReviewError::Contested { .. }) = self.merged_log(path, n_undos).await
            {
                return Err(error);
            }
        }
        let restored = keeper.redo().await.map_err(WorkspaceError::from)?;
        let (mut settled, mut merged, mut kept) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        for (path, &n_undos) in &counts {
            if let Some(log) = self.log_before_undo(path, n_undos)
                && (restored.contains(path) || self.has_text_of(path, &log).await)
            {
                settled.insert(path.clone(), log);
            } else if untouched.contains(path) {
                // Neither is its text the one that its log had before the undo.
            } else if let Ok(log) = self.merged_log(path, n_undos).await {
                merged.insert(path.clone(), log);
            } else {
                // Something else than a text is in its place, for example.
                kept.insert(path.clone());
            }
        }
        let by_logs = set_of(settled.keys().chain(merged.keys()).cloned());
        let mut changed = set_of(merged.keys().cloned());
        for paths in &steps {
            let paths: Vec<FilePath> = paths.iter().filter(|path| by_logs.contains(*path)).cloned().collect();
            let logs = paths.iter().filter_map(|path| merged.remove_entry(path)).collect();
            {
                let mut state = self.state();
                for path in &paths {
                    if let Some(log) = settled.remove(path) {
                        state.install(path.clone(), log, false);
                    }
                }
            }
            let step = Step { kind: StepKind::Undone, paths, runs: Vec::new() };
            kept.extend(self.save_permitted(logs, true, step).await?);
        }
        self.persist()?;
        changed.retain(|path| !kept.contains(path));
        let whole = keeper.complete_redo(&changed, &by_logs).await.map_err(WorkspaceError::from)?;
        let by_logs = by_logs.into_iter().filter(|path| !kept.contains(path));
        let restored = set_of(by_logs.chain(whole.restored));
        kept.extend(whole.kept);
        kept.retain(|path| !restored.contains(path));
        Ok(RedoneRuns { restored: restored.into_iter().collect(), kept: kept.into_iter().collect() })
    }

    /// Returns the log of a file as before the user's last `n_undos` entries.
    fn log_before_undo(&self, path: &FilePath, n_undos: usize) -> Option<LineLog> {
        let mut log = self.state().files.get(path)?.log.clone();
        log.undo_with_later(Origin::User, n_undos, self.clock.now_ms()).then_some(log)
    }

    /// Returns the content of a file; `None` if a link is in the place of a directory above it.
    pub(super) async fn content_here(&self, path: &FilePath) -> Result<Option<Vec<u8>>, WorkspaceError> {
        if self.is_elsewhere(path).await { Ok(None) } else { self.disk_content(path).await }
    }

    /// Returns whether the disk has the text that a log says.
    async fn has_text_of(&self, path: &FilePath, log: &LineLog) -> bool {
        let content = self.content_here(path).await;
        content.is_ok_and(|content| content.as_deref() == log.disk_text().as_deref().map(str::as_bytes))
    }

    /// Returns whether a text is as its log left it.
    pub(super) async fn is_as_left(&self, path: &FilePath) -> bool {
        let Ok(content) = self.content_here(path).await else { return false };
        let is_saved = |entry: &Entry| entry.log.is_saved_content(content.as_deref());
        self.state().files.get(path).is_some_and(is_saved)
    }

    /// Returns whether a text is neither as an undo left it nor as it was before.
    async fn is_changed_since(&self, path: &FilePath, n_undos: usize) -> bool {
        let Ok(content) = self.content_here(path).await else { return false };
        let before = self.log_before_undo(path, n_undos);
        !self.is_as_left(path).await
            && before.is_none_or(|before| before.disk_text().as_deref().map(str::as_bytes) != content.as_deref())
    }

    /// Returns the log of a text that the user has changed since an undo, without the user's `n_undos` entries before.
    async fn merged_log(&self, path: &FilePath, n_undos: usize) -> Result<LineLog, ReviewError> {
        let before = self.log_to_switch(path).await?;
        let mut log = before.clone();
        for _ in 0..n_undos {
            if let Some(outcome) = log.undo_one(Origin::User, self.clock.now_ms()) {
                reject_doubled(path, &before, &log, outcome)?;
            }
        }
        Ok(log)
    }
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
