//! `glob`: files by name, newest first.

use emend_edit::size::compact_sort::sort_by;
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, schema, target_of_search, text_argument};
use crate::approval::Target;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Finds files by name.
pub struct Glob;

impl Glob {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 20_000, mode: Mode::Tail, lines_max: Some(500) };
}

impl Tool for Glob {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "glob".to_owned(),
            description: "Finds files by a pattern such as `**/*.ts`, newest first. Skips hidden files and files that \
                          `.gitignore` excludes."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "description": "`*` stays within a directory, `**` does not; `{a,b}` matches a or b."},
                    "path": {"type": "string", "description": "Base directory. Default `.`."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// The path of a search is subject to path rules. A search takes no canvas lease, so [`paths`](Tool::paths) is empty.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        target_of_search(arguments)
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
            let mut found = context.workspace.glob(path, text_argument(arguments, "pattern")).await?;
            sort_by(&mut found, |a, b| {
                b.metadata.modified_ms.cmp(&a.metadata.modified_ms).then_with(|| a.path.cmp(&b.path))
            });
            let lines: Vec<String> = found.iter().map(|entry| entry.path.to_string()).collect();
            let text = if lines.is_empty() { "No files match.".to_owned() } else { lines.join("\n") };
            Ok(ToolOutput::new(text, json!({ "files": lines, "summary": counted(lines.len(), "file") })))
        })
    }
}
