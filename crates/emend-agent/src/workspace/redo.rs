//! Redo of undone runs: of edits by their line logs, and of commands by the keeper.

use std::collections::BTreeSet;

use emend_edit::line_log::{Action, LineLog, LogEntry, Origin};
use emend_edit::size::compact_sort::set_of;
use emend_llm::BoxFuture;

use super::error::WorkspaceError;
use super::review::{Review, ReviewError};
use super::runs::{MAY_KEEP, RedoneRuns};
use super::state::Workspace;
#[cfg(not(target_family = "wasm"))]
use crate::environment::EntryKind;
use crate::environment::{FileKeeper, FilePath, KeptRestored, UndoStep};

impl Workspace {
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
        let is_of_others = || runs.is_disjoint(&set_of(kept.iter().copied()));
        let is_alone = || MAY_KEEP && self.keeper().is_some_and(FileKeeper::undone_alone);
        let is_apart = !kept.is_empty() && !runs.is_empty() && (is_of_others() || is_alone());
        let is_last = || match (self.undone_at(logged.as_deref().unwrap_or_default()), kept_at) {
            (Some(at), Some(kept_at)) if at != kept_at => at > kept_at,
            // Runs are undone from the last one back.
            _ => runs.first() < kept.first(),
        };
        let redoes_log = !MAY_KEEP || !is_apart || is_last();
        let redoes_kept = (!is_apart || !redoes_log) && !kept.is_empty();
        let mut redone = RedoneRuns::default();
        let firsts = logged.filter(|_| redoes_log);
        #[cfg(not(target_family = "wasm"))]
        let (firsts, after) = match redoes_log && redoes_kept {
            true => self.around_commands(&kept, firsts).await,
            false => (Vec::from_iter(firsts), Vec::new()),
        };
        #[cfg(not(target_family = "wasm"))]
        if redoes_kept && !firsts.is_empty() {
            self.redo_kept(&set_of(firsts.iter().flatten().cloned()), UndoStep::BeforeLogs).await?;
        }
        #[cfg(not(target_family = "wasm"))]
        for paths in firsts {
            self.undo().await?;
            redone.restored.extend(paths);
        }
        // In a browser there is one step at most, and assigning compiles to less code.
        #[cfg(target_family = "wasm")]
        if let Some(paths) = firsts {
            self.undo().await?;
            redone.restored = paths;
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
            let by_logs = by_logs.into_iter().chain(after.iter().flatten().cloned()).collect();
            let KeptRestored { restored, kept } = self.redo_kept(&by_logs, UndoStep::AfterLogs).await?;
            redone.restored = set_of(redone.restored.drain(..).chain(restored)).into_iter().collect();
            redone.kept = kept.into_iter().filter(|path| !redone.restored.contains(path)).collect();
            #[cfg(not(target_family = "wasm"))]
            self.redo_in_place_of_directories(&after, &mut redone).await?;
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

    /// Returns the steps of texts that a redo of commands of `runs` redoes before the commands, and those after them. `last` is
    /// the last step.
    ///
    /// An undo has steps of their own for texts in the place of directories. Such a text gives way before a command makes the
    /// directory, and comes after a command has removed it.
    #[cfg(not(target_family = "wasm"))]
    async fn around_commands(
        &self,
        runs: &[u64],
        last: Option<Vec<FilePath>>,
    ) -> (Vec<Vec<FilePath>>, Vec<Vec<FilePath>>) {
        let Some(last) = last else { return (Vec::new(), Vec::new()) };
        let replaced = self.keeper().map(|keeper| keeper.replaced_directories(runs)).unwrap_or_default();
        let is_in_place = |paths: &Vec<FilePath>| {
            let took_back =
                |path| self.state().files.get(path).is_some_and(|entry| last_rollback(&entry.log).is_some());
            !paths.is_empty()
                && paths.iter().all(|path| replaced.contains(path) && took_back(path))
                && self.rolled_back(paths).iter().all(|run| runs.contains(run))
        };
        let mut before = Vec::new();
        if !is_in_place(&last) {
            before.push(last);
        }
        let done = self.state().done.clone();
        let mut after: Vec<_> = done.into_iter().rev().skip(before.len()).take_while(is_in_place).collect();
        while let Some(paths) = after.first()
            && self.are_files(paths).await
        {
            before.push(after.remove(0));
        }
        (before, after)
    }

    /// Returns whether all these paths are files.
    #[cfg(not(target_family = "wasm"))]
    async fn are_files(&self, paths: &[FilePath]) -> bool {
        for path in paths {
            let found = self.environment().metadata(path).await.ok().flatten();
            if found.is_none_or(|found| found.kind != EntryKind::File) {
                return false;
            }
        }
        true
    }

    /// Redoes texts that [`undo_in_place_of_directories`](Self::undo_in_place_of_directories) has undone, and commands that
    /// changed them later.
    #[cfg(not(target_family = "wasm"))]
    async fn redo_in_place_of_directories(
        &self,
        steps: &[Vec<FilePath>],
        redone: &mut RedoneRuns,
    ) -> Result<(), WorkspaceError> {
        for (at, paths) in steps.iter().enumerate() {
            if self.undo().await.is_err() {
                redone.kept.extend(steps[at..].iter().flatten().cloned());
                return Ok(());
            }
            let by_logs = set_of(redone.restored.iter().chain(paths).cloned());
            // If nothing was left, the keeper would redo an older undo.
            let later = match redone.kept.is_empty() {
                true => BTreeSet::new(),
                false => self.redo_kept(&by_logs, UndoStep::AfterLogs).await?.restored.into_iter().collect(),
            };
            redone.restored = set_of(by_logs.into_iter().chain(later)).into_iter().collect();
            redone.kept.retain(|path| !redone.restored.contains(path));
        }
        Ok(())
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
