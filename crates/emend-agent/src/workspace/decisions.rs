//! The user's decisions on hunks, with undo and redo.
//!
//! Decisions are status changes in the line logs, from which the text on disk follows.

use std::collections::BTreeMap;

use emend_edit::line_log::{
    Action, ChangeId, DecisionError, DecisionOutcome, DependentsPolicy, HunkId, LineLog, Origin, Status,
};
#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::{ChangeOp, LoggedChange};

use super::entry::Entry;
use super::error::WorkspaceError;
use super::review::{Review, ReviewError, ReviewFile, ReviewHunk, n_pending, run_names};
use super::state::Workspace;
use super::steps::{Step, StepKind};
use crate::environment::FilePath;

/// The hunks on which the user decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Hunks by their ids.
    Hunks(Vec<String>),
    /// Every pending hunk of one file, or of all files.
    All(Option<FilePath>),
    /// Every pending change of these runs: see [`Workspace::review_of`].
    Runs(Vec<u64>),
}

/// A decision of the user on hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkDecision {
    /// The disk gets their lines, and pending lines of the agent that they need. A contested hunk is an error, or stays
    /// pending if all hunks are selected.
    Accept,
    /// Like `Accept`, but the lines of contested hunks replace those that the user or another program has put in their
    /// place.
    AcceptOver,
    /// Inserted lines disappear, removed lines return, the user's lines stay.
    Reject(DependentsPolicy),
}

impl Workspace {
    /// Decides on hunks.
    ///
    /// # Errors
    ///
    /// Returns a [`ReviewError`]; nothing changes then. [`ReviewError::Contested`] if the user or another program has
    /// changed the same lines since.
    pub async fn decide(&self, selection: Selection, decision: HunkDecision) -> Result<Review, ReviewError> {
        let _writing = self.enter().await?;
        self.find_contested(&selection, decision).await?;
        let picks = self.picks(selection, decision)?;
        self.decide_picks(picks, decision, |_, _, picks| Ok(whole_hunks(picks))).await
    }

    /// Reads the files of a bulk acceptance: a change on the disk may contest hunks, which it leaves out.
    pub(super) async fn find_contested(
        &self,
        selection: &Selection,
        decision: HunkDecision,
    ) -> Result<(), ReviewError> {
        if decision == HunkDecision::Accept && !matches!(selection, Selection::Hunks(_)) {
            for path in self.pending_paths(selection) {
                self.visible(&path).await?;
            }
        }
        Ok(())
    }

    /// Decides on picked hunks, whose changes `changes` returns. The caller holds the lock of writes.
    pub(super) async fn decide_picks(
        &self,
        picks: BTreeMap<FilePath, Vec<Pick>>,
        decision: HunkDecision,
        changes: ChangesOf,
    ) -> Result<Review, ReviewError> {
        let mut logs = Vec::new();
        for (path, picks) in picks {
            let mut log = self.log_of(&path).await?;
            let ids = changes(&path, &mut log, picks)?;
            apply(&path, &mut log, &ids, decision, self.clock.now_ms())?;
            logs.push((path, log));
        }
        self.commit_step(logs).await
    }

    /// Saves new logs as one step that the user can undo.
    pub(super) async fn commit_step(&self, logs: Vec<(FilePath, LineLog)>) -> Result<Review, ReviewError> {
        let step = self.step_of(&logs);
        #[cfg(not(target_family = "wasm"))]
        self.note_modes(&logs).await?;
        self.save_logs(logs, false, Some(step)).await?;
        Ok(self.review())
    }

