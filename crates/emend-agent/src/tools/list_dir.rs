//! `list_dir`: the entries of a directory, up to a depth.

use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, number_argument, schema, target_of_search};
use crate::approval::Target;
use crate::environment::{DirEntry, EntryKind};
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Lists a directory.
pub struct ListDir;

/// The most entries that are shown.
const ENTRIES_MAX: usize = 1000;

impl Tool for ListDir {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "list_dir".to_owned(),
            description:
                "Lists a directory, including hidden and ignored entries. Subdirectories end in `/`, and files \
                          show their size in bytes. Of a large tree only the upper levels are shown."
                    .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Directory under the working directory. Default `.`."},
                    "depth": {"type": "integer", "minimum": 1, "maximum": 10, "description": "Levels to show. Default 1."}
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
            let depth = number_argument(arguments, "depth").unwrap_or(1);
            let entries = context.workspace.list(path, depth).await?;
            let (shown, levels) = levels_that_fit(&entries, depth);
            let mut lines: Vec<String> = shown.iter().map(|entry| line(entry)).collect();
            if entries.is_empty() {
                lines.push(format!("{path} is empty."));
            }
            let n_hidden = entries.len() - shown.len();
            if n_hidden > 0 {
                let where_ = if levels < depth { format!(" deeper than level {levels}") } else { String::new() };
                let hidden = if n_hidden == 1 { "1 entry".to_owned() } else { format!("{n_hidden} entries") };
                let glob = context.names.tool("glob");
                lines.push(format!("[{hidden}{where_} not shown; list a subdirectory or use {glob}]"));
            }
            Ok(ToolOutput::new(lines.join("\n"), json!({ "entries": shown })))
        })
    }
}

fn line(entry: &DirEntry) -> String {
    match entry.metadata.kind {
        EntryKind::Directory => format!("{}/", entry.path),
        EntryKind::File => {
            let size = usize::try_from(entry.metadata.size).unwrap_or(usize::MAX);
            format!("{} ({})", entry.path, counted(size, "byte"))
        }
    }
}

/// Returns the entries of as many levels as fit, at most `depth`, and the number of these levels. A complete upper level
/// says more than the depths of the first directory. Of a single level that does not fit, the first entries are shown.
fn levels_that_fit(entries: &[DirEntry], depth: usize) -> (Vec<&DirEntry>, usize) {
    let level = |entry: &DirEntry| entry.path.as_str().matches('/').count();
    let top = entries.iter().map(level).min().unwrap_or(0);
    let up_to = |levels: usize| entries.iter().filter(move |entry| level(entry) < top + levels);
    let levels = (2..=depth).rev().find(|levels| up_to(*levels).count() <= ENTRIES_MAX).unwrap_or(1);
    (up_to(levels).take(ENTRIES_MAX).collect(), levels)
}
