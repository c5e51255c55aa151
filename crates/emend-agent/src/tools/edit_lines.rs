//! `edit_lines`: replaces, inserts and deletes lines of one file by number.
//!
//! Line numbers refer to the text that was read. So the file must not have changed since, and the named lines must have
//! been read.

use std::ops::Range;

use emend_edit::patch::line_edits::{LineEdit, LineEdits, LineOperation};
use emend_edit::patch::{Change, Patch};
use emend_edit::size::compact_sort::map_of;
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value};

use super::arguments::{hash_argument, number_argument, schema, text_argument};
use super::patching::{planned_writes, report};
use super::preview;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::Precondition;

/// Edits lines by number.
pub struct EditLines;

impl Tool for EditLines {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "edit_lines".to_owned(),
            description: "Replaces, inserts or deletes whole lines of a file by number. All numbers are those of the file \
                          as {tool:read_file} showed it. Put all edits of a file into one call. The call is rejected if the file has \
                          changed since, or if the lines were never read."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["file_path", "edits"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "edits": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["operation", "start_line"],
                            "properties": {
                                "operation": {"type": "string", "enum": ["replace", "insert", "delete"]},
                                "start_line": {
                                    "type": "integer", "minimum": 1,
                                    "description": "First line, from 1. An insert goes before this line; one past the last line appends."
                                },
                                "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive. Default {param:edit_lines.start_line}."},
                                "new_text": {"type": "string", "description": "New lines; empty for delete."},
                                "expected_hash": {"type": "string", "description": "sha256 of the file or of these lines, if known."},
                                "rationale": {"type": "string", "description": "Reason for the edit, for the user."}
                            }
                        }
                    },
                    "expected_hash": {"type": "string", "description": "sha256 of the file that was shown. Default: the version shown last."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path");
            match read(arguments) {
                Ok((patch, base)) if context.workspace.is_verified(&context.reads, path, &base).await => {
                    preview::of_patch(context, &patch).await
                }
                _ => Preview::Futile,
            }
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path");
            let (patch, base) = read(arguments)?;
            let planned =
                |text: Option<&str>| planned_writes(&patch, &map_of([(path.to_owned(), text.map(str::to_owned))]));
            let (written, planned) = context.workspace.write_verified(&context.write(), path, base, planned).await?;
            Ok(report(&written, &planned, Vec::new()))
        })
    }
}

/// Returns the edit that a call requests, and the state of the file that it requires.
fn read(arguments: &Map<String, Value>) -> Result<(Patch, Precondition<'static>), ToolError> {
    let named = hash_argument(arguments, "expected_hash")?;
    let edits = edits(arguments)?;
    // A hash of the lines themselves identifies them, even if the rest of the file has changed.
    let ranges = edits.iter().filter(|edit| edit.expected_hash.is_none()).map(range).collect::<Vec<_>>();
    let base =
        if ranges.is_empty() && named.is_none() { Precondition::Hashed } else { Precondition::Lines(named, ranges) };
    let change = Change::Lines(LineEdits { edits, expected_hash: named });
    Ok((Patch::of(text_argument(arguments, "file_path"), change), base))
}

/// Returns the lines (from 0) that an edit requires: those that it replaces, or those around an insertion.
fn range(edit: &LineEdit) -> Range<usize> {
    let start = edit.start_line.saturating_sub(1);
    match edit.operation {
        LineOperation::Insert => start.saturating_sub(1)..start,
        _ => start..edit.end_line.unwrap_or(edit.start_line).max(start),
    }
}

fn edits(arguments: &Map<String, Value>) -> Result<Vec<LineEdit>, ToolError> {
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    edits
        .map(|edit| {
            Ok(LineEdit {
                operation: match text_argument(edit, "operation") {
                    "insert" => LineOperation::Insert,
                    "delete" => LineOperation::Delete,
                    _ => LineOperation::Replace,
                },
                start_line: number_argument(edit, "start_line").unwrap_or_default(),
                end_line: number_argument(edit, "end_line"),
                new_text: text_argument(edit, "new_text").to_owned(),
                expected_hash: hash_argument(edit, "expected_hash")?,
            })
        })
        .collect::<Result<Vec<LineEdit>, ToolError>>()
}