    /// Notes the mode bits of files that accepted changes are about to create, delete or replace, as an edit does that is not
    /// reviewed first.
    #[cfg(not(target_family = "wasm"))]
    async fn note_modes(&self, logs: &[(FilePath, LineLog)]) -> Result<(), WorkspaceError> {
        let Some(keeper) = self.keeper() else { return Ok(()) };
        let mut by_run: BTreeMap<u64, Vec<FilePath>> = BTreeMap::new();
        for (path, log) in logs {
            let state = self.state();
            let known = state.files.get(path);
            let was_on = |id| {
                known.and_then(|entry| entry.log.change(id)).is_some_and(|change| change.status == Status::Accepted)
            };
            let is_moved = known.is_some_and(|entry| entry.moved_from.is_some());
            let is_meant = |change: &LoggedChange| {
                let changes_mode = is_moved || matches!(change.op, ChangeOp::Create | ChangeOp::Delete);
                changes_mode && change.status == Status::Accepted && !was_on(change.id)
            };
            // The mode bits before the first of the runs.
            let runs = log.changes().filter(is_meant).filter_map(|change| change.meta.run.parse().ok());
            if let Some(run) = runs.min() {
                by_run.entry(run).or_default().push(path.clone());
            }
        }
        for (run, paths) in by_run {
            keeper.note_edit(run, paths).await?;
        }
        Ok(())
    }

    /// Returns the step that new logs are.
    pub(super) fn step_of(&self, logs: &[(FilePath, LineLog)]) -> Step {
        // A log without a new entry has nothing to undo.
        let n_known = |path| self.state().files.get(path).map_or(0, |entry| entry.log.entries().len());
        let stepped = logs.iter().filter(|(path, log)| log.entries().len() > n_known(path));
        Step::new(stepped.map(|(path, _)| path.clone()).collect())
    }

    /// Accepts hunks, see [`HunkDecision::Accept`].
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn accept(&self, hunk_ids: &[String]) -> Result<Review, ReviewError> {
        self.decide(Selection::Hunks(hunk_ids.to_vec()), HunkDecision::Accept).await
    }

    /// Accepts hunks over the user's lines, see [`HunkDecision::AcceptOver`].
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn accept_over(&self, hunk_ids: &[String]) -> Result<Review, ReviewError> {
        self.decide(Selection::Hunks(hunk_ids.to_vec()), HunkDecision::AcceptOver).await
    }

