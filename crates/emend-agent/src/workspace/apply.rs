//! Applying a review: some hunks accepted, the others rejected, in one step.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::line_log::{ChangeId, DecisionError, Hunk, HunkId, HunkQuery, LineLog, Origin, Status};
use emend_edit::size::compact_sort::set_of;
use serde::{Deserialize, Serialize};

use super::decisions::{refused as refused_decision, with_needed};
use super::error::WorkspaceError;
use super::review::{ReviewError, pending, run_names};
use super::state::Workspace;
use crate::environment::{EnvError, FilePath};

/// Options of [`Workspace::apply`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApplyOptions {
    /// The hash of each file for which the hunks were made, such as `base_file_hash` of a
    /// [`DiffBundle`](super::DiffBundle). A file without an entry must be on the disk as the workspace knows it.
    pub base_hashes: BTreeMap<FilePath, ContentHash>,
    /// Whether hunks are also applied to a file that changed since, if their lines did not.
    pub rebase: bool,
}

/// The result of [`Workspace::apply`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The files with hunks of the runs, by path.
    pub files: Vec<AppliedFile>,
}

/// The hunks of one file that were applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedFile {
    /// Path relative to the root.
    pub file_path: FilePath,
    /// Number of accepted hunks.
    pub applied_hunks: usize,
    /// Number of rejected hunks.
    pub rejected_hunks: usize,
    /// Accepted hunks that overlap with a change of the user or another program since. They stay pending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// The hunks of one file that a caller accepts.
type Accepted = Vec<(String, Vec<ChangeId>)>;

impl Workspace {
    /// Accepts the named hunks and rejects the other pending hunks of `runs`, as one step: one commit to the disk, one
    /// undo.
    ///
    /// Pending changes on which an accepted hunk depends are accepted with it, also those of other runs. Without them, the
    /// hunk would be beside the lines that it replaces.
    ///
    /// Before that, each file is compared with its base. Lines of the user stay, also those that depend on a rejected
    /// hunk.
    ///
    /// # Errors
    ///
    /// [`ReviewError::Conflict`] if a file on the disk differs from its base or a named hunk is contested, unless
    /// `rebase` is set; nothing changes then. [`ReviewError::NeededLater`] if live hunks of other runs depend on a hunk to
    /// reject. [`ReviewError::UnknownHunk`], or the error of the disk.
    pub async fn apply(
        &self,
        runs: &[u64],
        accepted_hunk_ids: &[String],
        options: &ApplyOptions,
    ) -> Result<Applied, ReviewError> {
        let _writing = self.enter().await?;
        let mut accepted: BTreeMap<FilePath, Accepted> = BTreeMap::new();
        for id in self.with_other_halves(accepted_hunk_ids.to_vec(), |_| true) {
            let (path, changes) = self.changes_of(&id)?;
            accepted.entry(path).or_default().push((id, changes));
        }
        for path in self.pending_files(runs) {
            accepted.entry(path).or_default();
        }
        let changed = self.changed_on_disk(accepted.keys(), options).await?;
        if !changed.is_empty() && !options.rebase {
            return Err(ReviewError::Conflict { files: changed });
        }
        let (mut applied, mut logs, mut contested) = (Applied::default(), Vec::new(), Vec::new());
        for (path, hunks) in accepted {
            let mut log = self.log_of(&path).await?;
            let file = settle(&path, &mut log, hunks, &run_names(runs), self.clock.now_ms())
                .map_err(|refused| self.apply_error(&path, &log, refused))?;
            if !file.conflicts.is_empty() {
                contested.push(path.clone());
            }
            applied.files.push(file);
            logs.push((path, log));
        }
        if !contested.is_empty() && !options.rebase {
            return Err(ReviewError::Conflict { files: contested });
        }
        match self.commit_step(logs).await {
            Err(ReviewError::Workspace(WorkspaceError::Environment(EnvError::Changed { path }))) => {
                let files = FilePath::clean(&path).into_iter().collect();
                Err(ReviewError::Conflict { files })
            }
            outcome => outcome.map(|_| applied),
        }
    }

    /// Returns the result of an application of hunks by a process that was killed before it could tell: `accepted` are
    /// the hunks that it named, and `others` the other hunks that were pending.
    ///
    /// `None` if all hunks are pending, or if a decision on one of them contradicts the application: then it had no
    /// effect.
    #[must_use]
    pub fn applied(&self, accepted: &[String], others: &[String]) -> Option<Applied> {
        let (mut files, mut is_decided) = (BTreeMap::new(), false);
        let hunks = accepted.iter().map(|id| (id, true)).chain(others.iter().map(|id| (id, false)));
        for (id, is_accepted) in hunks {
            let (path, changes) = self.changes_of(id).ok()?;
            let state = self.state();
            let log = &state.files.get(&path)?.log;
            let changes = log.changes_of(&HunkId::of(&changes)).ok()?;
            let has_all =
                |status| changes.iter().all(|&id| log.change(id).is_some_and(|change| change.status == status));
            let file = files.entry(path.clone()).or_insert_with(|| AppliedFile {
                file_path: path,
                applied_hunks: 0,
                rejected_hunks: 0,
                conflicts: Vec::new(),
            });
            if is_accepted && has_all(Status::Pending) {
                file.conflicts.push(id.clone());
                continue;
            }
            if is_accepted && !has_all(Status::Accepted) {
                return None;
            }
            // An accepted hunk can need another one, which is then not rejected.
            let is_rejected = !is_accepted && has_all(Status::Rejected);
            file.applied_hunks += usize::from(is_accepted);
            file.rejected_hunks += usize::from(is_rejected);
            is_decided |= is_accepted || is_rejected;
        }
        is_decided.then(|| Applied { files: files.into_values().collect() })
    }

