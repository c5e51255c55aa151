//! Bodies of checkpoints, rollbacks and the change log.

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// A checkpoint: the state of the files before a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointBody {
    /// Id.
    pub checkpoint_id: String,
    /// Id of the session.
    pub session_id: String,
    /// Id of the job.
    pub job_id: String,
    /// Time of the start of the job.
    pub created_at: Timestamp,
    /// Paths of the changed files.
    pub affected_files: Vec<String>,
    /// The text files among them.
    pub files: Vec<CheckpointFileBody>,
    /// Files that commands changed and whose former state was not kept.
    pub not_undoable: Vec<String>,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointFileBody {
    /// Path of the file.
    pub file_path: String,
    /// SHA-256 of the text before the job, as `sha256:…`; that of the empty content if there was no file.
    pub base_snapshot_hash: String,
    /// Hunks of the job.
    pub hunks: Vec<CheckpointHunkBody>,
}

/// One hunk of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointHunkBody {
    /// Id for decisions and rollbacks.
    pub hunk_id: String,
    /// `pending`, `accepted`, `rejected` or `rolled_back`.
    pub status: String,
    /// Patch that takes the hunk back.
    pub reverse_patch: String,
}

/// Three texts of one file; null if there is no file in that state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diff3Body {
    /// Path of the file.
    pub file_path: String,
    /// Text now, with pending edits.
    pub current_file: Option<String>,
    /// Text before the job.
    pub checkpoint_base: Option<String>,
    /// Text as the agent proposed it.
    pub agent_proposed: Option<String>,
}

/// Body of `POST /api/agent/checkpoints/{checkpoint_id}/rollback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RollbackBody {
    /// The extent.
    pub mode: RollbackModeName,
    /// For `scoped_selected`: the hunks; all hunks of the job if empty.
    #[serde(default)]
    pub hunk_ids: Vec<String>,
    /// Only these files, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether the reply says what a rollback would do, and nothing changes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub preview: bool,
    /// Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a
    /// file that has unsaved edits.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub save: bool,
}

/// The extent of a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RollbackModeName {
    /// Each file gets its text before the job. Later changes go too, also those of the user.
    HardAll,
    /// Hunks are taken back. Later changes stay.
    ScopedSelected,
}

/// Reply of a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RollbackReply {
    /// `completed`; `conflict` if hunks stay for a decision by hand; `preview`.
    pub status: String,
    /// Affected files, by path.
    pub files: Vec<RolledBackFileBody>,
    /// Paths beside texts, and texts that cannot be read or written. Only `hard_all` with `save` restores the former.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_files: Vec<OtherFileBody>,
    /// Files whose text waits for `POST /api/agent/save`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<String>,
    /// Whether the rollback is a step that `POST /api/agent/undo` reverts. False for a preview, and for a rollback that
    /// changed nothing: an undo then reverts the step before it.
    pub undoable: bool,
}

/// The effect of a rollback on a path that has no hunks: a binary file, a link, a directory, mode bits, or a text that cannot
/// be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OtherFileBody {
    /// The path.
    pub file_path: String,
    /// Whether it has the state from before the job.
    pub restored: bool,
}

/// The effect of a rollback on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RolledBackFileBody {
    /// Path of the file.
    pub file_path: String,
    /// Number of changes of the agent that are taken back.
    pub reverted: u64,
    /// Number of changes of the user that are taken back; 0 unless the mode is `hard_all`.
    pub reverted_from_user: u64,
    /// Number of changes since the job that stay.
    pub kept: u64,
    /// Hunks that stay because later changes depend on them.
    pub conflicts: Vec<String>,
}

/// The changes of files, by the agent and by the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeLogBody {
    /// Changes, by file and place.
    pub changes: Vec<ChangeLogEntry>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeLogEntry {
    /// Id of the hunk.
    pub id: String,
    /// Path of the file.
    pub file_path: String,
    /// `agent` or `user`.
    pub origin: String,
    /// Patch that makes the change.
    pub forward_patch: String,
    /// Patch that takes it back.
    pub reverse_patch: String,
    /// `pending`, `accepted` or `rejected`.
    pub status: String,
    /// SHA-256 of the file on disk before the pending changes, as `sha256:…`.
    pub file_hash_before: String,
}
