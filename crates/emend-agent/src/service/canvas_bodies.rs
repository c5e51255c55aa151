//! Bodies of the canvas operations.

use serde::{Deserialize, Serialize};

/// The canvas in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CanvasFlags {
    /// Whether the agent has the canvas tools, and is told about changes of the canvas.
    pub tools: bool,
    /// Whether every canvas tool needs a lease.
    pub enforce_lease: bool,
}

/// Body of `POST …/canvas/open`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasOpenRequest {
    /// Path of the file to show; null closes the canvas.
    pub file_path: Option<String>,
}

/// Body of canvas operations that need a lease only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CanvasLeaseRequest {
    /// Id of the lease.
    pub lease_id: String,
}

/// Body of `POST …/canvas/grep`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasGrepRequest {
    /// Id of the lease.
    pub lease_id: String,
    /// Text or regular expression.
    pub query: String,
    /// Whether the query is a regular expression.
    #[serde(default)]
    pub regex: bool,
}

/// Body of `POST …/canvas/read_lines`: lines by number, or a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasReadRequest {
    /// Id of the lease.
    pub lease_id: String,
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// Last line; `start_line` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// A heading as in the text, for example `## Plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Number of a list item of the section, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
}

/// Body of `POST …/canvas/apply_patch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasPatchRequest {
    /// Id of the lease.
    pub lease_id: String,
    /// Revision that the patch was made for.
    pub base_revision_id: String,
    /// Unified diff whose hunks stand exactly at their lines.
    pub patch: String,
}

/// Body of `POST …/canvas/edit_lines`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasEditRequest {
    /// Id of the lease.
    pub lease_id: String,
    /// Revision whose lines the edits number.
    pub base_revision_id: String,
    /// Edits: all are applied, or none.
    pub edits: Vec<CanvasLineEdit>,
}

/// An edit of lines of the canvas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasLineEdit {
    /// The operation.
    pub operation: CanvasLineOperation,
    /// First line, from 1. An insert goes before this line.
    pub start_line: u64,
    /// Last line; `start_line` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// New lines; empty for a deletion.
    #[serde(default)]
    pub new_text: String,
}

/// An operation on lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CanvasLineOperation {
    /// Replaces lines.
    Replace,
    /// Inserts lines.
    Insert,
    /// Deletes lines.
    Delete,
}

/// Body of `POST …/canvas/user_edit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasUserEdit {
    /// New text of the canvas.
    pub content: String,
    /// Text that the user edited. Absent: the present text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether the disk gets the file at once. Otherwise the text waits for `POST /api/agent/save`.
    #[serde(default = "super::bodies::yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub save: bool,
}

/// Body of `POST …/canvas/promote`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CanvasPromoteRequest {
    /// Hash of the draft that the user saw.
    pub draft_hash: String,
}

/// The canvas and its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CanvasBody {
    /// Path of the open file; null if none is open.
    pub file_path: Option<String>,
    /// Whether an agent holds the lease.
    pub held: bool,
    /// Generation counter: it grows when the user takes the canvas back.
    pub epoch: u64,
    /// Expiry of the lease without renewal, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Revision of the text: its SHA-256; null if no file is open.
    pub revision_id: Option<String>,
    /// Hash of the draft, which is the text with pending edits: the same as `revision_id`.
    pub draft_hash: Option<String>,
    /// Hash of the artefact, which is the text on disk; null without a file there.
    pub artefact_hash: Option<String>,
    /// Whether the draft has edits that wait for a promotion. Edits that wait for review do not count.
    pub unsaved: bool,
}
