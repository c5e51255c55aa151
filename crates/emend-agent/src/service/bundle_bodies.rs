//! The shapes of a diff bundle and of proposed edits, for OpenAPI and the types of clients.
//!
//! The service sends what the workspace serialises. A test reads it back by these shapes.

/// The hunks of a job, decided ones included.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct DiffBundleBody {
    /// Id of the job.
    pub job_id: String,
    /// Workspace revision when the job entered review; null before.
    pub review_revision: Option<u64>,
    /// Files that the job changed, by path.
    pub files: Vec<BundleFileBody>,
}

/// The hunks of one file of a job.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct BundleFileBody {
    /// Path of the file.
    pub file_path: String,
    /// Hash of the file on disk, which the patches of pending hunks change; that of the empty content if there was no
    /// file.
    pub base_file_hash: String,
    /// The agent's hunks in file order, and then those of the user.
    pub hunks: Vec<BundleHunkBody>,
}

/// One hunk of a job.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct BundleHunkBody {
    /// Id for decisions.
    pub hunk_id: String,
    /// The hunk in unified format, with its `@@` line and three lines of context.
    pub patch: String,
    /// Whether the user accepted it; null while it is pending.
    pub accepted: Option<bool>,
    /// Ids of the proposed edits that made it. Empty for the user's own hunks.
    pub edit_ids: Vec<String>,
    /// Whether it exceeds the size of a hunk: split it, or accept it as one.
    pub oversized_hunk: bool,
    /// `agent`, or `user` for the user's own edits during the job.
    pub origin: String,
    /// Whether the user or another program has changed the same lines since.
    pub contested: bool,
    /// Whether it deletes a line that the user wrote.
    pub removes_user_lines: bool,
    /// Whether the disk holds it although it is pending, because the user edited inside it.
    pub kept_by_user: bool,
    /// Hunks of other jobs that are accepted with this one, at least in part. Absent if there are none.
    #[cfg_attr(test, serde(default))]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub needs: Vec<String>,
}

/// One edit of a job, whatever tool made it. Line numbers count the lines of the file before the job, from 1.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct ProposedEditBody {
    /// Id of the edit.
    pub edit_id: String,
    /// Path of the file; for `rename`, the old path.
    pub file_path: String,
    /// `replace`, `insert`, `delete`, `create`, `delete_file` or `rename`.
    pub operation: String,
    /// First line. An `insert` goes before this line; one past the last line appends.
    pub start_line: Option<u64>,
    /// Last line, inclusive.
    pub end_line: Option<u64>,
    /// The new lines; for `create` and `rename`, the whole new text.
    pub new_text: String,
    /// The new path of a `rename`. Absent otherwise.
    pub new_path: Option<String>,
    /// Hash of the replaced or deleted lines; for `delete_file` and `rename`, of the file; otherwise that of the empty
    /// content.
    pub expected_hash: String,
    /// The reason of the edit, if the model gave one.
    pub rationale: Option<String>,
    /// Number of the run.
    pub run_id: u64,
}

/// The files of a session with pending hunks.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct PendingReviewBody {
    /// Paths of the files.
    pub files: Vec<String>,
    /// Workspace revision.
    pub revision: u64,
}
