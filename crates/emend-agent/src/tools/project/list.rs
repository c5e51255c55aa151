//! `list_files`: the files of the project below a prefix.

use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::limits::ProjectToolLimits;
use crate::approval::Target;
use crate::environment::FilePath;
use crate::search::glob::GlobPattern;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::arguments::{schema, text_argument};

/// Lists files.
pub(super) struct ListFiles(pub(super) ProjectToolLimits);

impl Tool for ListFiles {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "list_files".to_owned(),
            description: "Lists the files of the project by path, one per line. Skips hidden files and files that \
                          `.gitignore` excludes."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "prefix": {"type": "string", "description": "A directory, or the beginning of a path. Default: all files."},
                    "glob": {"type": "string", "description": "Only files whose path or name matches, e.g. `*.md` or `notes/**/*.md`."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// The prefix is subject to path rules. A list takes no canvas lease, so [`paths`](Tool::paths) is empty.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        let prefix = prefix(arguments);
        let paths = if prefix.is_empty() { Vec::new() } else { vec![prefix.to_owned()] };
        Target { paths, ..Target::default() }
    }

    /// The tool limits the number of files. Paths have at most a few hundred characters.
    fn output_limits(&self) -> OutputLimits {
        OutputLimits { chars_max: self.0.max_listed_files.saturating_mul(200), mode: Mode::HeadTail, lines_max: None }
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut files = under_prefix(context, prefix(arguments)).await?;
            if let Some(glob) = arguments.get("glob").and_then(Value::as_str) {
                let glob = GlobPattern::new(glob).map_err(|error| ToolError::new(error.code(), error.to_string()))?;
                files.retain(|path| glob.is_match_or_name(path.as_str()));
            }
            let n_more = files.len().saturating_sub(self.0.max_listed_files);
            files.truncate(self.0.max_listed_files);
            let mut lines: Vec<&str> = files.iter().map(FilePath::as_str).collect();
            let note = format!("[{n_more} more; narrow the prefix or the glob]");
            match (lines.is_empty(), n_more) {
                (true, _) => lines.push("No files match."),
                (false, 0) => {}
                (false, _) => lines.push(&note),
            }
            Ok(ToolOutput::new(lines.join("\n"), json!({ "files": files, "truncated": n_more > 0 })))
        })
    }
}

fn prefix(arguments: &Map<String, Value>) -> &str {
    let prefix = text_argument(arguments, "prefix");
    let prefix = prefix.strip_prefix("./").unwrap_or(prefix);
    if prefix == "." { "" } else { prefix }
}

/// Returns the files in the directory `prefix`; if there are none, the files whose path begins with it.
async fn under_prefix(context: &ToolContext, prefix: &str) -> Result<Vec<FilePath>, ToolError> {
    if prefix.is_empty() {
        return Ok(context.workspace.glob_paths(".", "**").await?);
    }
    let in_directory = context.workspace.glob_paths(prefix, "**").await;
    if in_directory.as_ref().is_ok_and(|files| !files.is_empty()) {
        return Ok(in_directory?);
    }
    let mut begins = FilePath::clean(prefix).map(|path| path.as_str().to_owned()).unwrap_or_default();
    if prefix.ends_with('/') {
        begins.push('/');
    }
    // A directory of pending edits does not exist in the environment.
    let mut files = context.workspace.glob_paths(".", "**").await?;
    files.retain(|path| !begins.is_empty() && path.as_str().starts_with(&begins));
    if files.is_empty() { Ok(in_directory?) } else { Ok(files) }
}
