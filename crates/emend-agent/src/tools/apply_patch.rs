//! `apply_patch`: several edits of several files in one patch, all or none. Also carries out `edit_file`'s one edit.

use emend_edit::patch::v4a;
use emend_edit::patch::{Diagnostic, EditError, Operation, Patch, PlannedFile, plan};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::{counted, preview, schema, text_argument};
use crate::error_code::Code;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::{Applied, FileWrite};

/// Applies a patch in the v4a format.
pub struct ApplyPatch;

impl ApplyPatch {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 10_000, mode: Mode::Tail, lines_max: None };
}

impl Tool for ApplyPatch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "apply_patch".to_owned(),
            description: "Applies a patch to one or more files; all of it or nothing. The form:\n\
                          *** Begin Patch\n*** Update File: path\n@@ a line above the change, such as a heading or \
                          function\n unchanged line\n-removed line\n+added line\n*** Add File: path\n+line\n\
                          *** Delete File: path\n*** End Patch\n`*** Move to: path` after `*** Update File:` renames. \
                          Give about three unchanged lines around each change."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["patch"],
                "properties": {"patch": {"type": "string", "minLength": 1, "description": "The patch text."}}
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        v4a::parse(text_argument(arguments, "patch"))
            .map(|(patch, _)| patch.paths().into_iter().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            match v4a::parse(text_argument(arguments, "patch")) {
                Ok((patch, _)) => preview::of_patch(context, &patch).await,
                Err(_) => Preview::Futile,
            }
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (patch, diagnostics) = v4a::parse(text_argument(arguments, "patch"))
                .map_err(|error| ToolError::new(Code::InvalidArgument, error.to_string()))?;
            apply(context, patch, diagnostics).await
        })
    }
}

/// Plans `patch` over the visible texts, writes what it gives and reports file by file.
pub(super) async fn apply(
    context: &ToolContext,
    patch: Patch,
    diagnostics: Vec<Diagnostic>,
) -> Result<ToolOutput, ToolError> {
    let paths: Vec<String> = patch.paths().into_iter().map(str::to_owned).collect();
    let mut planned: Vec<PlannedFile> = Vec::new();
    let applied = context
        .workspace
        .write(context, &paths, |texts| {
            planned = plan(&patch, texts).map_err(|error| plan_refused(&error))?;
            Ok(planned.iter().flat_map(|file| writes(file, &planned)).collect())
        })
        .await?;
    Ok(report(&applied, &planned, diagnostics))
}

/// Returns the refusal of a patch that cannot be carried out.
pub(super) fn plan_refused(error: &EditError) -> ToolError {
    ToolError::new(error.code().into(), error.to_string()).with_suggestions(error.suggestions())
}

/// Reports what was written, file by file.
pub(super) fn report(applied: &[Applied], planned: &[PlannedFile], diagnostics: Vec<Diagnostic>) -> ToolOutput {
    let diagnostics: Vec<&Diagnostic> =
        diagnostics.iter().chain(planned.iter().flat_map(|file| &file.diagnostics)).collect();
    let mut lines: Vec<String> = planned.iter().map(line).collect();
    let states = applied.iter().filter(|file| !file.deleted);
    lines.extend(states.map(|file| format!("[{} | version {} | {}]", file.path, file.version, file.hash)));
    lines.extend(diagnostics.iter().map(|diagnostic| format!("Note: {}", diagnostic.message)));
    let files: Vec<Value> = planned.iter().map(shown).collect();
    ToolOutput::new(lines.join("\n"), json!({ "files": files, "diagnostics": diagnostics }))
}

fn shown(file: &PlannedFile) -> Value {
    json!({ "path": file.path, "operation": operation_name(&file.operation), "hunks": file.hunks.len() })
}

pub(super) fn writes(file: &PlannedFile, planned: &[PlannedFile]) -> Vec<FileWrite> {
    let moved_from = match &file.operation {
        Operation::Rename { from } => Some(from.clone()),
        _ => None,
    };
    // Another file may have taken the place of the one that moved.
    let vacated = moved_from.clone().filter(|from| planned.iter().all(|file| file.path != *from));
    let removal = vacated.map(|path| FileWrite { path, text: None, moved_from: None });
    let write = FileWrite { path: file.path.clone(), text: file.after.clone(), moved_from };
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
