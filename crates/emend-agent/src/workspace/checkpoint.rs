//! Checkpoints: the state before a run, and the comparison with it.

use emend_edit::ContentHash;
use emend_edit::line_log::{HunkQuery, Status};
use serde::Serialize;

use super::bundle::{hash_of, hunk_name, patch_of};
use super::review::{ReviewError, run_names};
use super::state::Workspace;
use crate::environment::FilePath;

const ALL: [Status; 4] = [Status::Pending, Status::Accepted, Status::Rejected, Status::RolledBack];

/// The state of the files before a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// Number of the run.
    pub run_id: u64,
    /// Time of the first change of the run, in milliseconds since 1970.
    pub created_at: u64,
    /// The files that the run changed, by path.
    pub affected_files: Vec<FilePath>,
    /// The text files among them that have hunks.
    pub files: Vec<CheckpointFile>,
    /// Files that commands of the run changed and whose former state was not kept.
    pub not_undoable: Vec<FilePath>,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointFile {
    /// Path relative to the root.
    pub file_path: FilePath,
    /// Hash of the visible text before the first change of the run; that of the empty content if there was no file.
    pub base_snapshot_hash: ContentHash,
    /// The hunks of the run, by status.
    pub hunks: Vec<CheckpointHunk>,
}

/// One hunk of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointHunk {
    /// Id for decisions and rollbacks.
    pub hunk_id: String,
    /// Decision so far.
    pub status: Status,
    /// The patch that takes the hunk back, in unified format, derived from the present text.
    pub reverse_patch: String,
}

/// Three texts of one file; `None` if there is no file in that state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff3 {
    /// The visible text now.
    pub current_file: Option<String>,
    /// The visible text before the first change of the runs.
    pub checkpoint_base: Option<String>,
    /// The base with all changes of the agent in the runs, rejected ones too, and no other change.
    pub agent_proposed: Option<String>,
}

impl Workspace {
    /// Returns the checkpoint of a run.
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownRun`] if the run has changed no file.
    pub fn checkpoint(&self, run: u64) -> Result<Checkpoint, ReviewError> {
        let known = self.runs().into_iter().find(|known| known.run_id == run);
        let known = known.ok_or(ReviewError::UnknownRun { run })?;
        let names = run_names(&[run]);
        let state = self.state();
        let mut files = Vec::new();
        for (path, entry) in &state.files {
            let Some(proposal) = entry.log.proposal(&names) else { continue };
            let hunks = entry.log.hunks(HunkQuery { statuses: &ALL, runs: Some(&names), ..HunkQuery::default() });
            let hunk = |hunk| CheckpointHunk {
                hunk_id: hunk_name(entry, &hunk),
                status: hunk.status,
                reverse_patch: patch_of(&hunk, true),
            };
            files.push(CheckpointFile {
                file_path: path.clone(),
                base_snapshot_hash: hash_of(proposal.base.as_deref()),
                hunks: hunks.into_iter().map(hunk).collect(),
            });
        }
        Ok(Checkpoint {
            run_id: run,
            created_at: known.at_ms,
            affected_files: known.files,
            files,
            not_undoable: known.lost,
        })
    }

    /// Returns a file as it is, as it was before `runs`, and as the agent proposed it in them.
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownRun`] if the runs have not changed the file, or a file that cannot be read.
    pub async fn diff3(&self, runs: &[u64], path: &FilePath) -> Result<Diff3, ReviewError> {
        let _writing = self.enter().await?;
        let current_file = self.visible(path).await?;
        let state = self.state();
        let proposal = state.files.get(path).and_then(|entry| entry.log.proposal(&run_names(runs)));
        let unknown = || ReviewError::UnknownRun { run: runs.first().copied().unwrap_or_default() };
        let proposal = proposal.ok_or_else(unknown)?;
        Ok(Diff3 { current_file, checkpoint_base: proposal.base, agent_proposed: proposal.proposed })
    }
}
