//! Previews of edits for the approval prompt: computed over the current files, without a write and without counting as a
//! read.

use std::collections::BTreeMap;

use emend_edit::diff::{Names, unified};
use emend_edit::patch::{Operation, Patch, PlannedFile, plan};
use serde_json::{Value, json};

use crate::tool::{Preview, ToolContext};

/// Unchanged lines shown around each change.
const CONTEXT_LINES: usize = 3;

/// Returns the preview of a patch, [`Preview::Futile`] if it cannot be applied.
pub(super) async fn of_patch(context: &ToolContext, patch: &Patch) -> Preview {
    let mut texts = BTreeMap::new();
    for path in patch.paths() {
        let Ok(text) = context.workspace.text(path).await else { return Preview::Futile };
        texts.insert(path.to_owned(), text);
    }
    plan(patch, &texts).map_or(Preview::Futile, |planned| of_plan(&planned, None))
}

/// Returns the preview of a plan. `diff` is the diff in the call itself, if there is one.
pub(super) fn of_plan(planned: &[PlannedFile], diff: Option<&str>) -> Preview {
    let files: Vec<Value> = planned.iter().map(|file| of_file(file, diff)).collect();
    let diffs: String = files.iter().filter_map(|file| file["fileDiff"].as_str()).collect();
    let titles = planned.iter().map(title).collect::<Vec<_>>().join("; ");
    Preview::Detail(match <[Value; 1]>::try_from(files) {
        Ok([Value::Object(mut file)]) => {
            file.insert("type".to_owned(), Value::from("edit"));
            file.insert("title".to_owned(), Value::from(titles));
            Value::Object(file)
        }
        Ok(_) => Value::Null,
        Err(files) => json!({ "type": "edit", "title": titles, "fileDiff": diffs, "files": files }),
    })
}

fn title(file: &PlannedFile) -> String {
    let path = &file.path;
    match &file.operation {
        Operation::Create => format!("Create {path}"),
        Operation::Update => format!("Edit {path}"),
        Operation::Delete => format!("Delete {path}"),
        Operation::Rename { from } => format!("Move {from} to {path}"),
    }
}

fn of_file(file: &PlannedFile, diff: Option<&str>) -> Value {
    let (before, after) = (file.before.as_deref(), file.after.as_deref());
    let old = match &file.operation {
        Operation::Rename { from } => from,
        _ => &file.path,
    };
    let name = |side: &str, path: &str, text: Option<&str>| {
        text.map_or_else(|| "/dev/null".to_owned(), |_| format!("{side}/{path}"))
    };
    let (old, new) = (name("a", old, before), name("b", &file.path, after));
    let computed = || {
        let names = Names { old: &old, new: &new };
        unified(before.unwrap_or_default(), after.unwrap_or_default(), CONTEXT_LINES, names)
    };
    json!({
        "fileName": file.path.rsplit('/').next(),
        "filePath": file.path,
        "fileDiff": diff.map_or_else(computed, str::to_owned),
        "originalContent": before,
        "newContent": after,
    })
}
