//! `move_file`: moves or renames one file.

use emend_edit::patch::{Change, EditError, Patch, plan};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{flag_argument, schema, text_argument};
use super::patching::writes;
use super::preview;
use crate::environment::{Access, EntryKind, EnvError, FilePath};
use crate::error_code::Code;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::Texts;

/// Moves or renames one file.
pub struct MoveFile;

impl Tool for MoveFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "move_file".to_owned(),
            description: "Moves or renames one file. Its content and permissions stay the same, and missing \
                          directories are created. Directories cannot be moved."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["from", "to"],
                "properties": {
                    "from": {"type": "string", "description": "Path of the file, under the working directory."},
                    "to": {"type": "string", "description": "Its new path, including the file name."},
                    "overwrite": {
                        "type": "boolean",
                        "description": "Replace the content of a file at the new path. Its permissions stay. Default false."
                    }
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        ["from", "to"].map(|name| text_argument(arguments, name).to_owned()).to_vec()
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            match checked(arguments, context).await {
                Ok(patch) => preview::of_patch(context, &patch).await,
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
            let patch = checked(arguments, context).await?;
            let planned = |texts: &Texts| {
                let planned = plan(&patch, texts).map_err(|error| rejected(&error))?;
                let is_replaced = planned.iter().any(|file| file.overwritten.is_some());
                Ok((planned.iter().flat_map(|file| writes(file, file.after.clone(), &planned)).collect(), is_replaced))
            };
            let (written, is_replaced): (_, bool) =
                context.workspace.write::<_, ToolError>(&context.write(), &self.paths(arguments), planned).await?;
            let (Some(old), Some(new)) =
                (written.iter().find(|file| file.deleted), written.iter().find(|file| !file.deleted))
            else {
                return Err(ToolError::new(Code::Internal, "The write did not report the old and the new file."));
            };
            let replaced = if is_replaced { ", which replaced the file there" } else { "" };
            Ok(ToolOutput::new(
                format!("Moved {} to {}{replaced} | version {} | {}", old.path, new.path, new.version, new.hash),
                json!({
                    "from": old.path,
                    "to": new.path,
                    "overwritten": is_replaced,
                    "version": new.version,
                    "sha256": new.hash.hex(),
                }),
            ))
        })
    }
}

/// Checks the two paths and returns the move as a patch.
async fn checked(arguments: &Map<String, Value>, context: &ToolContext) -> Result<Patch, ToolError> {
    let (from, to) = (text_argument(arguments, "from"), text_argument(arguments, "to"));
    let source = resolved(context, from).await?;
    let target = resolved(context, to).await?;
    if source == target {
        return Err(invalid(format!("{source} cannot be moved to itself. Give another path.")));
    }
    if is_directory(context, &source).await? {
        let reason = format!("{source} is a directory. Move its files one by one, or move it with a command.");
        return Err(invalid(reason));
    }
    // A path that ends in a slash names a directory, whether or not there is one.
    if to.ends_with('/') || is_directory(context, &target).await? {
        let name = source.name();
        return Err(invalid(format!("{target} names a directory. Give the whole new path, such as {target}/{name}.")));
    }
    if context.workspace.file_at(from).await.is_none() {
        let missing = match context.workspace.environment().resolve(from, Access::Read).await {
            Err(error) => error,
            Ok(_) => EnvError::NotFound { path: from.to_owned(), suggestions: Vec::new() },
        };
        return Err(missing.into());
    }
    let change = Change::Update { move_to: Some(to.to_owned()), hunks: Vec::new() };
    Ok(Patch { overwrite: flag_argument(arguments, "overwrite"), ..Patch::of(from, change) })
}

async fn resolved(context: &ToolContext, path: &str) -> Result<FilePath, ToolError> {
    Ok(context.workspace.environment().resolve(path, Access::Write).await?)
}

async fn is_directory(context: &ToolContext, path: &FilePath) -> Result<bool, ToolError> {
    let found = context.workspace.environment().metadata(path).await?;
    Ok(found.is_some_and(|found| found.kind == EntryKind::Directory))
}

fn invalid(reason: String) -> ToolError {
    ToolError::new(Code::InvalidArgument, reason)
}

fn rejected(error: &EditError) -> ToolError {
    match error {
        EditError::AlreadyExists { path, .. } => ToolError::new(
            Code::AlreadyExists,
            format!("{path} exists; nothing was moved. Choose another path, or set `overwrite` to replace the file."),
        ),
        _ => ToolError::new(error.code().into(), error.to_string()).with_suggestions(error.suggestions()),
    }
}
