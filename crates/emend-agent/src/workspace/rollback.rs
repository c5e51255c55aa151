//! The return to the state before a run.
//!
//! A rollback is a step of the user. It sets statuses in the line logs, so nothing is deleted and
//! [`Workspace::undo`] reverts it. The visible text changes first. The disk follows the disk rule: a change that was on it
//! (accepted, or the user's) leaves it, and a pending one was never there.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::LoggedChange;
use emend_edit::line_log::{ChangeId, DependentsPolicy, HunkId, HunkQuery, LineLog, Origin, Status};
use emend_edit::size::compact_sort::set_of;
use emend_llm::BoxFuture;
use serde::{Deserialize, Serialize};

#[cfg(not(target_family = "wasm"))]
use super::around_logs::{edits_of, first_edit};
use super::decisions::refused;
use super::review::{ReviewError, run_names};
use super::runs::{MAY_KEEP, TextChange, is_of_path_alone};
#[cfg(not(target_family = "wasm"))]
use super::runs::{TURNS_MAX, is_below_any};
use super::state::Workspace;
use crate::environment::{FilePath, KeptUndo, UndoStep};

/// Hunks with their changes, by file.
type Named = BTreeMap<FilePath, Vec<(String, Vec<ChangeId>)>>;

/// The extent of a rollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackMode {
    /// Each file gets its text before the runs. Later changes go too, **also those of the user**.
    HardAll,
    /// Only the named hunks, or all hunks of the runs, are taken back. Later changes stay; a hunk that one of them depends
    /// on is a conflict and stays as well.
    #[default]
    ScopedSelected,
}

/// A request to roll back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RollbackRequest {
    /// The extent.
    pub mode: RollbackMode,
    /// The runs.
    pub runs: Vec<u64>,
    /// For [`RollbackMode::ScopedSelected`]: the hunks. Empty for all hunks of the runs.
    pub hunk_ids: Vec<String>,
    /// Whether nothing is changed.
    pub preview: bool,
    /// Only these files, if given.
    pub files: Option<Vec<FilePath>>,
}

/// The effect of a rollback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rollback {
    /// The affected files, by path.
    pub files: Vec<RolledBackFile>,
    /// Paths beside texts that stay as they are because they have another state than the runs left. Only a hard rollback
    /// on a machine with files changes other than texts at all.
    #[serde(skip)]
    pub kept: Vec<FilePath>,
    /// Paths that were restored beside texts, also those of which older changes are kept.
    #[serde(skip)]
    pub restored: BTreeSet<FilePath>,
    /// Whether [`Workspace::undo_whole`] reverts the rollback as a step of its own; false if nothing changed.
    #[serde(skip)]
    pub is_step: bool,
}

/// The effect of a rollback on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RolledBackFile {
    /// Path relative to the root.
    pub file_path: FilePath,
    /// Number of changes of the agent that are taken back.
    pub reverted: usize,
    /// Number of changes of the user or other programs that are taken back. Always 0 unless the mode is `hard_all`.
    pub reverted_from_user: usize,
    /// Number of changes since the runs began that stay.
    pub kept: usize,
    /// Hunks that stay because later changes depend on them, for a decision by hand.
    pub conflicts: Vec<String>,
    /// Whether the file stays as it is because it cannot be read as a text or the system does not permit to write it.
    #[serde(skip)]
    pub refused: bool,
    /// The visible text before and after.
    #[serde(skip)]
    pub texts: TextChange,
}

impl Rollback {
    /// Takes the effect on files that can be read only now.
    fn take_readable(&mut self, files: &[RolledBackFile]) {
        for file in self.files.iter_mut().filter(|file| file.refused) {
            if let Some(now) = files.iter().find(|now| now.file_path == file.file_path) {
                *file = now.clone();
            }
        }
    }
}

