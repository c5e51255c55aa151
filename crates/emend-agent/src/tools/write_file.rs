//! `write_file`: writes a whole file.

use emend_edit::patch::{Change, Patch};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, hash_argument, schema, text_argument};
use super::preview;
use crate::error_code::Code;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::{FileWrite, Precondition, Rejection};

/// Writes a whole file.
pub struct WriteFile;

impl WriteFile {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 1_000, mode: Mode::Tail, lines_max: None };
}

impl Tool for WriteFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "write_file".to_owned(),
            description:
                "Writes a whole file. Creates the file and its directories if needed. An existing file must have \
                          been read in full and must not have changed since. Prefer {tool:edit_file} for changes."
                    .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["file_path", "content"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "content": {"type": "string", "description": "The whole new content."},
                    "expected_hash": {
                        "type": "string",
                        "description": "sha256 of the file that is replaced. Default: the version shown last."
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
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path");
            let Ok(named) = hash_argument(arguments, "expected_hash") else { return Preview::Futile };
            if !context.workspace.is_verified(&context.reads, path, &Precondition::Whole(named)).await {
                return Preview::Futile;
            }
            let change = Change::Create { text: text_argument(arguments, "content").to_owned() };
            preview::of_patch(context, &Patch { overwrite: true, ..Patch::of(path, change) }).await
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path").to_owned();
            let content = text_argument(arguments, "content").to_owned();
            let n_bytes = content.len();
            let base = Precondition::Whole(hash_argument(arguments, "expected_hash")?);
            let write = FileWrite { path: path.clone(), text: Some(content), moved_from: None, steps: Vec::new() };
            let planned = |_: Option<&str>| Ok((vec![write], ()));
            let outcome: Result<_, Rejection<ToolError>> =
                context.workspace.write_verified(&context.write(), &path, base, planned).await;
            let (written, ()) = outcome?;
            let Some(file) = written.into_iter().next() else {
                return Err(ToolError::new(Code::Internal, "The write reported no file."));
            };
            let done = if file.created { "Created" } else { "Wrote" };
            let bytes = counted(n_bytes, "byte");
            Ok(ToolOutput::new(
                format!("{done} {} ({bytes}) | version {} | {}", file.path, file.version, file.hash),
                json!({
                    "file_path": file.path,
                    "bytes_written": n_bytes,
                    "created": file.created,
                    "version": file.version,
                    "sha256": file.hash.hex(),
                }),
            ))
        })
    }
}
