//! The effect of an undo's other part on the paths with line logs: the part of the keeper of files.
//!
//! The keeper and a line log each undo their own changes of a path. The older change decides what is there in the end.

use std::collections::{BTreeMap, BTreeSet};

use emend_edit::line_log::{LineLog, Origin};

use super::error::WorkspaceError;
use super::review::run_names;
use super::state::Workspace;
use crate::environment::{FilePath, KeptPreview, KeptState, KeptStateKind, KeptUndo};

/// The changes of commands that an undo would take back.
pub(super) struct KeptEffect {
    changes: Vec<KeptPreview>,
    /// Run and time of the first edit of each file.
    first_edits: BTreeMap<FilePath, (u64, u64)>,
    /// Run and time of the first change of each path by a command that no line log holds.
    unlogged: BTreeMap<FilePath, (u64, u64)>,
    /// The texts that the logs of such paths leave; none where a log leaves no file.
    texts: BTreeMap<FilePath, Option<String>>,
}

impl KeptEffect {
    /// Returns the change of a path that the undo would take back.
    pub(super) fn of(&self, path: &FilePath) -> Option<&KeptPreview> {
        self.changes.iter().find(|change| change.path == *path && !change.is_blocked)
    }

    /// Returns whether commands changed a path. The keeper then changes it back also where its log cannot.
    pub(super) fn knows(&self, path: &FilePath) -> bool {
        self.changes.iter().any(|change| change.path == *path)
    }

    /// Returns the text that the undo leaves at a path whose log begins with what a command put there; `None` if the log
    /// decides.
    pub(super) fn text(&self, path: &FilePath) -> Option<Option<&str>> {
        let change = self.of(path)?;
        let (command, edit) = (self.unlogged.get(path)?, self.first_edits.get(path)?);
        (command < edit).then_some(change.text.as_deref())
    }

    /// Returns all changes. Those of paths that were edited first end with the text that the log leaves.
    pub(super) fn into_changes(self) -> Vec<KeptPreview> {
        let Self { mut changes, first_edits, unlogged, texts } = self;
        for change in changes.iter_mut().filter(|change| !change.is_blocked) {
            let times = first_edits.get(&change.path).zip(unlogged.get(&change.path));
            let Some(text) = texts.get(&change.path).filter(|_| times.is_some_and(|(edit, command)| edit < command))
            else {
                continue;
            };
            let file = change.after.as_ref().filter(|after| matches!(after.kind, KeptStateKind::File { .. }));
            let mode = file.map_or(0o644, |after| after.mode);
            let kind = |text: &String| KeptStateKind::File { size: text.len() as u64, is_text: true };
            change.before = text.as_ref().map(|text| KeptState { kind: kind(text), mode });
        }
        changes
    }
}

impl Workspace {
    /// Returns the text that a hard rollback of the edits in `runs` leaves.
    fn text_after_rollback(&self, path: &FilePath, runs: &[u64]) -> Option<String> {
        let mut log = self.state().files.get(path)?.log.clone();
        log.rollback_before(&run_names(runs), Origin::User, self.clock.now_ms());
        log.visible_text()
    }

    /// Returns the keeper's part of an undo, or with `is_hard` of a hard rollback. `logs` are the logs after the undo, if they
    /// are known. Also returns the files with edits of the runs in effect.
    pub(super) async fn kept_effect(
        &self,
        runs: &[u64],
        logs: Option<&[(FilePath, LineLog)]>,
        is_hard: bool,
    ) -> Result<Option<(KeptEffect, BTreeSet<FilePath>)>, WorkspaceError> {
        let Some(keeper) = self.keeper() else { return Ok(None) };
        let logged = self.logged(runs);
        let mut undo = KeptUndo { runs: runs.to_vec(), logged, restores_deleted: is_hard, ..KeptUndo::default() };
        self.note_first_edits(&mut undo);
        // A log that was moved begins with the text of another path.
        let unlogged = keeper.first_unlogged(runs);
        let both = undo.first_edits.keys().filter(|path| unlogged.contains_key(*path));
        let texts = both.map(|path| (path.clone(), self.text_after_rollback(path, runs)));
        let mut texts: BTreeMap<FilePath, Option<String>> = texts.collect();
        // All logs are read only if one of them matters.
        let own = match logs {
            None if !is_hard && !texts.is_empty() => self.taken_back(runs, None).await?.logs,
            _ => Vec::new(),
        };
        let logs = logs.unwrap_or(&own).iter().filter(|(path, _)| unlogged.contains_key(path));
        texts.extend(logs.map(|(path, log)| (path.clone(), log.visible_text())));
        undo.bases = texts.iter().filter_map(|(path, text)| Some((path.clone(), text.clone()?))).collect();
        let changes = keeper.preview(&undo).await?;
        let KeptUndo { logged, first_edits, .. } = undo;
        Ok(Some((KeptEffect { changes, first_edits, unlogged, texts }, logged)))
    }
}
