//! The review in JSON.

use serde::{Deserialize, Serialize};

use crate::workspace::{Review, ReviewHunk};

/// Pending hunks of all files, or of some runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewBody {
    /// Workspace revision of this review.
    pub revision: u64,
    /// Files with pending hunks, by path.
    pub files: Vec<ReviewFileBody>,
    /// Files with edits that wait for `POST /api/agent/save`, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<String>,
    /// After a decision on all hunks of a file, of a job or of the project: contested hunks that it left pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_hunk_ids: Vec<String>,
}

/// The pending hunks of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewFileBody {
    /// Path of the file.
    pub file_path: String,
    /// `create`, `update` or `delete`.
    pub operation: String,
    /// Number of lines that the hunks add.
    pub added: u64,
    /// Number of lines that the hunks remove.
    pub removed: u64,
    /// Hunks in file order.
    pub hunks: Vec<ReviewHunkBody>,
}

/// A pending hunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewHunkBody {
    /// Id for decisions.
    pub hunk_id: String,
    /// First line in the text without the hunk, from 1.
    pub old_start: u64,
    /// Number of lines in the text without the hunk.
    pub old_lines: u64,
    /// First line in the visible text, from 1.
    pub new_start: u64,
    /// Number of lines in the visible text.
    pub new_lines: u64,
    /// Lines of the hunk and its context.
    pub lines: Vec<ReviewLineBody>,
    /// Whether the disk holds the hunk although it is pending, because the user edited inside it.
    pub kept_by_user: bool,
    /// Number of later changes that depend on it.
    pub dependents: u64,
    /// Whether the user or another program has changed the same lines since.
    pub contested: bool,
    /// Lines that the user or another program put in its place, if it is contested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yours: Vec<String>,
    /// Whether it deletes a line that the user wrote.
    pub removes_user_lines: bool,
    /// Whether it exceeds the size of a hunk and cannot be cut automatically.
    pub oversized_hunk: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReviewLineBody {
    /// `context`, `added` or `removed`.
    pub kind: String,
    /// Text with its line ending.
    pub text: String,
    /// Line number without the hunk, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_number: Option<u64>,
    /// Line number in the visible text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_number: Option<u64>,
    /// Changed words, as ranges of UTF-16 code units, if one line replaces another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(usize, usize)>,
}

impl ReviewBody {
    pub(super) fn of(review: Review, unsaved: Vec<String>) -> Self {
        let file = |file: crate::workspace::ReviewFile| ReviewFileBody {
            file_path: file.path.to_string(),
            operation: file.operation.to_owned(),
            added: file.added as u64,
            removed: file.removed as u64,
            hunks: file.hunks.into_iter().map(ReviewHunkBody::from).collect(),
        };
        let files = review.files.into_iter().map(file).collect();
        Self { revision: review.revision, files, unsaved, skipped_hunk_ids: Vec::new() }
    }
}

impl From<ReviewHunk> for ReviewHunkBody {
    fn from(hunk: ReviewHunk) -> Self {
        let line = |line: crate::workspace::ReviewLine| ReviewLineBody {
            kind: serde_json::to_value(line.kind)
                .ok()
                .and_then(|kind| Some(kind.as_str()?.to_owned()))
                .unwrap_or_default(),
            text: line.text,
            old_number: line.old_number.map(|number| number as u64),
            new_number: line.new_number.map(|number| number as u64),
            spans: line.spans,
        };
        Self {
            hunk_id: hunk.id,
            old_start: hunk.old_start as u64,
            old_lines: hunk.old_lines as u64,
            new_start: hunk.new_start as u64,
            new_lines: hunk.new_lines as u64,
            lines: hunk.lines.into_iter().map(line).collect(),
            kept_by_user: hunk.kept_by_user,
            dependents: hunk.dependents as u64,
            contested: hunk.contested,
            yours: hunk.yours,
            removes_user_lines: hunk.removes_user_lines,
            oversized_hunk: hunk.oversized,
        }
    }
}
