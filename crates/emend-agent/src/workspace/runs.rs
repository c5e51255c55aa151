//! Runs: what the agent changed for each message of the user's, shown, taken back and brought back.
//!
//! A run is a checkpoint too: the state before it is reached by taking back this run and all later ones. Nothing is
//! cut off by that; taking back is a decision of the user's like any other, and is undone as one.

use std::collections::{BTreeMap, BTreeSet};

use emend_edit::line_log::{Action, ChangeId, DependentsPolicy, LineLog, Origin};

use super::error::WorkspaceError;
use super::review::ReviewError;
use super::state::Workspace;
use crate::environment::FilePath;

/// What the agent changed in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChanges {
    /// The run.
    pub run: u64,
    /// When its first change was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// The files it changed.
    pub files: Vec<FilePath>,
    /// Whether any of it still has an effect: it was not rejected or taken back whole.
    pub is_on: bool,
}

/// One file's text with and without something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// The file.
    pub path: FilePath,
    /// Its text without it, `None` if there is no file then.
    pub before: Option<String>,
    /// Its text with it, `None` if there is no file then.
    pub after: Option<String>,
}

/// What undoing runs did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoneRun {
    /// Files that were changed back.
    pub restored: Vec<FilePath>,
    /// Files in which something of the runs stays, because the user has edited it since.
    pub kept: Vec<FilePath>,
}

/// The logs as they are when runs are taken back.
struct TakenBack {
    undone: UndoneRun,
    logs: Vec<(FilePath, LineLog)>,
}

impl Workspace {
    /// Returns the runs in which the agent changed files, oldest first.
    #[must_use]
    pub fn runs(&self) -> Vec<RunChanges> {
        let mut runs: BTreeMap<u64, RunChanges> = BTreeMap::new();
        for (path, entry) in &self.state().files {
            for change in entry.log.changes().filter(|change| change.origin == Origin::Agent) {
                let Ok(run) = change.meta.run.parse() else { continue };
                let at_ms = change.meta.at_ms;
                let found =
                    runs.entry(run).or_insert_with(|| RunChanges { run, at_ms, files: Vec::new(), is_on: false });
                found.at_ms = found.at_ms.min(at_ms);
                found.is_on |= change.status.is_on();
                if found.files.last() != Some(path) {
                    found.files.push(path.clone());
                }
            }
        }
        runs.into_values().collect()
    }

    /// Switches off what the agent changed in `runs`. Lines of the user's stay, and so does a change whose lines the
    /// user has since deleted or replaced: bringing the old lines back would put them beside what the user made of them.
    ///
    /// # Errors
    ///
    /// A file cannot be read or the disk refuses; nothing changed then.
    pub async fn undo_runs(&self, runs: &[u64]) -> Result<UndoneRun, WorkspaceError> {
        let _writing = self.writing.lock().await;
        let TakenBack { undone, logs } = self.taken_back(runs, None).await?;
        self.save_logs(logs).await?;
        if !undone.restored.is_empty() {
            let mut state = self.state();
            state.done.push(undone.restored.clone());
            state.undone.clear();
        }
        Ok(undone)
    }

    /// Brings back what the last [`undo_runs`](Self::undo_runs) switched off. Returns the files.
    ///
    /// # Errors
    ///
    /// [`ReviewError::Nothing`] if the user has decided or edited something since, or the disk refuses.
    pub async fn redo_runs(&self) -> Result<Vec<FilePath>, ReviewError> {
        let nothing = || ReviewError::Nothing { action: "redo" };
        let paths = {
            let state = self.state();
            let paths = state.done.last().cloned().ok_or_else(nothing)?;
            let took_back = |path| state.files.get(path).is_some_and(|entry| ends_in_rollback(&entry.log));
            if !paths.iter().all(took_back) {
                return Err(nothing());
            }
            paths
        };
        self.undo().await?;
        Ok(paths)
    }

    /// Returns what `runs` make of the files they changed, or of `path` alone: the texts as [`undo_runs`](Self::undo_runs)
    /// would leave them, and as they are. Nothing is changed.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub async fn texts_of_runs(
        &self,
        runs: &[u64],
        path: Option<&FilePath>,
    ) -> Result<Vec<TextChange>, WorkspaceError> {
        let _writing = self.writing.lock().await;
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

    async fn taken_back(&self, runs: &[u64], path: Option<&FilePath>) -> Result<TakenBack, WorkspaceError> {
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        let known: Vec<FilePath> = self.state().files.keys().cloned().collect();
        let mut taken = TakenBack { undone: UndoneRun::default(), logs: Vec::new() };
        for path in known.into_iter().filter(|known| path.is_none_or(|path| path == known)) {
            self.visible(&path).await?;
            let mut log = self.log_of(&path).await?;
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
            log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, self.clock.now_ms())
                .map_err(|error| WorkspaceError::Internal { reason: format!("{path}: {error}") })?;
            taken.undone.restored.push(path.clone());
            taken.logs.push((path, log));
        }
        Ok(taken)
    }
}

/// Returns whether the last thing the user did in a file, and has not undone, was to take changes back.
fn ends_in_rollback(log: &LineLog) -> bool {
    let mut undone = BTreeSet::new();
    for entry in log.entries().iter().rev().filter(|entry| entry.by == Origin::User) {
        match entry.action {
            Action::Undo { entry } => {
                undone.insert(entry);
            }
            _ if undone.contains(&entry.number) => {}
            action => return matches!(action, Action::Rollback { .. }),
        }
    }
    false
}

/// Returns the changes of the agent's that a live change of the user's or of another program's deletes lines of.
fn overwritten_by_user(log: &LineLog) -> BTreeSet<ChangeId> {
    log.changes()
        .filter(|change| change.origin != Origin::Agent && change.status.is_on() && change.deleted_lines > 0)
        .flat_map(|change| change.deps)
        .collect()
}