    /// Rejects hunks, see [`HunkDecision::Reject`].
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide). [`ReviewError::HasDependents`] with [`DependentsPolicy::Refuse`].
    pub async fn reject(&self, hunk_ids: &[String], policy: DependentsPolicy) -> Result<Review, ReviewError> {
        self.decide(Selection::Hunks(hunk_ids.to_vec()), HunkDecision::Reject(policy)).await
    }

    /// Accepts every pending hunk of one file, or of all files, except contested ones, which stay pending.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn accept_all(&self, path: Option<&FilePath>) -> Result<Review, ReviewError> {
        self.decide(Selection::All(path.cloned()), HunkDecision::Accept).await
    }

    /// Rejects every pending hunk of one file, or of all files. The user's lines stay.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn reject_all(&self, path: Option<&FilePath>) -> Result<Review, ReviewError> {
        self.decide(Selection::All(path.cloned()), HunkDecision::Reject(DependentsPolicy::OnlyThese)).await
    }

    /// Undoes the user's last edit or decision.
    ///
    /// # Errors
    ///
    /// Returns [`ReviewError::Nothing`], or the error of the disk.
    pub async fn undo(&self) -> Result<Review, ReviewError> {
        self.step(false).await
    }

    /// Redoes the last [`undo`](Self::undo).
    ///
    /// # Errors
    ///
    /// Returns [`ReviewError::Nothing`], [`ReviewError::Contested`] or the error of the disk.
    pub async fn redo(&self) -> Result<Review, ReviewError> {
        self.step(true).await
    }

    /// Undoes the last step of the user that is in force, or redoes the last undone one.
    async fn step(&self, is_redo: bool) -> Result<Review, ReviewError> {
        let _writing = self.enter().await?;
        loop {
            let last = {
                let state = self.state();
                let steps = if is_redo { &state.undone } else { &state.done };
                steps.last().cloned()
            };
            let Some(paths) = last else {
                return Err(ReviewError::Nothing { action: if is_redo { "redo" } else { "undo" } });
            };
            let (logs, has_effect) = self.stepped(&paths, is_redo).await?;
            let kind = if is_redo { StepKind::Redone } else { StepKind::Undone };
            self.save_logs(logs, true, Some(Step { kind, paths, runs: Vec::new() })).await?;
            if has_effect {
                return Ok(self.review());
            }
        }
    }

    /// Returns the logs of files after undoing or redoing one entry of the user in each, and whether that has an effect. It
    /// has none if all changes have been taken back since, such as by a restored file.
    async fn stepped(
        &self,
        paths: &[FilePath],
        is_redo: bool,
    ) -> Result<(Vec<(FilePath, LineLog)>, bool), ReviewError> {
        let (mut logs, mut has_effect) = (Vec::new(), false);
        for path in paths {
            let before = self.log_to_switch(path).await?;
            let (mut log, now_ms) = (before.clone(), self.clock.now_ms());
            let step = if is_redo { LineLog::redo_one } else { LineLog::undo_one };
            if let Some(outcome) = step(&mut log, Origin::User, now_ms) {
                has_effect = true;
                reject_doubled(path, &before, &log, outcome)?;
            }
            logs.push((path.clone(), log));
        }
        Ok((logs, has_effect))
    }

    /// Returns the files with pending hunks among which `selection` selects.
    fn pending_paths(&self, selection: &Selection) -> Vec<FilePath> {
        let is_selected = |path: &FilePath| !matches!(selection, Selection::All(Some(one)) if one != path);
        let state = self.state();
        let files = state.files.iter().filter(|(path, entry)| is_selected(path) && n_pending(&entry.log) > 0);
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the selected hunks by file. A bulk acceptance leaves out contested ones.
    pub(super) fn picks(
        &self,
        selection: Selection,
        decision: HunkDecision,
    ) -> Result<BTreeMap<FilePath, Vec<Pick>>, ReviewError> {
        let is_pickable = |hunk: &ReviewHunk| decision != HunkDecision::Accept || !hunk.contested;
        let ids_of = |review: Review, path: Option<FilePath>| -> Vec<String> {
            let files = review.files.into_iter().filter(|file| path.as_ref().is_none_or(|path| file.path == *path));
            files.flat_map(|file| file.hunks).filter(is_pickable).map(|hunk| hunk.id).collect()
        };
        let ids = match selection {
            Selection::Hunks(ids) => ids,
            Selection::All(path) => ids_of(self.review(), path),
            Selection::Runs(runs) => ids_of(self.review_of(Some(&runs)), None),
        };
        let ids = self.with_other_halves(ids, is_pickable);
        let mut by_file: BTreeMap<FilePath, Vec<Pick>> = BTreeMap::new();
        for id in ids {
            let (path, changes) = self.changes_of(&id)?;
            by_file.entry(path).or_default().push(Pick { id, changes, lines: Vec::new() });
        }
        Ok(by_file)
    }

    /// Adds the other half of each pending rename of which `ids` has one half: the removal of the old path, or the file at the
    /// new one. Apart, one half would lose the file, and the other one double it.
    pub(super) fn with_other_halves(
        &self,
        mut ids: Vec<String>,
        is_pickable: impl Fn(&ReviewHunk) -> bool,
    ) -> Vec<String> {
        let moves = |(to, entry): (&FilePath, &Entry)| Some((to.clone(), entry.moved_from.clone()?));
        let moved: Vec<(FilePath, FilePath)> = self.state().files.iter().filter_map(moves).collect();
        if moved.is_empty() {
            return ids;
        }
        let review = self.review();
        for (to, from) in moved {
            let half = |path: &FilePath, operation| {
                review.files.iter().find(|file| file.path == *path && file.operation == operation)
            };
            let (Some(made), Some(gone)) = (half(&to, "create"), half(&from, "delete")) else { continue };
            let has = |file: &ReviewFile| file.hunks.iter().all(|hunk| ids.contains(&hunk.id));
            let missing = match (has(made), has(gone)) {
                (true, false) => gone,
                (false, true) => made,
                _ => continue,
            };
            let left = missing.hunks.iter().filter(|hunk| is_pickable(hunk) && !ids.contains(&hunk.id));
            ids.extend(left.map(|hunk| hunk.id.clone()).collect::<Vec<_>>());
        }
        ids
    }

    /// Returns the edits that made a hunk, each once: the id of a tool call, or `CALL/NAME` for a
    /// [named edit](super::EditStep) of it.
    ///
    /// # Errors
    ///
    /// Returns [`ReviewError::UnknownHunk`] for an unknown id.
    pub fn edits_of_hunk(&self, hunk_id: &str) -> Result<Vec<String>, ReviewError> {
        let unknown = || ReviewError::UnknownHunk { id: hunk_id.to_owned() };
        let (path, changes) = self.changes_of(hunk_id)?;
        let state = self.state();
        let log = &state.files.get(&path).ok_or_else(unknown)?.log;
        let mut edits: Vec<String> = Vec::new();
        for id in log.changes_of(&HunkId::of(&changes)).map_err(|_| unknown())? {
            let Some(change) = log.change(id) else { continue };
            if !edits.contains(&change.meta.edit) {
                edits.push(change.meta.edit);
            }
        }
        Ok(edits)
    }

    /// Returns the file and the changes of a hunk.
    pub(super) fn changes_of(&self, hunk_id: &str) -> Result<(FilePath, Vec<ChangeId>), ReviewError> {
        let state = self.state();
        let unknown = || ReviewError::UnknownHunk { id: hunk_id.to_owned() };
        let (number, hunk) = hunk_id.strip_prefix('f').and_then(|rest| rest.split_once(':')).ok_or_else(unknown)?;
        let file = state.files.iter().find(|(_, entry)| entry.number.to_string() == number).ok_or_else(unknown)?;
        let changes = HunkId::from(hunk).changes().ok_or_else(unknown)?;
        Ok((file.0.clone(), changes))
    }
}

