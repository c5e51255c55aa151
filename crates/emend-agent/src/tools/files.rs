//! `read_file`, `write_file` and `list_dir`.

use emend_edit::text::{split_eol, split_lines};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::{counted, hash_argument, number_argument, text_argument};
use crate::code::Code;
use crate::env::EntryKind;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use crate::workspace::{Base, FileView, FileWrite};

/// Lines shown when no limit is given (S2 §3.3).
const LINES_DEFAULT: usize = 2000;

/// Reads a file with line numbers, its version and its hash.
pub struct ReadFile;

impl Tool for ReadFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read_file".to_owned(),
            description:
                "Reads a text file. The first line names the file, a version that counts this session's reads \
                          and writes, the SHA-256 of the whole file and the lines shown; then come the lines as \
                          `NUMBER | CONTENT`. Copy text for edits from CONTENT only."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["file_path"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line to show, from 1. Default 1."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most lines to show. Default 2000."},
                },
            }),
        }
    }

    fn interruptible(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let offset = number_argument(arguments, "offset").unwrap_or(1);
            let limit = number_argument(arguments, "limit").unwrap_or(LINES_DEFAULT);
            let path = text_argument(arguments, "file_path");
            let view = context.workspace.read(&context.seen, path, offset, limit).await?;
            show(&view, offset, limit)
        })
    }
}

fn show(view: &FileView, offset: usize, limit: usize) -> Result<ToolOutput, ToolError> {
    let lines = split_lines(&view.text);
    let n_lines = lines.len();
    if offset > n_lines.max(1) {
        return Err(ToolError::new(
            Code::InvalidArgument,
            format!("offset {offset} is past the end of {}, which has {}", view.path, counted(n_lines, "line")),
        ));
    }
    let last = n_lines.min(offset.saturating_sub(1).saturating_add(limit));
    let shown = &lines[offset - 1..last];
    let range = if n_lines == 0 { "empty file".to_owned() } else { format!("lines {offset}-{last} of {n_lines}") };
    let mut text = format!("[{} | version {} | {} | {range}", view.path, view.version, view.hash);
    if lines.iter().any(|line| split_eol(line).1 == "\r\n") {
        text.push_str(" | CRLF line endings");
    }
    if lines.last().is_some_and(|line| split_eol(line).1.is_empty()) {
        text.push_str(" | no newline at the end");
    }
    text.push(']');
    let width = last.to_string().len();
    for (index, line) in shown.iter().enumerate() {
        let number = offset + index;
        let content = split_eol(line).0;
        // The byte order mark belongs to the file, not to its first line.
        let content = if number == 1 { content.strip_prefix('\u{feff}').unwrap_or(content) } else { content };
        text.push_str(&format!("\n{number:>width$} | {content}"));
    }
    if last < n_lines {
        text.push_str(&format!("\n[{} more; read on with offset {}]", counted(n_lines - last, "line"), last + 1));
    }
    let content: String = shown.concat();
    let data = json!({
        "file_path": view.path,
        "version": view.version,
        "sha256": view.hash.hex(),
        "content": content,
        "start_line": offset,
        "end_line": last,
        "total_lines": n_lines,
    });
    Ok(ToolOutput { text, data })
}

/// Writes a whole file.
pub struct WriteFile;

impl Tool for WriteFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "write_file".to_owned(),
            description: "Writes a whole file; creates it and its directories if need be. An existing file must have \
                          been read in full first, and not have changed since. Prefer edit_file for changes."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["file_path", "content"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "content": {"type": "string", "description": "The whole new content."},
                    "expected_hash": {
                        "type": "string",
                        "description": "The sha256 of the file that is replaced. Default: the version shown last.",
                    },
                },
            }),
        }
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
            let base = Base::Whole(hash_argument(arguments, "expected_hash")?);
            let applied = context
                .workspace
                .write_verified(context, &path, base, |_| {
                    Ok(vec![FileWrite { path: path.clone(), text: Some(content), moved_from: None }])
                })
                .await?;
            let Some(file) = applied.into_iter().next() else {
                return Err(ToolError::new(Code::Internal, "the write reported no file"));
            };
            Ok(ToolOutput {
                text: format!(
                    "{} {} ({}) | version {} | {}",
                    if file.created { "Created" } else { "Wrote" },
                    file.path,
                    counted(n_bytes, "byte"),
                    file.version,
                    file.hash
                ),
                data: json!({
                    "file_path": file.path,
                    "bytes_written": n_bytes,
                    "created": file.created,
                    "version": file.version,
                    "sha256": file.hash.hex(),
                }),
            })
        })
    }
}

/// Lists a directory.
pub struct ListDir;

/// Entries shown at most.
const ENTRIES_MAX: usize = 1000;

impl Tool for ListDir {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "list_dir".to_owned(),
            description: "Lists a directory: subdirectories end in `/`, files show their size in bytes.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Directory under the working directory. Default `.`."},
                    "depth": {"type": "integer", "minimum": 1, "maximum": 10, "description": "Levels to show. Default 1."},
                },
            }),
        }
    }

    fn interruptible(&self) -> bool {
        true
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
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
            let mut lines: Vec<String> = entries
                .iter()
                .take(ENTRIES_MAX)
                .map(|entry| match entry.metadata.kind {
                    EntryKind::Directory => format!("{}/", entry.path),
                    EntryKind::File => format!(
                        "{} ({})",
                        entry.path,
                        counted(usize::try_from(entry.metadata.size).unwrap_or(usize::MAX), "byte")
                    ),
                })
                .collect();
            if entries.is_empty() {
                lines.push(format!("{path} is empty."));
            }
            if entries.len() > ENTRIES_MAX {
                lines.push(format!("[{} entries are not shown; list a subdirectory]", entries.len() - ENTRIES_MAX));
            }
            Ok(ToolOutput {
                text: lines.join("\n"),
                data: json!({ "entries": entries.iter().take(ENTRIES_MAX).collect::<Vec<_>>() }),
            })
        })
    }
}
