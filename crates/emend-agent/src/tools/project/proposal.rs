//! The edits of a `propose_edits` call: reading them from the arguments, and the checks that need no file.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use serde_json::{Map, Value};

use crate::environment::{Access, FilePath};
use crate::error_code::Code;
use crate::tool::{ToolContext, ToolError};
use crate::tools::arguments::{hash_argument, number_argument, text_argument};

/// The effect of one proposed edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    Replace,
    Insert,
    Delete,
    Create,
    DeleteFile,
    Rename,
}

impl EditKind {
    /// The names of the operations, as the schema writes them.
    const NAMES: [(&'static str, Self); 6] = [
        ("replace", Self::Replace),
        ("insert", Self::Insert),
        ("delete", Self::Delete),
        ("create", Self::Create),
        ("delete_file", Self::DeleteFile),
        ("rename", Self::Rename),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Returns whether the edit changes lines of a file that stays in place.
    pub(super) fn is_of_lines(self) -> bool {
        matches!(self, Self::Replace | Self::Insert | Self::Delete)
    }
}

/// One proposed edit.
#[derive(Clone, Debug)]
pub(super) struct ProposedEdit {
    pub(super) id: String,
    pub(super) kind: EditKind,
    /// The file, resolved.
    pub(super) path: FilePath,
    /// The new path of a rename, resolved.
    pub(super) target: Option<FilePath>,
    pub(super) start_line: Option<usize>,
    pub(super) end_line: Option<usize>,
    pub(super) new_text: String,
    pub(super) expected_hash: Option<ContentHash>,
    pub(super) rationale: Option<String>,
}

/// Returns the objects of the list of edits.
pub(super) fn listed(arguments: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    arguments.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// Reads the edits of a call. Edits without an id are called `e_1`, `e_2` and so on, by their place.
///
/// # Errors
///
/// Returns the error of an edit whose fields do not fit its operation, of a path that cannot be resolved, and of edits
/// that cannot apply together.
pub(super) async fn read_edits(
    arguments: &Map<String, Value>,
    context: &ToolContext,
) -> Result<Vec<ProposedEdit>, ToolError> {
    let mut edits: Vec<ProposedEdit> = Vec::new();
    for (index, fields) in listed(arguments).enumerate() {
        let id = match text_argument(fields, "edit_id") {
            "" => format!("e_{}", index + 1),
            id => id.to_owned(),
        };
        if edits.iter().any(|edit| edit.id == id) {
            return Err(refused(&id, "has the edit_id of another edit; give each edit its own"));
        }
        let environment = context.workspace.environment();
        let path = environment.resolve(text_argument(fields, "file_path"), Access::Write).await?;
        let target = match fields.get("new_path").and_then(Value::as_str) {
            Some(target) => Some(environment.resolve(target, Access::Write).await?),
            None => None,
        };
        let kind = EditKind::NAMES.iter().find(|(name, _)| *name == text_argument(fields, "operation"));
        let edit = ProposedEdit {
            kind: kind.map_or(EditKind::Replace, |(_, kind)| *kind),
            path,
            target,
            start_line: number_argument(fields, "start_line"),
            end_line: number_argument(fields, "end_line"),
            new_text: text_argument(fields, "new_text").to_owned(),
            expected_hash: hash_argument(fields, "expected_hash")?,
            rationale: fields.get("rationale").and_then(Value::as_str).map(str::to_owned),
            id,
        };
        check_fields(&edit)?;
        edits.push(edit);
    }
    check_together(&edits)?;
    Ok(edits)
}

fn refused(id: &str, why: &str) -> ToolError {
    ToolError::new(Code::InvalidArgument, format!("Edit {id} {why}. Nothing was changed."))
}

/// Checks that the fields of an edit fit its operation.
fn check_fields(edit: &ProposedEdit) -> Result<(), ToolError> {
    let name = edit.kind.name();
    let has_text = !edit.new_text.is_empty();
    let problem = match edit.kind {
        _ if edit.kind.is_of_lines() && edit.start_line.is_none() => Some(format!("is a {name} without start_line")),
        EditKind::Insert if !has_text => Some("inserts nothing; give the new lines in new_text".to_owned()),
        EditKind::Delete if has_text => Some("deletes lines, so new_text must be empty".to_owned()),
        EditKind::DeleteFile | EditKind::Rename if has_text => {
            Some(format!("is a {name}, so new_text must be empty; use replace, insert or delete to change lines"))
        }
        EditKind::Create | EditKind::DeleteFile | EditKind::Rename if edit.start_line.is_some() => {
            Some(format!("is a {name}, which concerns a whole file; omit start_line"))
        }
        EditKind::Rename if edit.target.is_none() => Some("is a rename without new_path".to_owned()),
        EditKind::Rename if edit.target.as_ref() == Some(&edit.path) => {
            Some("renames the file to its own path".to_owned())
        }
        EditKind::Rename => None,
        _ if edit.target.is_some() => Some(format!("is a {name}, so it cannot have new_path; use rename")),
        _ => None,
    };
    problem.map_or(Ok(()), |why| Err(refused(&edit.id, &why)))
}

/// Checks that no two edits contradict each other: a file is created, deleted or renamed once, lines of a created or
/// deleted file are not edited, and no other edit names the new path of a rename.
fn check_together(edits: &[ProposedEdit]) -> Result<(), ToolError> {
    let mut whole: BTreeMap<&FilePath, &ProposedEdit> = BTreeMap::new();
    for edit in edits.iter().filter(|edit| !edit.kind.is_of_lines()) {
        for path in [Some(&edit.path), edit.target.as_ref()].into_iter().flatten() {
            if let Some(other) = whole.insert(path, edit) {
                return Err(overlap(other, edit, path));
            }
        }
    }
    for edit in edits.iter().filter(|edit| edit.kind.is_of_lines()) {
        match whole.get(&edit.path) {
            // Lines of a file that is renamed are those of the old path.
            Some(other) if other.kind != EditKind::Rename || other.path != edit.path => {
                return Err(overlap(other, edit, &edit.path));
            }
            _ => {}
        }
    }
    Ok(())
}

fn overlap(first: &ProposedEdit, second: &ProposedEdit, path: &FilePath) -> ToolError {
    let message = format!(
        "Edits {} ({}) and {} ({}) overlap at {path}. Nothing was changed. Merge them into one edit.",
        first.id,
        first.kind.name(),
        second.id,
        second.kind.name()
    );
    ToolError::new(Code::InvalidArgument, message)
}
