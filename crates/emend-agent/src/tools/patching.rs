//! The steps of an edit that several tools share: plan, write, report.

use emend_edit::patch::{Diagnostic, EditError, Operation, Patch, PlannedFile, plan};
use serde_json::{Value, json};

use super::arguments::counted;
use crate::tool::{ToolContext, ToolError, ToolOutput};
use crate::workspace::{FileWrite, Texts, WrittenFile};

/// Plans `patch` over the visible texts, writes the results and reports on each file.
pub(super) async fn apply(
    context: &ToolContext,
    patch: Patch,
    diagnostics: Vec<Diagnostic>,
) -> Result<ToolOutput, ToolError> {
    let paths: Vec<String> = patch.paths().into_iter().map(str::to_owned).collect();
    let planned = |texts: &Texts| planned_writes(&patch, texts);
    let (written, planned) = context.workspace.write(&context.write(), &paths, planned).await?;
    Ok(report(&written, &planned, diagnostics))
}

/// Plans a patch over the visible texts: the files to write, and the plan for the report.
pub(super) fn planned_writes(patch: &Patch, texts: &Texts) -> Result<(Vec<FileWrite>, Vec<PlannedFile>), ToolError> {
    let mut planned = plan(patch, texts).map_err(|error| plan_refused(&error))?;
    // The report needs no texts, and they may be large.
    let texts: Vec<Option<String>> = planned.iter_mut().map(|file| file.after.take()).collect();
    let files = planned.iter().zip(texts);
    Ok((files.flat_map(|(file, text)| writes(file, text, &planned)).collect(), planned))
}

/// Returns the error for a patch that cannot be applied.
fn plan_refused(error: &EditError) -> ToolError {
    ToolError::new(error.code().into(), error.to_string()).with_suggestions(error.suggestions())
}

/// Reports on each file that was written.
pub(super) fn report(written: &[WrittenFile], planned: &[PlannedFile], diagnostics: Vec<Diagnostic>) -> ToolOutput {
    let diagnostics: Vec<&Diagnostic> =
        diagnostics.iter().chain(planned.iter().flat_map(|file| &file.diagnostics)).collect();
    let mut lines: Vec<String> = planned.iter().map(line).collect();
    let states = written.iter().filter(|file| !file.deleted);
    lines.extend(states.map(|file| format!("[{} | version {} | {}]", file.path, file.version, file.hash)));
    lines.extend(diagnostics.iter().map(|diagnostic| format!("Note: {}", diagnostic.message)));
    let files: Vec<Value> = planned.iter().map(shown).collect();
    ToolOutput::new(lines.join("\n"), json!({ "files": files, "diagnostics": diagnostics }))
}

fn shown(file: &PlannedFile) -> Value {
    json!({ "path": file.path, "operation": operation_name(&file.operation), "hunks": file.hunks.len() })
}

/// Returns the writes that carry out the plan of one file, which gets `text`.
pub(super) fn writes(file: &PlannedFile, text: Option<String>, planned: &[PlannedFile]) -> Vec<FileWrite> {
    let moved_from = match &file.operation {
        Operation::Rename { from } => Some(from.clone()),
        _ => None,
    };
    // The same patch may create another file under the old path.
    let vacated = moved_from.clone().filter(|from| planned.iter().all(|file| file.path != *from));
    let removal = vacated.map(|path| FileWrite { path, text: None, moved_from: None, steps: Vec::new() });
    let write = FileWrite { path: file.path.clone(), text, moved_from, steps: Vec::new() };
    removal.into_iter().chain([write]).collect()
}

fn operation_name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Rename { .. } => "rename",
    }
}

fn line(file: &PlannedFile) -> String {
    match &file.operation {
        Operation::Create => format!("Created {}", file.path),
        Operation::Delete => format!("Deleted {}", file.path),
        Operation::Rename { from } => format!("Moved {from} to {} ({})", file.path, counted(file.hunks.len(), "hunk")),
        Operation::Update => format!("Updated {} ({})", file.path, counted(file.hunks.len(), "place")),
    }
}
