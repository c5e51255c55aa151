//! Applying a review: some hunks accepted, the others rejected, in one step.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::line_log::{ChangeId, HunkId, LineLog, Origin};
use serde::{Deserialize, Serialize};

use super::decisions::refused;
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
    /// Before that, each file is compared with its base. Lines of the user stay, also those that depend on a rejected
    /// hunk.
    ///
    /// # Errors
    ///
    /// [`ReviewError::Conflict`] if a file on the disk differs from its base or a named hunk is contested, unless
    /// `rebase` is set; nothing changes then. [`ReviewError::UnknownHunk`], or the error of the disk.
    pub async fn apply(
        &self,
        runs: &[u64],
        accepted_hunk_ids: &[String],
        options: &ApplyOptions,
    ) -> Result<Applied, ReviewError> {
        let _writing = self.writing.lock().await;
        let mut accepted: BTreeMap<FilePath, Accepted> = BTreeMap::new();
        for id in accepted_hunk_ids {
            let (path, changes) = self.changes_of(id)?;
            accepted.entry(path).or_default().push((id.clone(), changes));
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
            self.visible(&path).await?;
            let mut log = self.log_of(&path).await?;
            let file = settle(&path, &mut log, hunks, &run_names(runs), self.clock.now_ms())?;
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

/// Accepts the hunks that are not contested, and rejects the other pending ones of the runs.
fn settle(
    path: &FilePath,
    log: &mut LineLog,
    hunks: Accepted,
    runs: &[String],
    at_ms: u64,
) -> Result<AppliedFile, ReviewError> {
    let (mut accept, mut named, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut applied_hunks = 0;
    for (id, changes) in hunks {
        let changes = log.changes_of(&HunkId::of(&changes)).map_err(|error| refused(path, error))?;
        named.extend(changes.iter().copied());
        match log.contested(&changes).is_empty() {
            true => {
                applied_hunks += 1;
                accept.extend(changes);
            }
            false => conflicts.push(id),
        }
    }
    let is_other = |id: &ChangeId| !named.contains(id);
    let rejected_hunks = pending(log, Some(runs)).filter(|hunk| hunk.change_ids.iter().all(is_other)).count();
    let of_runs = |id: &ChangeId| {
        log.change(*id).is_some_and(|change| change.origin == Origin::Agent && runs.contains(&change.meta.run))
    };
    let reject: Vec<ChangeId> = log.pending().into_iter().filter(|id| is_other(id) && of_runs(id)).collect();
    log.settle(&accept, &reject, Origin::User, at_ms).map_err(|error| refused(path, error))?;
    Ok(AppliedFile { file_path: path.clone(), applied_hunks, rejected_hunks, conflicts })
}