impl Workspace {
    /// Returns whether a hunk of `runs` still is pending, at least in part. `None` if its id is unknown, if it is of another run,
    /// or if a part of it was rejected and nothing of it is pending.
    #[must_use]
    pub fn is_hunk_pending(&self, hunk_id: &str, runs: &[u64]) -> Option<bool> {
        let (path, changes) = self.changes_of(hunk_id).ok()?;
        let state = self.state();
        let log = &state.files.get(&path)?.log;
        let changes = log.changes_of(&HunkId::of(&changes)).ok()?;
        let runs = run_names(runs);
        let mut statuses = Vec::with_capacity(changes.len());
        for change in changes {
            let change = log.change(change).filter(|change| change.origin == Origin::Agent)?;
            statuses.push(runs.contains(&change.meta.run).then_some(change.status)?);
        }
        match statuses.contains(&Status::Pending) {
            true => Some(true),
            false => statuses.iter().all(|status| *status == Status::Accepted).then_some(false),
        }
    }

    /// Returns whether two hunks have a change in common.
    pub(crate) fn share_changes(&self, hunk_id: &str, other_id: &str) -> bool {
        let resolved = |id: &str| {
            let (path, changes) = self.changes_of(id).ok()?;
            let state = self.state();
            let changes = state.files.get(&path)?.log.changes_of(&HunkId::of(&changes)).ok()?;
            Some((path, changes))
        };
        match (resolved(hunk_id), resolved(other_id)) {
            (Some((path, changes)), Some((other, others))) => {
                path == other && changes.iter().any(|id| others.contains(id))
            }
            _ => false,
        }
    }
}

/// A selected hunk.
pub(super) struct Pick {
    pub(super) id: String,
    pub(super) changes: Vec<ChangeId>,
    /// The selected lines of it; none for the whole hunk.
    pub(super) lines: Vec<usize>,
}

