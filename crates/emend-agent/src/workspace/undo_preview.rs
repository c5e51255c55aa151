//! The effect that an undo would have, without changing anything.

use std::collections::BTreeMap;

use emend_edit::size::compact_sort::set_of;

use super::error::WorkspaceError;
use super::runs::{MAY_KEEP, TextChange, UndoneRun, is_of_path_alone};
use super::state::Workspace;
#[cfg(not(target_family = "wasm"))]
use crate::environment::KeptState;
use crate::environment::{FilePath, KeptPreview};

impl Workspace {
    /// Returns the effect that [`undo_runs`](Self::undo_runs) would have now, as far as the system permits it.
    ///
    /// # Errors
    ///
    /// A file or the record of commands cannot be read.
    pub async fn preview_undo_runs(&self, runs: &[u64]) -> Result<UndoneRun, WorkspaceError> {
        let _writing = self.enter().await?;
        let taken = self.taken_back(runs, None).await?;
        let mut undone = taken.undone;
        #[cfg(not(target_family = "wasm"))]
        if let Some((effect, logged)) = self.kept_effect(runs, Some(&taken.logs), false).await? {
            // The log cannot read the place of these now. They get their turn after the keeper.
            let is_read_later = |path: &FilePath| effect.of(path).is_some_and(|change| change.is_unlogged);
            let (later, kept) = undone.kept.into_iter().partition(is_read_later);
            undone.kept = kept;
            undone.restored = [undone.restored, later].concat();
            let linked = self.keeper().map(|keeper| keeper.linked(&undone.restored));
            undone.refused = linked.into_iter().flatten().filter(|path| !effect.knows(path)).collect();
            undone.restored.retain(|path| !undone.refused.contains(path));
            let changes = effect.into_changes().into_iter();
            for change in changes.filter(|change| !logged.contains(&change.path)) {
                if change.is_blocked { &mut undone.blocked } else { &mut undone.restored }.push(change.path);
            }
            undone.restored = set_of(undone.restored).into_iter().collect();
        }
        let undid = self.runs().into_iter().filter(|run| runs.contains(&run.run_id));
        undone.lost = set_of(undid.flat_map(|run| run.lost)).into_iter().collect();
        Ok(undone)
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
        // In a browser no commands change files.
        #[cfg(target_family = "wasm")]
        {
            let _ = (runs, is_hard);
            Ok(Vec::new())
        }
        #[cfg(not(target_family = "wasm"))]
        {
            let Some((effect, logged)) = self.kept_effect(runs, None, is_hard).await? else { return Ok(Vec::new()) };
            let mut changes = effect.into_changes();
            changes.retain(|change| {
                let mode = |state: &Option<KeptState>| state.as_ref().map(|state| state.mode);
                let both_exist = change.before.is_some() && change.after.is_some();
                // No log can read what a later command has put in the place of its text.
                if change.after.as_ref().is_some_and(|after| !after.kind.is_text()) {
                    return true;
                }
                !logged.contains(&change.path) || (both_exist && mode(&change.before) != mode(&change.after))
            });
            Ok(changes)
        }
    }

    /// Returns the number of changes that commands of `runs` made in each ignored directory; with `only_live`, only those
    /// that an undo would take back. The paths in these directories are named nowhere else.
    #[must_use]
    pub fn ignored_changes(&self, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize> {
        self.keeper().map(|keeper| keeper.ignored(runs, only_live)).unwrap_or_default()
    }

    /// Returns the texts of the files that `runs` changed as they are and as [`undo_runs`](Self::undo_runs) would leave them.
    /// Changes nothing. Of `path` alone, the other text is the one that its line log would leave.
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
        #[cfg(not(target_family = "wasm"))]
        let effect = match path {
            None => self.kept_effect(runs, Some(&without), false).await?,
            Some(_) => None,
        };
        let mut changes = Vec::new();
        for (path, log) in without {
            let before = log.visible_text();
            #[cfg(not(target_family = "wasm"))]
            let of_command = effect.as_ref().and_then(|(effect, _)| effect.text(&path));
            #[cfg(not(target_family = "wasm"))]
            let before = of_command.map_or(before, |text| text.map(str::to_owned));
            let after = self.visible(&path).await;
            if MAY_KEEP && after.as_ref().is_err_and(is_of_path_alone) {
                // A directory is in its place, for example. The undo names it.
                continue;
            }
            let after = after?;
            if before != after {
                changes.push(TextChange { path, before, after });
            }
        }
        Ok(changes)
    }
}