    /// Rejects the pending hunks of `runs` in some files, so that the agent can propose them anew.
    ///
    /// A hunk inside which the user has edited stays: the disk has a part of it, and its old lines would return beside
    /// those of the user. The withdrawal is a step of the agent: the user's undo skips it.
    ///
    /// # Errors
    ///
    /// [`ReviewError::NeededLater`] if live hunks of other runs depend on one of them, or the error of the disk. Nothing
    /// changes then.
    pub async fn withdraw(&self, runs: &[u64], files: &[FilePath]) -> Result<(), ReviewError> {
        let _writing = self.enter().await?;
        let mut logs = Vec::new();
        for path in files {
            self.visible(path).await?;
            let mut log = self.log_of(path).await?;
            let reject = withdrawable(&log, &run_names(runs));
            rejectable(&log, &reject)
                .and_then(|()| log.settle(&[], &reject, Origin::Agent, self.clock.now_ms()).map_err(Refused::Decision))
                .map_err(|refused| self.apply_error(path, &log, refused))?;
            logs.push((path.clone(), log));
        }
        Ok(self.save_logs(logs, false, None).await?)
    }

    /// Returns the reason why hunks of a file were not applied.
    fn apply_error(&self, path: &FilePath, log: &LineLog, refused: Refused) -> ReviewError {
        let later = match refused {
            Refused::Decision(error) => return refused_decision(path, error),
            Refused::Needed(later) => later,
        };
        let number = self.state().files.get(path).map_or(0, |entry| entry.number);
        let statuses = &[Status::Pending, Status::Accepted];
        let hunks = log.hunks(HunkQuery { statuses, ..HunkQuery::default() });
        let names_later = |hunk: &Hunk| hunk.change_ids.iter().any(|id| later.contains(id));
        let runs = later.iter().filter_map(|&id| log.change(id)?.meta.run.parse().ok());
        ReviewError::NeededLater {
            path: path.clone(),
            hunks: hunks.iter().filter(|hunk| names_later(hunk)).map(|hunk| format!("f{number}:{}", hunk.id)).collect(),
            runs: set_of(runs).into_iter().collect(),
        }
    }

    /// Returns the files whose content on the disk is not the base.
    async fn changed_on_disk(
        &self,
        paths: impl Iterator<Item = &FilePath>,
        options: &ApplyOptions,
    ) -> Result<Vec<FilePath>, WorkspaceError> {
        let mut changed = Vec::new();
        for path in paths {
            let text = match self.disk_text(path).await {
                Err(WorkspaceError::NotText { .. }) => {
                    changed.push(path.clone());
                    continue;
                }
                text => text?,
            };
            let is_base = match options.base_hashes.get(path) {
                Some(hash) => ContentHash::of(text.as_deref().unwrap_or_default().as_bytes()) == *hash,
                None => self.state().files.get(path).is_none_or(|entry| entry.log.is_saved_text(text.as_deref())),
            };
            if !is_base {
                changed.push(path.clone());
            }
        }
        Ok(changed)
    }
}

/// Why the hunks of a file are not applied.
enum Refused {
    Decision(DecisionError),
    /// Live changes of the agent depend on changes to reject.
    Needed(Vec<ChangeId>),
}

/// Accepts the hunks that are not contested, and rejects the other pending ones of the runs.
fn settle(
    path: &FilePath,
    log: &mut LineLog,
    hunks: Accepted,
    runs: &[String],
    at_ms: u64,
) -> Result<AppliedFile, Refused> {
    let (mut accept, mut named, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut applied_hunks = 0;
    for (id, changes) in hunks {
        let changes = log.changes_of(&HunkId::of(&changes)).map_err(Refused::Decision)?;
        named.extend(changes.iter().copied());
        match log.contested(&changes).is_empty() {
            true => {
                applied_hunks += 1;
                accept.extend(changes);
            }
            false => conflicts.push(id),
        }
    }
    let accept = with_needed(log, accept);
    let is_other = |id: &ChangeId| !named.contains(id) && !accept.contains(id);
    let rejected_hunks = pending(log, Some(runs)).filter(|hunk| hunk.change_ids.iter().all(is_other)).count();
    let reject: Vec<ChangeId> = pending_of(log, runs).filter(is_other).collect();
    rejectable(log, &reject)?;
    log.settle(&accept, &reject, Origin::User, at_ms).map_err(Refused::Decision)?;
    Ok(AppliedFile { file_path: path.clone(), applied_hunks, rejected_hunks, conflicts })
}

/// Returns the pending changes of the agent in `runs`.
fn pending_of(log: &LineLog, runs: &[String]) -> impl Iterator<Item = ChangeId> {
    let of_runs = |id: &ChangeId| {
        log.change(*id).is_some_and(|change| change.origin == Origin::Agent && runs.contains(&change.meta.run))
    };
    log.pending().into_iter().filter(of_runs)
}

/// Returns the pending changes of `runs` on which no change of the user depends.
fn withdrawable(log: &LineLog, runs: &[String]) -> Vec<ChangeId> {
    let is_users = |id: &ChangeId| log.change(*id).is_some_and(|change| change.origin == Origin::User);
    pending_of(log, runs).filter(|id| !log.dependents(&[*id]).iter().any(is_users)).collect()
}

/// Checks that no live changes of the agent depend on changes to reject.
fn rejectable(log: &LineLog, reject: &[ChangeId]) -> Result<(), Refused> {
    let is_agents = |id: &ChangeId| log.change(*id).is_some_and(|change| change.origin == Origin::Agent);
    let later: Vec<ChangeId> = log.dependents(reject).into_iter().filter(is_agents).collect();
    if later.is_empty() { Ok(()) } else { Err(Refused::Needed(later)) }
}
