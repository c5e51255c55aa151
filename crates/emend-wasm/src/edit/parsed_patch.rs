//! The content of a patch as JSON.

use emend_edit::diff::LineKind;
use emend_edit::patch::unified::FileKind;
use emend_edit::patch::{Change, FileEdit, HunkLines};
use serde::Serialize;

/// One edit of one file.
#[derive(Serialize)]
pub(super) struct ParsedEdit<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    move_to: Option<&'a str>,
    /// The executable bit, from git's mode lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<bool>,
    #[serde(flatten)]
    change: ParsedChange<'a>,
}

#[derive(Serialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
enum ParsedChange<'a> {
    /// v4a gives the text, a unified diff gives hunks.
    Create {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<ParsedHunk<'a>>>,
    },
    Delete {
        #[serde(skip_serializing_if = "Option::is_none")]
        hunks: Option<Vec<ParsedHunk<'a>>>,
    },
    Update {
        hunks: Vec<ParsedHunk<'a>>,
    },
    Replace {
        old_text: &'a str,
        new_text: &'a str,
        replace_all: bool,
    },
    Lines {
        edits: &'a [emend_edit::patch::line_edits::LineEdit],
    },
}

#[derive(Serialize)]
struct ParsedHunk<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    old_start: Option<usize>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    anchors: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    end_of_file: bool,
    patch_line: usize,
    lines: Vec<ParsedLine<'a>>,
}

#[derive(Serialize)]
struct ParsedLine<'a> {
    kind: LineKind,
    text: &'a str,
}

impl<'a> From<&'a FileEdit> for ParsedEdit<'a> {
    fn from(edit: &'a FileEdit) -> Self {
        let executable = if let Change::Unified(unified) = &edit.change { unified.executable } else { None };
        Self { path: &edit.path, move_to: edit.moved_to(), executable, change: ParsedChange::from(&edit.change) }
    }
}

impl<'a> From<&'a Change> for ParsedChange<'a> {
    fn from(change: &'a Change) -> Self {
        match change {
            Change::Create { text } => Self::Create { text: Some(text), hunks: None },
            Change::Delete => Self::Delete { hunks: None },
            Change::Update { hunks, .. } => {
                let hunks = hunks.iter().map(|hunk| ParsedHunk {
                    old_start: None,
                    anchors: &hunk.anchors,
                    end_of_file: hunk.end_of_file,
                    patch_line: hunk.patch_line,
                    lines: lines_of(&hunk.lines),
                });
                Self::Update { hunks: hunks.collect() }
            }
            Change::Unified(edit) => {
                let hunks = edit.hunks.iter().map(|hunk| ParsedHunk {
                    old_start: hunk.old_start,
                    anchors: &[],
                    end_of_file: false,
                    patch_line: hunk.patch_line,
                    lines: lines_of(&hunk.lines),
                });
                let hunks = hunks.collect();
                match edit.kind {
                    FileKind::Update => Self::Update { hunks },
                    FileKind::Create => Self::Create { text: None, hunks: Some(hunks) },
                    FileKind::Delete => Self::Delete { hunks: Some(hunks) },
                }
            }
            Change::Replace { old, new, replace_all } => {
                Self::Replace { old_text: old, new_text: new, replace_all: *replace_all }
            }
            Change::Lines(edits) => Self::Lines { edits: &edits.edits },
        }
    }
}

fn lines_of(lines: &HunkLines) -> Vec<ParsedLine<'_>> {
    lines.iter().map(|(kind, text)| ParsedLine { kind, text }).collect()
}