impl RolledBackFile {
    /// Returns no effect on a file.
    pub(super) fn untouched(path: FilePath) -> Self {
        let texts = TextChange { path: path.clone(), before: None, after: None };
        let (reverted, reverted_from_user, kept, conflicts) = (0, 0, 0, Vec::new());
        Self { file_path: path, reverted, reverted_from_user, kept, conflicts, refused: false, texts }
    }
}

impl Workspace {
    /// Rolls runs back: all files in one commit to the disk, and as one step that [`undo`](Self::undo) reverts.
    ///
    /// A hard rollback also restores what commands of the runs changed beside text, unless it was changed since or changes
    /// wait for a [`save`](Self::save); only [`redo_runs`](Self::redo_runs) and [`undo_whole`](Self::undo_whole) revert that
    /// part.
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownHunk`], or the error of the disk; nothing changes then.
    pub async fn rollback(&self, request: &RollbackRequest) -> Result<Rollback, ReviewError> {
        self.roll_back(request, false).await
    }

    /// Rolls runs back. `is_repeated` is for a rollback that was undone and is the next step to redo: the steps that were undone
    /// before it can be redone after it.
    pub(super) async fn roll_back(
        &self,
        request: &RollbackRequest,
        is_repeated: bool,
    ) -> Result<Rollback, ReviewError> {
        let _writing = self.enter().await?;
        let names = run_names(&request.runs);
        let mut named = Named::new();
        for id in &request.hunk_ids {
            let (path, changes) = self.changes_of(id)?;
            let state = self.state();
            let of_runs = |id: &ChangeId| {
                let change = state.files.get(&path).and_then(|entry| entry.log.change(*id));
                change.is_some_and(|change| change.origin == Origin::Agent && names.contains(&change.meta.run))
            };
            if !changes.iter().all(of_runs) {
                return Err(ReviewError::UnknownHunk { id: id.clone() });
            }
            named.entry(path.clone()).or_default().push((id.clone(), changes));
        }
        let is_wanted = |path: &FilePath| request.files.as_ref().is_none_or(|files| files.contains(path));
        let is_hard = request.mode == RollbackMode::HardAll;
        let mut paths: BTreeSet<FilePath> = named.keys().cloned().collect();
        if is_hard || named.is_empty() {
            let state = self.state();
            let changed = state.files.iter().filter(|(_, entry)| entry.log.proposal(&names).is_some());
            paths = changed.map(|(path, _)| path.clone()).collect();
        }
        let paths: Vec<FilePath> = paths.into_iter().filter(is_wanted).collect();
        let (files, mut logs) = self.plan(&paths, &names, is_hard, &mut named).await?;
        let mut rollback = Rollback { files, ..Rollback::default() };
        if MAY_KEEP {
            let by_keeper = is_hard.then_some(&*request.runs);
            self.refuse_below_files(&mut rollback.files, &mut logs, by_keeper).await?;
        }
        // Only texts can be held in memory until they are saved.
        let restores_kept = is_hard && request.files.is_none() && !self.defers_saves;
        #[cfg(not(target_family = "wasm"))]
        let restores_kept = restores_kept || !is_hard && self.undoes_commands(request, &rollback).await?;
        if request.preview {
            #[cfg(not(target_family = "wasm"))]
            self.add_to_preview(&mut rollback.files, &logs, &request.runs, restores_kept).await?;
            return Ok(rollback);
        }
        #[cfg(not(target_family = "wasm"))]
        if restores_kept {
            let begun = self.begin_undo(&request.runs, &set_of(paths.iter().cloned())).await;
            begun.map_err(super::error::WorkspaceError::from)?;
        }
        let logged = logs.iter().map(|(path, _)| path.clone()).collect();
        let mut kept =
            KeptUndo { runs: request.runs.clone(), logged, restores_deleted: is_hard, ..KeptUndo::default() };
        // The keeper undoes an older change of a command after the edit, also if the log can be read only then.
        #[cfg(not(target_family = "wasm"))]
        let unread = set_of(rollback.files.iter().filter(|file| file.refused).map(|file| file.file_path.clone()));
        #[cfg(not(target_family = "wasm"))]
        if is_hard {
            kept.logged.extend(unread.iter().cloned());
            let last = |path: &FilePath| Some((path.clone(), self.last_edit(path, &request.runs)?));
            kept.last_edits = kept.logged.iter().filter_map(last).collect();
        }
        // The paths that the keeper restored after a log had put a text there.
        #[cfg(not(target_family = "wasm"))]
        let mut late = BTreeSet::new();
        for step in [UndoStep::BeforeLogs, UndoStep::AfterLogs] {
            if restores_kept {
                kept.n_steps = self.state().done.len();
                let outcome = self.undo_kept(&kept, step).await.map_err(super::error::WorkspaceError::from)?;
                rollback.kept = outcome.kept;
                #[cfg(not(target_family = "wasm"))]
                rollback.restored.extend(outcome.restored.iter().cloned());
                #[cfg(not(target_family = "wasm"))]
                if matches!(step, UndoStep::AfterLogs) {
                    late.extend(outcome.restored.iter().cloned());
                }
                // The keeper restores some texts that the logs could not write.
                if MAY_KEEP && is_hard && matches!(step, UndoStep::BeforeLogs) && !outcome.restored.is_empty() {
                    // The keeper has also removed texts, such as those below a directory that was a file.
                    logs = self.plan_after(&paths, &names, &outcome.restored, &mut rollback).await?;
                    // Also the texts that can be read only now.
                    kept.logged.extend(logs.iter().map(|(path, _)| path.clone()));
                }
                #[cfg(not(target_family = "wasm"))]
                if matches!(step, UndoStep::BeforeLogs) {
                    let is_read = |path: &FilePath| !unread.contains(path) || logs.iter().any(|(log, _)| log == path);
                    kept.logged.retain(is_read);
                }
                #[cfg(not(target_family = "wasm"))]
                for file in rollback.files.iter_mut().filter(|file| outcome.restored.contains(&file.file_path)) {
                    file.refused = false;
                }
            }
            if matches!(step, UndoStep::BeforeLogs) {
                let stepped = std::mem::take(&mut logs);
                let is_part = !request.hunk_ids.is_empty() || request.files.is_some();
                let runs = if is_part { Vec::new() } else { request.runs.clone() };
                let step = super::steps::Step { runs, ..self.step_of(&stepped) };
                #[cfg(target_family = "wasm")]
                debug_assert!(!is_repeated, "the list of steps holds all that a rollback in a browser did");
                rollback.is_step = !step.paths.is_empty();
                #[cfg(not(target_family = "wasm"))]
                let (stepped, step) = if is_repeated { self.as_redo(stepped, step).await? } else { (stepped, step) };
                #[cfg(not(target_family = "wasm"))]
                let saved = set_of(stepped.iter().map(|(path, _)| path.clone()));
                let refused = self.save_permitted(stepped, true, step).await?;
                kept.logged.retain(|path| !refused.contains(path));
                #[cfg(not(target_family = "wasm"))]
                if is_hard && restores_kept {
                    // A log restores the text before the runs in one step.
                    let is_left = |path: &&FilePath| !saved.contains(*path) || refused.contains(*path);
                    let left: Vec<FilePath> = paths.iter().filter(is_left).cloned().collect();
                    late = self.roll_back_in_turns((&left, &names), &mut kept, &mut rollback).await?;
                }
                #[cfg(not(target_family = "wasm"))]
                if restores_kept {
                    self.note_first_edits(&mut kept);
                }
                for file in rollback.files.iter_mut().filter(|file| refused.contains(&file.file_path)) {
                    (file.reverted, file.reverted_from_user, file.refused) = (0, 0, true);
                    file.texts.after.clone_from(&file.texts.before);
                }
            }
        }
        #[cfg(not(target_family = "wasm"))]
        for file in rollback.files.iter_mut().filter(|file| late.contains(&file.file_path)) {
            // Not noted in the log: a redo must find it as the rollback left it.
            file.texts.after = self.disk_text(&file.file_path).await.unwrap_or_default();
            file.refused = false;
        }
        #[cfg(not(target_family = "wasm"))]
        if restores_kept {
            self.note_rollback(request);
            rollback.is_step |= !rollback.restored.is_empty();
        }
        Ok(rollback)
    }

    /// Rolls back the rest of texts that commands and edits changed in turn: see
    /// [`undo_in_turns`](Self::undo_in_turns). Returns the paths that the keeper restored.
    #[cfg(not(target_family = "wasm"))]
    async fn roll_back_in_turns(
        &self,
        (paths, names): (&[FilePath], &[String]),
        kept: &mut KeptUndo,
        rollback: &mut Rollback,
    ) -> Result<BTreeSet<FilePath>, ReviewError> {
        let mut restored = BTreeSet::new();
        let n_turns = if paths.is_empty() { 0 } else { TURNS_MAX };
        for _ in 0..n_turns {
            let turn = self.undo_kept(kept, UndoStep::BetweenLogs).await.map_err(super::error::WorkspaceError::from)?;
            let logs = match turn.restored.is_empty() {
                true => return Ok(restored),
                false => self.plan_after(paths, names, &turn.restored, rollback).await?,
            };
            restored.extend(turn.restored);
            if logs.is_empty() {
                return Ok(restored);
            }
            kept.logged.extend(logs.iter().map(|(path, _)| path.clone()));
            let step = self.step_of(&logs);
            let refused = self.save_permitted(logs, true, step).await?;
            kept.logged.retain(|path| !refused.contains(path));
            restored.retain(|path| !refused.contains(path));
        }
        Ok(restored)
    }

    /// Returns whether a scoped rollback undoes the commands of its runs whole: it takes back all their hunks, and they changed
    /// texts alone.
    #[cfg(not(target_family = "wasm"))]
    async fn undoes_commands(&self, request: &RollbackRequest, rollback: &Rollback) -> Result<bool, ReviewError> {
        let is_part = !request.hunk_ids.is_empty() || request.files.is_some() || self.defers_saves;
        let stays = |file: &RolledBackFile| file.refused || !file.conflicts.is_empty();
        if is_part || rollback.files.iter().any(stays) {
            return Ok(false);
        }
        // Such as a text that became a directory, although it is a text again.
        if self.keeper().is_some_and(|keeper| !keeper.first_unlogged(&request.runs).is_empty()) {
            return Ok(false);
        }
        let others = self.other_changes(&request.runs, false).await?;
        Ok(others.is_empty() && self.ignored_changes(&request.runs, true).is_empty())
    }

    /// Returns the effect of a rollback on files, and their logs after it. `named` has the hunks to take back; a file
    /// without any loses those of the runs.
    async fn plan(
        &self,
        paths: &[FilePath],
        names: &[String],
        is_hard: bool,
        named: &mut Named,
    ) -> Result<(Vec<RolledBackFile>, Vec<(FilePath, LineLog)>), ReviewError> {
        let (mut files, mut logs) = (Vec::new(), Vec::new());
        #[cfg(not(target_family = "wasm"))]
        let runs: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        #[cfg(not(target_family = "wasm"))]
        // The links are looked at only if one is above a text.
        let (mut directories, mut unlogged, mut links) = (BTreeMap::new(), BTreeMap::new(), None);
        #[cfg(not(target_family = "wasm"))]
        if is_hard {
            directories = self.directories_before(&runs);
            unlogged = self.keeper().map(|keeper| keeper.first_unlogged(&runs)).unwrap_or_default();
        }
        for path in paths.iter().cloned() {
            let number = self.state().files.get(&path).map_or(0, |entry| entry.number);
            #[cfg(not(target_family = "wasm"))]
            if self.is_elsewhere(&path).await {
                let links = match &mut links {
                    Some(known) => known,
                    unknown => unknown.insert(if is_hard { self.giving_way(&runs).await? } else { BTreeSet::new() }),
                };
                if !is_below_any(&path, links) {
                    files.push(RolledBackFile { refused: true, ..RolledBackFile::untouched(path) });
                    continue;
                }
            }
            let before = match self.log_to_switch(&path).await {
                #[cfg(not(target_family = "wasm"))]
                Err(error) if is_hard && is_of_path_alone(&error) && self.is_off(names) => continue,
                Err(error) if is_of_path_alone(&error) => {
                    files.push(RolledBackFile { refused: true, ..RolledBackFile::untouched(path) });
                    continue;
                }
                before => before?,
            };
            let mut log = before.clone();
            let at_ms = self.clock.now_ms();
            #[cfg(target_family = "wasm")]
            let is_later = false;
            #[cfg(not(target_family = "wasm"))]
            let is_later = unlogged.get(&path).is_some_and(|first| is_rolled_back_since(&log, names, *first));
            let conflicts = match is_hard {
                // The keeper has put something there that is older than the log.
                true if is_later => Vec::new(),
                true => {
                    log.rollback_before(names, Origin::User, at_ms);
                    Vec::new()
                }
                false => {
                    let hunks = named.remove(&path).unwrap_or_else(|| live_hunks(&log, names, number));
                    scoped(&path, &mut log, hunks, at_ms)?
                }
            };
            #[cfg(not(target_family = "wasm"))]
            if before.is_visible_text(None) && !log.is_visible_text(None) && directories.contains_key(&path) {
                // A text of a command in the place of the directory. The keeper puts the directory there.
                continue;
            }
            let file = effect(path, &before, &log, names, conflicts);
            // Each change of a status is an entry.
            #[cfg(target_family = "wasm")]
            let is_nothing = false;
            #[cfg(not(target_family = "wasm"))]
            let is_nothing = is_hard && file.texts.before.is_none() && file.texts.after.is_none() && self.is_off(names);
            if log.entries().len() > before.entries().len() && !is_nothing {
                logs.push((file.file_path.clone(), log));
            }
            files.push(file);
        }
        Ok((files, logs))
    }

    /// Returns whether no run of these is in effect. A log may hold a text of theirs as deleted by another program, because the
    /// keeper has removed it.
    #[cfg(not(target_family = "wasm"))]
    fn is_off(&self, names: &[String]) -> bool {
        !self.runs().iter().any(|run| run.is_on && names.contains(&run.run_id.to_string()))
    }

    /// Returns the logs of a hard rollback after the keeper has restored other paths. Boxed, as the next function: in a browser
    /// neither is called, and no future has room for it.
    fn plan_after<'a>(
        &'a self,
        paths: &'a [FilePath],
        names: &'a [String],
        restored: &'a [FilePath],
        rollback: &'a mut Rollback,
    ) -> BoxFuture<'a, Result<Vec<(FilePath, LineLog)>, ReviewError>> {
        Box::pin(async move {
            let (mut files, mut logs) = self.plan(paths, names, true, &mut BTreeMap::new()).await?;
            self.refuse_below_files(&mut files, &mut logs, None).await?;
            let restored = set_of(restored.iter());
            // The text says nothing of the statuses in its log: it may be gone, or moved away and back.
            let is_settled = |file: &&RolledBackFile| {
                restored.contains(&file.file_path) && file.texts.before == file.texts.after && file.reverted == 0
            };
            let settled = set_of(files.iter().filter(is_settled).map(|file| &file.file_path));
            logs.retain(|(path, _)| !settled.contains(path));
            rollback.take_readable(&files);
            Ok(logs)
        })
    }

    /// Takes the texts out of a plan that would come back below a file that is in the place of their directory. With
    /// `by_keeper`, the files count that a hard rollback of these runs replaces by the directory.
    fn refuse_below_files<'a>(
        &'a self,
        files: &'a mut [RolledBackFile],
        logs: &'a mut Vec<(FilePath, LineLog)>,
        by_keeper: Option<&'a [u64]>,
    ) -> BoxFuture<'a, Result<(), ReviewError>> {
        Box::pin(async move {
            // Looked at only if a text is below a file.
            let mut changes = None;
            for file in files.iter_mut().filter(|file| file.texts.before.is_none() && file.texts.after.is_some()) {
                let Some(above) = self.file_above(&file.file_path).await else { continue };
                let changes = match (by_keeper, &mut changes) {
                    (_, Some(known)) => known,
                    (Some(runs), unknown) => unknown.insert(self.other_changes(runs, true).await?),
                    (None, unknown) => unknown.insert(Vec::new()),
                };
                let gives_way = changes.iter().any(|change| change.path == above && !change.is_blocked);
                let goes = logs.iter().any(|(path, log)| *path == above && log.is_visible_text(None));
                if !gives_way && !goes {
                    logs.retain(|(path, _)| *path != file.file_path);
                    *file = RolledBackFile { refused: true, ..RolledBackFile::untouched(file.file_path.clone()) };
                }
            }
            Ok(())
        })
    }
}

/// Returns whether the changes of runs in a log are all later than a run and time, and none is in effect.
#[cfg(not(target_family = "wasm"))]
fn is_rolled_back_since(log: &LineLog, runs: &[String], time: (u64, u64)) -> bool {
    let is_on = |change: &LoggedChange| change.status.is_on();
    !edits_of(log, runs).any(|change| is_on(&change)) && first_edit(log, runs).is_some_and(|first| time < first)
}

/// Returns the hunks of runs that are in effect.
fn live_hunks(log: &LineLog, runs: &[String], number: u64) -> Vec<(String, Vec<ChangeId>)> {
    let statuses = &[Status::Pending, Status::Accepted];
    let hunks = log.hunks(HunkQuery { statuses, runs: Some(runs), ..HunkQuery::default() });
    hunks.into_iter().map(|hunk| (format!("f{number}:{}", hunk.id), hunk.change_ids)).collect()
}

/// Switches hunks off on which nothing else depends. Returns the others.
fn scoped(
    path: &FilePath,
    log: &mut LineLog,
    hunks: Vec<(String, Vec<ChangeId>)>,
    at_ms: u64,
) -> Result<Vec<String>, ReviewError> {
    let mut open = Vec::with_capacity(hunks.len());
    for (id, changes) in hunks {
        open.push((id, log.changes_of(&HunkId::of(&changes)).map_err(|error| refused(path, error))?));
    }
    let mut conflicts = Vec::new();
    loop {
        let going: BTreeSet<ChangeId> = open.iter().flat_map(|(_, changes)| changes.iter().copied()).collect();
        let stays = |(_, changes): &(String, Vec<ChangeId>)| {
            log.dependents(changes).iter().any(|dependent| !going.contains(dependent))
        };
        let (kept, free): (Vec<_>, Vec<_>) = open.into_iter().partition(stays);
        open = free;
        if kept.is_empty() {
            break;
        }
        conflicts.extend(kept.into_iter().map(|(id, _)| id));
    }
    let ids: Vec<ChangeId> = open.into_iter().flat_map(|(_, changes)| changes).collect();
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, at_ms).map_err(|error| refused(path, error))?;
    Ok(conflicts)
}

/// Compares two states of a log.
fn effect(
    path: FilePath,
    before: &LineLog,
    after: &LineLog,
    runs: &[String],
    conflicts: Vec<String>,
) -> RolledBackFile {
    let first = before.proposal(runs).and_then(|proposal| proposal.changes.first().copied());
    let is_on = |log: &LineLog, id| log.change(id).is_some_and(|change| change.status.is_on());
    let mut file = RolledBackFile { conflicts, ..RolledBackFile::untouched(path) };
    for change in before.changes().filter(|change| change.status.is_on()) {
        match (is_on(after, change.id), change.origin) {
            (true, _) => file.kept += usize::from(first.is_some_and(|first| change.id >= first)),
            (false, Origin::Agent) => file.reverted += 1,
            (false, _) => file.reverted_from_user += 1,
        }
    }
    (file.texts.before, file.texts.after) = (before.visible_text(), after.visible_text());
    file
}