/// Returns the changes of picked hunks, after splitting them if necessary.
pub(super) type ChangesOf = fn(&FilePath, &mut LineLog, Vec<Pick>) -> Result<Vec<ChangeId>, ReviewError>;

/// Returns the changes of whole hunks.
pub(super) fn whole_hunks(picks: Vec<Pick>) -> Vec<ChangeId> {
    picks.into_iter().flat_map(|pick| pick.changes).collect()
}

/// Applies a decision to the changes of one file.
pub(super) fn apply(
    path: &FilePath,
    log: &mut LineLog,
    ids: &[ChangeId],
    decision: HunkDecision,
    at_ms: u64,
) -> Result<(), ReviewError> {
    let outcome = match decision {
        HunkDecision::Accept => {
            reject_contested(path, log, ids)?;
            log.accept(&with_needed(log, ids.to_vec()), Origin::User, at_ms)
        }
        HunkDecision::AcceptOver => log.accept_over(&with_needed(log, ids.to_vec()), Origin::User, at_ms),
        HunkDecision::Reject(policy) => log.reject(ids, policy, Origin::User, at_ms),
    };
    outcome.map(|_| ()).map_err(|error| refused(path, error))
}

/// Adds the pending changes on which `accepted` ones depend, directly or indirectly: lines of the agent around these, or
/// lines that they replaced. They reach the disk with them, and nothing on the disk that the agent wrote is pending.
pub(super) fn with_needed(log: &LineLog, accepted: Vec<ChangeId>) -> Vec<ChangeId> {
    let mut all = accepted;
    let mut at = 0;
    while let Some(&id) = all.get(at) {
        for dep in log.change(id).map(|change| change.deps).unwrap_or_default() {
            if !all.contains(&dep) && log.change(dep).is_some_and(|change| change.status == Status::Pending) {
                all.push(dep);
            }
        }
        at += 1;
    }
    all
}

/// Returns the reason why a decision on a file was rejected.
pub(super) fn refused(path: &FilePath, error: DecisionError) -> ReviewError {
    match error {
        DecisionError::HasDependents { dependents, from_user } => {
            ReviewError::HasDependents { path: path.clone(), n_dependents: dependents.len(), from_user }
        }
        DecisionError::UnknownChange { id } => ReviewError::UnknownHunk { id: format!("{path}:{}", id.0) },
        DecisionError::UnknownCheckpoint { .. } => WorkspaceError::Internal { reason: error.to_string() }.into(),
    }
}

/// Returns an error if an undone or redone entry has put lines beside others that replace them. `before` is the log without
/// that.
pub(super) fn reject_doubled(
    path: &FilePath,
    before: &LineLog,
    log: &LineLog,
    outcome: DecisionOutcome,
) -> Result<(), ReviewError> {
    if undoes_last_entry(before, log) {
        return Ok(());
    }
    // A later run may have edited the same lines: both edits would then stand side by side.
    if let n_places @ 1.. = log.doubled(&outcome.changed).len() {
        return Err(ReviewError::Contested { path: path.clone(), n_places });
    }
    let is_accepted = |id: &ChangeId| log.change(*id).is_some_and(|change| change.status == Status::Accepted);
    let accepted: Vec<ChangeId> = outcome.changed.into_iter().filter(is_accepted).collect();
    reject_contested(path, before, &accepted)
}

/// Returns whether `log` has only undone the last entry of `before`, which leads back to lines that the user has seen.
fn undoes_last_entry(before: &LineLog, log: &LineLog) -> bool {
    let number = before.entries().last().map_or(0, |last| last.number);
    log.entries().last().is_some_and(|new| new.action == Action::Undo { entry: number })
}

/// Returns an error if a change would get beside lines that replace it.
fn reject_contested(path: &FilePath, log: &LineLog, ids: &[ChangeId]) -> Result<(), ReviewError> {
    match log.contested(ids).len() {
        0 => Ok(()),
        n_places => Err(ReviewError::Contested { path: path.clone(), n_places }),
    }
}
