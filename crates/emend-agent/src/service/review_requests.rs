//! Bodies of the review: apply, decisions, buffers, edits of the user, undo and save.

use serde::{Deserialize, Serialize};

use super::bodies::yes;
use super::records::JobStatus;

/// Body of `POST /api/agent/apply`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// Id of the session.
    pub session_id: String,
    /// Id of the job.
    pub job_id: String,
    /// Hunks to accept. The job's other pending hunks are rejected.
    pub accepted_hunk_ids: Vec<String>,
    /// Revision of the review that the user saw. If a file of the job has changed since, the application is refused. Absent:
    /// not checked; the ids of hunks name the same edits at any revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_revision: Option<u64>,
    /// Whether hunks that do not overlap with a change on disk are applied in spite of it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub rebase: bool,
    /// Whether the agent proposes the edits anew after a conflict.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub rerun: bool,
}

/// Reply of `POST /api/agent/apply`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApplyReply {
    /// State of the job.
    pub status: JobStatus,
    /// Files with decided hunks.
    pub applied_files: Vec<AppliedFileBody>,
    /// Files with unsaved edits: their accepted hunks wait for `POST /api/agent/save`, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<String>,
}

/// The decided hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppliedFileBody {
    /// Path of the file.
    pub file_path: String,
    /// Number of accepted hunks.
    pub applied_hunks: u64,
    /// Number of rejected hunks.
    pub rejected_hunks: u64,
    /// Accepted hunks that overlap with a change on disk. They stay pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// Body of `POST /api/agent/decisions` and `POST /api/agent/decisions/preview`. It names exactly one of `hunk_ids`,
/// `lines`, `file_path`, `job_id` and `all`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// The decision. A hunk of `hunk_ids` that was decided before is decided anew.
    pub decision: DecisionName,
    /// Hunks to decide on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_ids: Option<Vec<String>>,
    /// Lines of hunks to decide on. The other lines stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<HunkLinesBody>>,
    /// File with the hunks to decide on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// Job with the hunks to decide on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Whether to decide on all pending hunks. A hunk above the size limits is accepted as one; a preview counts such hunks.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub all: bool,
    /// Treatment of later changes that depend on a rejected hunk.
    #[serde(default)]
    pub dependents: DependentsName,
    /// Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a
    /// file that has unsaved edits.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub save: bool,
}

/// Lines of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HunkLinesBody {
    /// Id of the hunk.
    pub hunk_id: String,
    /// Positions in `lines` of the hunk, from 0.
    pub lines: Vec<u64>,
}

/// Body of `POST /api/agent/split`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SplitRequest {
    /// Id of the hunk.
    pub hunk_id: String,
    /// Position in `lines` of the hunk, from 0, of the first line of the second part.
    pub line: u64,
}

/// Body of `POST /api/agent/edit_hunk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EditHunkRequest {
    /// Id of the hunk.
    pub hunk_id: String,
    /// Text in place of the lines that the hunk adds.
    pub text: String,
    /// Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a
    /// file that has unsaved edits.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub save: bool,
}

/// The effect that a decision would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TouchedBody {
    /// Files by path.
    pub files: Vec<TouchedFileBody>,
}

/// The effect that a decision would have on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TouchedFileBody {
    /// Path of the file.
    pub file_path: String,
    /// Number of selected hunks.
    pub hunks: u64,
    /// Number of these that are contested.
    pub contested: u64,
    /// Number of these that exceed the size of a hunk. A decision takes each as one; `POST /api/agent/split` cuts it.
    pub oversized: u64,
    /// Number of further pending changes of the agent that would be accepted, because the selected hunks need them.
    pub also_accepted: u64,
    /// Number of live changes of the user that depend on the selected hunks.
    pub dependents_from_user: u64,
    /// Number of lines of the user that would leave the disk.
    pub removes_user_lines: u64,
    /// Whether the decision would be refused with `conflict` because of this file: a hunk that it names is contested, or later
    /// changes depend on a rejected one. A decision that is refused for one file changes none.
    pub refused: bool,
}

/// A decision on hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionName {
    /// The disk gets the lines.
    Accept,
    /// The disk gets the lines in place of lines that the user put there.
    AcceptOver,
    /// The former lines return.
    Reject,
}

/// The treatment of dependent changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DependentsName {
    /// The request fails if there are any.
    #[default]
    Refuse,
    /// They stay.
    Only,
    /// They are rejected, too.
    With,
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Buffer {
    /// Path of the file.
    pub file_path: String,
    /// Text with pending edits; null if the file does not exist then.
    pub content: Option<String>,
    /// Text on disk; null if the file does not exist.
    pub saved_content: Option<String>,
    /// Workspace revision of the last change.
    pub revision: u64,
    /// Number of pending hunks.
    pub pending_hunks: u64,
    /// Whether the file has edits that wait for `POST /api/agent/save`.
    pub unsaved: bool,
    /// In the reply to `POST /api/agent/user_edit`: lines that others wrote since `base`, and that the edit replaced. An undo
    /// of the edit brings them back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedLinesBody>,
}

/// Lines of others that an edit of the user replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplacedLinesBody {
    /// Line of `content` that stands in their place, from 1.
    pub line: u64,
    /// The replaced lines, with their line endings.
    pub text: String,
}

/// Body of `POST /api/agent/user_edit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UserEditRequest {
    /// Path of the file.
    pub file_path: String,
    /// New text; null deletes the file.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub content: Option<String>,
    /// Text that the user edited. Edits since then are merged: lines that were added stay, also at the same place, and a line
    /// that was changed twice gets this text, and the reply tells the replaced one. Absent: the present text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether a file in a directory `.git` may be edited. Git runs programs that such files name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub allow_git: bool,
    /// Whether the disk gets the file at once, with its earlier unsaved edits. Otherwise the text waits for
    /// `POST /api/agent/save`.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub save: bool,
}

/// Body of `POST /api/agent/undo` and `POST /api/agent/redo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a
    /// file that has unsaved edits.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub save: bool,
}

/// Body of `POST /api/agent/save`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SaveRequest {
    /// Files to save; all files with unsaved edits if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// Whether a file that another program has changed is saved, too, if that changed other lines.
    pub rebase: bool,
}

/// Reply of `POST /api/agent/save`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveReply {
    /// Files that were written, by path.
    pub saved: Vec<SavedFileBody>,
    /// Files that still have unsaved edits, by path.
    pub unsaved: Vec<String>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedFileBody {
    /// Path of the file.
    pub file_path: String,
    /// Workspace revision of the text.
    pub revision: u64,
}

/// Reads a field that may be null, and must not be absent.
fn nullable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}
